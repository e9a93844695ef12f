"""Global memory traffic, by hand: requests are per warp, sectors are 32 bytes.

What Nsight Compute calls `l1tex__t_requests_pipe_lsu_mem_global_op_ld` (`_st`) and
`l1tex__t_sectors_pipe_lsu_mem_global_op_ld` (`_st`).
"""

from typing import Any

import numpy as np
import pytest

from simt import cuda

from .harness import line, xray


def offset(a, out, k):
    i = cuda.grid(1)
    out[i] = a[i + k]


def loads(report: Any) -> tuple[int, int]:
    return report.arrays["a"].global_load_requests, report.arrays["a"].global_load_sectors


def stores(report: Any) -> tuple[int, int]:
    return report.arrays["out"].global_store_requests, report.arrays["out"].global_store_sectors


def read_field(p, out):
    i = cuda.grid(1)
    out[i] = p[i].v


@pytest.mark.parametrize(
    ("fields", "want"),
    [
        ("vwz", 24),  # 12 B apart: warp 0 touches bytes 0 … 375; warp 1 starts at 384
        ("vwyz", 32),  # 16 B apart: two lanes a sector
        ("vabcdefgh", 64),  # 36 B apart: every lane has its own sector
    ],
)
def test_struct_fields(fields: str, want: int) -> None:
    records = np.zeros(64, [(name, "f4") for name in fields])
    report = xray(read_field, 1, 64, records, np.zeros(64, np.float32))
    assert report.arrays["p"].global_load_requests == 2
    assert report.arrays["p"].global_load_sectors == want
    assert report.arrays["p"].bytes_requested == 64 * 4


def one_field_for_some(p, out, first, threads):
    if cuda.blockIdx.x >= first and cuda.threadIdx.x < threads:
        out[cuda.grid(1)] = p[2].f


@pytest.mark.parametrize(
    ("first", "threads", "requests", "blocks"),
    [(0, 64, 6, 3), (0, 20, 3, 3), (1, 64, 4, 2), (2, 33, 2, 1)],
)
def test_one_field_in_two_sectors(first: int, threads: int, requests: int, blocks: int) -> None:
    records = np.zeros(8, np.dtype([("v", "f8"), ("f", "c16")]))  # 24 B apart: bytes 56 … 71
    report = xray(one_field_for_some, 3, 64, records, np.zeros(192, "c16"), first, threads)
    counts = report.arrays["p"]
    assert (counts.global_load_requests, counts.global_load_sectors) == (requests, 2 * requests)
    assert (counts.distinct_sectors, counts.block_sectors) == (2, 2 * blocks)


def row_major(a, out):
    x, y = cuda.grid(2)
    out[y, x] = a[y, x]


def column_major(a, out):
    x, y = cuda.grid(2)
    out[y, x] = a[x, y]


def layers(a, out):
    x, y = cuda.grid(2)
    out[cuda.threadIdx.z, x + 4 * y] = a[y, x]


@pytest.mark.parametrize(
    ("kernel", "block", "width", "requests", "sectors"),
    [
        (row_major, (32, 4), 64, 4, 16),  # a warp is one row of 128 B
        (row_major, (16, 4), 64, 2, 8),  # a warp is two rows of 64 B: 2 + 2 sectors
        # 8 wide, pitch 80 B: rows at bytes 0, 80, 160, 240 take 1, 2, 1, 2 sectors
        (row_major, (8, 8), 20, 2, 12),
        (layers, (4, 2, 4), 64, 1, 2),  # 3-D: the z layers repeat the same two rows
        (column_major, (32, 4), 64, 4, 128),  # 256 B apart: a sector for each lane
    ],
)
def test_a_warp_in_a_block_of_more_dimensions(
    kernel: Any, block: tuple[int, ...], width: int, requests: int, sectors: int
) -> None:
    a, out = np.ones((64, width), np.float32), np.zeros((64, 64), np.float32)
    assert loads(xray(kernel, 1, block, a, out)) == (requests, sectors)


def loop_and_update(a, out, k):
    i = cuda.grid(1)
    for j in range(k):
        out[i] += a[j]


def test_a_loop_counts_every_time_and_an_update_is_a_load_and_a_store() -> None:
    report = xray(loop_and_update, 1, 64, np.ones(64, "f4"), np.zeros(64, "f4"), 5)
    assert loads(report) == (10, 10)  # 2 warps · 5 rounds, one sector each
    assert stores(report) == (10, 40)
    assert report.arrays["out"].global_load_requests == 10
    assert report.arrays["out"].global_load_sectors == 40
    at = report.lines[line(loop_and_update, "+=")]
    assert at.global_load_requests == 20
    assert at.global_store_requests == 10


def test_a_slice_keeps_its_place_in_memory() -> None:
    whole, out = cuda.to_device(np.ones(65, np.float32)), np.zeros(64, np.float32)
    assert loads(xray(offset, 1, 64, whole[1:], out, 0)) == (2, 10)  # 5 sectors a warp
    two = cuda.to_device(np.ones(128, np.float32))
    assert loads(xray(offset, 1, 64, two[::2], out, 0)) == (2, 16)  # 8 a warp


def test_a_last_chunk_of_fewer_blocks_counts_for_no_more() -> None:
    """Blocks run 32,768 threads at a time; 300 blocks of 256 are two chunks and a third."""
    report = xray(loop_and_update, 300, 256, np.ones(1, "f4"), np.zeros(300 * 256, "f4"), 1)
    assert stores(report) == (300 * 8, 300 * 32)
    assert report.totals.instructions == 300 * 8 * 4  # index, loop: begin and step, update
