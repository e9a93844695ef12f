"""Occupancy against NVIDIA's calculator, by hand, and against what must hold for any kernel."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gpulearn as gl
from gpulearn import cuda
from gpulearn.errors import BadInput, KernelError
from gpulearn.perf.gpus import ADA, AMPERE_A100, GPUS, HOPPER, TURING, VOLTA
from gpulearn.perf.occupancy import blocks_that_fit, warps_held
from simt.core import limits

# multiprocessor, threads, shared bytes, registers → blocks, and what limits them
BY_HAND = [
    (TURING, 256, 0, 32, 4, {"threads"}),
    (TURING, 1, 0, 16, 16, {"blocks"}),
    (TURING, 1024, 0, 64, 1, {"threads", "registers"}),  # 2,048 of a warp: 8 warps · 4 parts
    (TURING, 64, 48 * 1024, 32, 1, {"shared memory"}),
    (TURING, 64, 4097, 32, 15, {"shared memory"}),  # 4,352 in units of 256: 65,536 / 4,352
    (VOLTA, 96, 0, 40, 16, {"registers"}),  # 1,280 of a warp: 12 warps · 4 parts, 3 of a block
    (AMPERE_A100, 256, 0, 37, 6, {"registers"}),  # 1,280 as well: 48 warps, 8 of a block
    (AMPERE_A100, 32, 0, 32, 32, {"blocks"}),
    (AMPERE_A100, 128, 10_000, None, 15, {"shared memory"}),  # 11,136 with 1 KB, in units of 128
    (ADA, 256, 18_980, 48, 5, {"shared memory", "registers"}),
    (ADA, 64, 0, 200, 4, {"registers"}),  # 2 warps in each part
    (ADA, 64, 0, 168, 6, {"registers"}),  # 3
    (ADA, 256, 0, 32, 6, {"threads"}),
    (HOPPER, 1024, 0, 32, 2, {"threads", "registers"}),
    (HOPPER, 1024, 48 * 1024, 16, 2, {"threads"}),
    (HOPPER, 128, 0, 255, 2, {"registers"}),  # 8,192 of a warp: 8 warps
    (HOPPER, 128, 0, 80, 6, {"registers"}),  # 2,560: 6 warps · 4 parts; 25 if it were one
    (HOPPER, 1024, 0, 65, 0, {"registers"}),
    (HOPPER, 32, 0, 256, 0, {"registers"}),  # no thread has so many
    (HOPPER, 160, 0, 232, 1, {"registers"}),  # 7,424: 8 warps in all, 5 of a block
    (HOPPER, 288, 0, 168, 1, {"registers"}),  # 5,376: 12 warps in all, 9 of a block
    (HOPPER, 288, 0, 176, 0, {"registers"}),  # 5,632 for 12 warps, as the hardware checks it
    (HOPPER, 16, 100 * 1024, 16, 2, {"shared memory"}),
]


@pytest.mark.parametrize(("one", "threads", "shared", "registers", "blocks", "limit"), BY_HAND)
def test_as_the_calculator_says(one, threads, shared, registers, blocks, limit):
    fits = blocks_that_fit(one, threads, shared, registers)
    assert min(fits.values()) == blocks
    assert {name for name, count in fits.items() if count == blocks} == limit


DEMANDS = st.tuples(st.integers(1, 1024), st.integers(0, 48 << 10), st.integers(1, 255))


@given(
    st.sampled_from(sorted(GPUS)), DEMANDS,
    st.tuples(st.integers(0, 300), st.integers(0, 9000), st.integers(0, 64)),
)  # fmt: skip
def test_who_wants_more_gets_no_more_blocks(gpu, demand, more):
    one = GPUS[gpu].multiprocessor
    larger = [a + b for a, b in zip(demand, more, strict=True)]
    fits = blocks_that_fit(one, *demand)
    after = blocks_that_fit(one, *larger)
    assert all(after[name] <= count for name, count in fits.items())
    threads, shared, registers = demand
    blocks = min(fits.values())
    assert blocks * threads <= one.threads
    assert blocks * shared <= one.shared_bytes
    assert blocks * threads * registers <= one.registers


@given(st.sampled_from(sorted(GPUS)), st.integers(1, 1024))
def test_without_other_limits_threads_and_blocks_alone_say_how_many_warps(gpu, threads):
    one = GPUS[gpu].multiprocessor
    blocks = min(blocks_that_fit(one, threads)[name] for name in ("threads", "blocks"))
    assert warps_held(threads, one.threads, one.blocks) == blocks * -(-threads // 32)


@cuda.jit
def tiled(a):
    tile = cuda.shared.array((16, 16), np.float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    tile[y, x] = 1
    a[y, x] = tile[y, x]


def test_a_kernel_that_has_been_launched():
    tiled[1, (16, 16)](cuda.to_device(np.zeros((16, 16), np.float32)))
    found = gl.occupancy(tiled, (10, 32), (16, 16), "T4")
    assert (found.blocks, found.warps, found.share) == (4, 32, 1.0)
    assert found.limits == ("threads",)
    assert found.fits == {"threads": 4, "blocks": 16, "shared memory": 64}
    text = str(found)
    assert text.startswith(
        "tiled on a T4: 4 blocks, 32 of 32 warps (100%) on a multiprocessor; the limit is threads."
    )
    assert "1,024 bytes of a block, 65,536 of a multiprocessor" in text
    assert "registers         ?  only the compiler knows" in text
    assert text.endswith("320 blocks are 2 times the 160 that run at a time.")
    fewer = gl.occupancy(tiled, 30, 256, "T4", sharedmem=20_000, registers=64)
    assert (fewer.shared_bytes, fewer.blocks, fewer.limits) == (21_024, 3, ("shared memory",))
    assert str(fewer).endswith("10 of its 40 multiprocessors get no block.")
    assert "64 of a thread, 65,536 of a multiprocessor" in str(fewer)
    none = gl.occupancy(tiled, 1000, 1024, "H100", registers=128)
    assert (none.blocks, none.warps, none.limits) == (0, 0, ("registers",))
    assert str(none).endswith("65,536 of a multiprocessor")


def test_a_compiled_kernel_tells_its_registers():
    class Compiled:
        __name__ = "compiled"

        def get_shared_mem_per_block(self):
            return {"a signature": 0, "another": 1024}

        def get_regs_per_thread(self):
            return 255

    found = gl.occupancy(Compiled(), 100, 128, "H100")
    assert (found.registers, found.shared_bytes, found.blocks) == (255, 1024, 2)
    assert gl.occupancy(Compiled(), 100, 128, "H100", registers=32).blocks == 16


def test_what_cannot_be_asked():
    kernel = cuda.jit(tiled.py_func)
    with pytest.raises(BadInput, match="tiled tells what it takes once it is compiled: launch it"):
        gl.occupancy(kernel, 1, 32)
    with pytest.raises(BadInput, match="occupancy was given 3: give it a kernel"):
        gl.occupancy(3, 1, 32)
    kernel[1, (16, 16)](cuda.to_device(np.zeros((16, 16), np.float32)))
    with pytest.raises(BadInput, match="There is no GPU 'T5'"):
        gl.occupancy(kernel, 1, 32, "T5")
    with pytest.raises(KernelError, match="a block has at most 1,024 threads, got 2,048"):
        gl.occupancy(kernel, 1, 2048)
    with pytest.raises(KernelError, match="unless .* asks for more .*, got 49,153"):
        gl.occupancy(kernel, 1, 32, sharedmem=48 * 1024 - 1023)


def test_the_machines_limits_are_those_of_the_largest_gpu():
    multiprocessors = [spec.multiprocessor for spec in GPUS.values()]
    assert max(spec.multiprocessors for spec in GPUS.values()) == limits.MULTIPROCESSORS
    assert max(one.blocks for one in multiprocessors) == limits.BLOCKS_EACH
    assert max(one.threads for one in multiprocessors) == 32 * limits.WARPS_EACH
    for threads in (1, 33, 64, 500, 1024):
        most = max(min(blocks_that_fit(one, threads).values()) for one in multiprocessors)
        assert limits.resident(threads) == most


BOOST = {  # GHz, as NVIDIA publishes them
    "T4": 1.59, "L4": 2.04, "RTX 4060 Laptop": 2.37, "RTX 3090": 1.695, "RTX 4090": 2.52,
    "V100": 1.53, "A100 40GB": 1.41, "A100 80GB": 1.41, "H100": 1.98, "H200": 1.98,
}  # fmt: skip


@pytest.mark.parametrize("gpu", BOOST)
def test_multiprocessors_at_their_clock_make_the_rate(gpu):
    spec = GPUS[gpu]
    clock = spec.cycles_per_second / spec.multiprocessors
    assert clock == pytest.approx(BOOST[gpu] * 1e9, rel=0.01)
