"""Estimates of a kernel's time, against sums done by hand."""

import numpy as np
import pytest

from gpulearn import cuda, estimate, xray
from gpulearn.errors import BadInput
from gpulearn.perf.estimates import ASSUMPTIONS
from gpulearn.perf.gpus import GPUS
from simt.observers.counters import Counts
from simt.report.report import Lines, Report


def counted(*, blocks=2**16, **counts):
    return Report("work", (blocks, 1, 1), (32, 1, 1), [], Counts(**counts), Lines(), {}, {})


@pytest.mark.parametrize(
    ("gpu", "counts", "memory", "arithmetic", "limit"),
    [
        # 3.2 GB at 320 GB/s are 10 ms; 8.1 GFLOP at 8.1 TFLOP/s are 1 ms
        ("T4", {"bytes_moved": 32 * 10**8, "flops32": 81 * 10**8}, 10e-3, 1e-3, "memory"),
        ("T4", {"bytes_moved": 10**9, "flops32": 81 * 10**9}, 3.125e-3, 10e-3, "arithmetic"),
        ("T4", {"flops64": 81 * 10**9}, 0, 320e-3, "arithmetic"),  # 32 times as long
        # no tensor cores: 67 GFLOP at 67 TFLOP/s are 1 ms, 34 in float64 at 34 another
        ("H200", {"flops32": 67 * 10**9, "flops64": 34 * 10**9}, 0, 2e-3, "arithmetic"),
        ("T4", {"bytes_moved": 1024}, 3.2e-9, 0, "launch"),
    ],
)
def test_the_longer_of_memory_and_arithmetic_is_the_limit(gpu, counts, memory, arithmetic, limit):
    result = estimate(counted(**counts), gpu)
    assert (result.memory, result.arithmetic) == pytest.approx((memory, arithmetic))
    assert result.seconds == pytest.approx(max(memory, arithmetic) + 5e-6)
    assert result.limit == limit


def test_it_says_what_it_is():
    text = str(estimate(counted(bytes_moved=3_200_000_000, flops32=8_100_000_000), "T4"))
    first, *parts, assumed = text.splitlines()
    assert first == "work: 10 ms, modeled by the T4's roofline; the limit is memory."
    assert "3,200,000,000 bytes at 320 GB/s" in parts[0]
    assert "8,100,000,000 float32 operations at 8.1 TFLOP/s" in parts[1]
    assert "assumed" in parts[2]
    assert assumed.startswith("Assumed: every sector that a warp moves comes from memory")
    assert "no tensor cores" in assumed
    assert "the launch costs 5 µs" in assumed


def test_it_shows_in_a_notebook():
    found = estimate(counted(bytes_moved=32, flops64=7), "H100")
    html = found._repr_html_()
    assert "modeled by the H100&#x27;s roofline" in html
    assert all(sentence.partition(":")[0] in html for sentence in ASSUMPTIONS)
    assert "7 float64 operations at 34 TFLOP/s" in html
    for heading, side in {"part": "left", "time": "right", "from": "left"}.items():
        assert f'<th scope="col" style="text-align:{side}">{heading}</th>' in html
    assert "no operations" in str(estimate(counted(bytes_moved=32)))


@cuda.jit
def axpy(a, x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = a * x[i] + y[i]


def test_a_range_from_each_sector_once_to_no_cache_at_all():
    # 1,000,000 distinct sectors are 32 MB, or 0.1 ms at 320 GB/s; ten times as many are moved,
    # nine tenths of them by loads
    counts = {"distinct_sectors": 10**6, "block_sectors": 4 * 10**6, "bytes_moved": 320 * 10**6}
    counts |= {"global_load_sectors": 9 * 10**6, "global_store_sectors": 10**6}
    found = estimate(counted(**counts), "T4")
    assert found.bytes_at_least == 32 * 10**6
    assert found.seconds_at_least == pytest.approx(0.1e-3 + 5e-6)
    assert found.seconds == pytest.approx(1e-3 + 5e-6)
    head, _, cached = str(found).splitlines()[:3]
    assert head.startswith("work: 105 µs to 1.01 ms, modeled by")
    assert "100 µs" in cached
    # 288 MB again, 160 MB by loads within blocks, of which each has 128 MB / 2^16
    assert found.caches == (
        "274.7 MB are moved again, 152.6 MB of them by loads within a block (1.907 KB each, of "
        "96 KB L1 and shared memory); all 30.52 MB do not fit into the L2 of 4 MB, only into that "
        "of: " + ", ".join(name for name, gpu in GPUS.items() if gpu.l2_bytes > 32e6)
    )
    assert estimate(counted(**counts), "L4").caches.endswith(
        "; all 30.52 MB fit into the L2 of 48 MB"
    )
    large = {"distinct_sectors": 10**8, "block_sectors": 10**8, "bytes_moved": 33 * 10**8}
    large["global_load_sectors"] = 103_125_000
    said = estimate(counted(blocks=100, **large), "L4").caches
    assert said == (
        "95.37 MB are moved again, 95.37 MB of them by loads within a block; "
        "all 2.98 GB do not fit into the L2 of 48 MB, nor into another's"
    )


@cuda.jit
def down_the_columns(image, out):
    i, j = cuda.grid(2)
    out[i, j] = image[i, j]


@cuda.jit
def in_place(image):
    j, i = cuda.grid(2)
    image[i, j] += 1


def test_l1_spares_loads_alone():
    image = np.ones((64, 64), np.float32)
    blocks = (2, 8), (32, 8)
    columns = estimate(xray(down_the_columns)[blocks](image, image.copy()))
    # each of 512 sectors is loaded eight times, and stored to eight times, all by one block
    assert columns.bytes_moved - columns.bytes_at_least == 2 * 7 * 512 * 32
    assert columns.caches.startswith("224 KB are moved again, 112 KB of them by loads within")
    once = estimate(xray(in_place)[blocks](image))
    assert once.caches.startswith("16 KB are moved again, none by loads within a block;")


def test_nothing_that_comes_again_and_what_a_sample_has_not_counted_is_no_range():
    once = counted(distinct_sectors=1000, block_sectors=1000, bytes_moved=32_000)
    for report in (once, counted(bytes_moved=32_000)):
        result = estimate(report, "T4")
        assert result.caches == ""
        assert result.seconds_at_least == result.seconds
        assert " to " not in str(result).partition(",")[0]
        assert "if cached" not in str(result)


def test_fewer_blocks_than_multiprocessors_leave_some_idle():
    # a T4 has 40: 10 blocks use a quarter, so that 1 ms becomes 4
    whole = estimate(counted(blocks=40, bytes_moved=320 * 10**6), "T4")
    part = estimate(counted(blocks=10, bytes_moved=320 * 10**6), "T4")
    assert whole.seconds == pytest.approx(1e-3 + 5e-6)
    assert part.seconds == pytest.approx(4e-3 + 5e-6)
    assert part.memory == whole.memory
    assert "10 blocks use 10 of 40 multiprocessors" in str(part)
    assert "1 block uses 1 of 40 multiprocessors" in str(estimate(counted(blocks=1), "T4"))
    assert "idle" not in str(whole)
    # 2 µs of the whole GPU's would be less than the launch; of a quarter of it they are 8
    assert estimate(counted(blocks=40, bytes_moved=64 * 10**4)).limit == "launch"
    assert estimate(counted(blocks=10, bytes_moved=64 * 10**4)).limit == "memory"


def test_nonsense_is_refused():
    with pytest.raises(BadInput, match="estimate was given 3: give it the report that gl.xray"):
        estimate(3)
    with pytest.raises(BadInput, match="There is no GPU 'H20'"):
        estimate(counted(), "H20")
    too_large = xray(axpy)[1, 2048](np.float32(2), np.ones(8, np.float32), np.ones(8, np.float32))
    with pytest.raises(BadInput, match="axpy did not run, so there is nothing to estimate: "):
        estimate(too_large)
