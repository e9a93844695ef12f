"""Shared memory, by hand: 32 banks of 4 bytes; conflicts are the wavefronts beyond the least.

What Nsight Compute calls `l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld` (`_st`) and
`l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld` (`_st`), counted for each request.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
import pytest

from simt import cuda
from simt.observers import traffic

from . import sources
from .harness import line, xray

KERNEL = """
def kernel(out):
    s = cuda.shared.array({size}, numba.{kind})
    t = cuda.threadIdx.x
    for k in range(t, {size}, cuda.blockDim.x):
        s[k] = 1
    cuda.syncthreads()
    if t < {active}:
        value = s[{index}]  # load
        out[t] = value
"""


def loads(index: str, kind: str = "float32", active: int = 32, threads: int = 32) -> Any:
    text = KERNEL.format(size=1100, kind=kind, index=index, active=active)
    kernel = sources.module(text, cuda).kernel
    report = xray(kernel, 1, threads, np.zeros(threads, kind))
    assert report.ok, [str(f) for f in report.findings]
    at = report.lines[line(kernel, "# load")]
    return at.shared_load_wavefronts, at.shared_load_conflicts


@pytest.mark.parametrize(
    ("index", "wavefronts"),
    [
        ("t", 1),
        ("t * 2", 2),  # lanes 0 and 16 share bank 0
        ("t * 3", 1),  # 3 and 32 have no common factor
        ("t * 4", 4),
        ("t * 8", 8),
        ("t * 16", 16),
        ("t * 32", 32),  # all in bank 0
        ("t * 33", 1),  # the padded tile
        ("31 - t", 1),
        ("5", 1),  # one word for all: a broadcast
        ("t // 2", 1),  # pairs read the same word
        ("t % 2 * 32", 2),  # two words of bank 0, each read by 16
        ("t % 4 * 32", 4),
        ("t // 8 * 32", 4),
        ("(t * 7) % 32", 1),  # a permutation
        ("t // 16 + t % 16 * 2", 1),
        ("t + t // 16 * 16", 2),  # words 0-15 and 32-47
    ],
)
def test_wavefronts_of_one_request(index: str, wavefronts: int) -> None:
    assert loads(index) == (wavefronts, wavefronts - 1)


@pytest.mark.parametrize(
    ("index", "wavefronts", "conflicts"),
    [
        ("t", 2, 0),  # 256 B need two wavefronts: that is no conflict
        # 16 B apart: each half warp spreads over 256 B, two lanes to a bank: 2 · 2
        ("t * 2", 4, 2),
        ("t * 16", 32, 30),  # 128 B apart: each of the 16 lanes of a half on its own
        ("t * 17", 2, 0),
    ],
)
def test_words_of_64_bits_go_by_half_warps(index: str, wavefronts: int, conflicts: int) -> None:
    assert loads(index, "float64") == (wavefronts, conflicts)


@pytest.mark.parametrize(
    ("kind", "index", "wavefronts", "conflicts"),
    [
        ("float64", "0", 1, 0),
        ("float64", "t // 2", 1, 0),  # lanes n and n ^ 1
        ("float64", "t // 4 * 2 + t % 2", 1, 0),  # lanes n and n ^ 2
        ("float64", "t // 2 * 16", 16, 15),
        ("float64", "t // 2 + t % 4 // 3", 2, 0),  # lanes 2 and 3 differ, so do 1 and 3
        ("float64", "t % 16", 2, 0),  # lanes n and n ^ 16 agree: that is no pair
        # what Nsight Compute counted on an H100 for words of 16 bytes
        ("complex128", "t % 16 * 2", 8, 4),
        ("complex128", "t // 16 * 2", 2, 0),
        ("complex128", "t", 4, 0),
    ],
)
def test_wide_words_that_pairs_of_lanes_share(
    kind: str, index: str, wavefronts: int, conflicts: int
) -> None:
    assert loads(index, kind) == (wavefronts, conflicts)


def tile(out):
    s = cuda.shared.array((32, 32), numba.float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    s[y, x] = 1  # store
    cuda.syncthreads()
    value = s[x, y]  # load
    out[y, x] = value


def padded_tile(out):
    s = cuda.shared.array((32, 33), numba.float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    s[y, x] = 1  # store
    cuda.syncthreads()
    value = s[x, y]  # load
    out[y, x] = value


def transposing_store(out):
    s = cuda.shared.array((32, 32), numba.float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    s[x, y] = 1  # store
    cuda.syncthreads()
    value = s[y, x]  # load
    out[y, x] = value


@pytest.mark.parametrize(
    ("kernel", "stored", "loaded"),
    [
        (tile, (32, 0), (1024, 992)),  # 32 warps; each column is 32 words of one bank
        (padded_tile, (32, 0), (32, 0)),
        (transposing_store, (1024, 992), (32, 0)),
    ],
)
def test_the_transpose_tile(kernel: Any, stored: Any, loaded: Any) -> None:
    report = xray(kernel, 1, (32, 32), np.zeros((32, 32), np.float32))
    at = report.lines[line(kernel, "# store")]
    assert (at.shared_store_wavefronts, at.shared_store_conflicts) == stored
    at = report.lines[line(kernel, "# load")]
    assert (at.shared_load_wavefronts, at.shared_load_conflicts) == loaded
    whole = report.arrays["s"]
    assert (whole.shared_store_wavefronts, whole.shared_load_conflicts) == (
        stored[0],
        loaded[1],
    )
    assert report.totals.shared_load_wavefronts == loaded[0]


def test_shared_traffic_is_no_global_traffic() -> None:
    report = xray(tile, 1, (32, 32), np.zeros((32, 32), np.float32))
    assert report.arrays["s"].global_load_requests == 0
    assert report.totals.global_load_requests == 0
    assert report.totals.global_store_requests == 32
    assert report.totals.bytes_moved == 32 * 128


def test_equal_addresses_in_arrays_at_other_places_are_told_apart() -> None:
    rows = 127 * (np.arange(32)[None, :] % 2)
    found = []
    for offset in (0, 1, 128, 129, 1, 0):
        passes, ideal = traffic.bank_passes(rows + offset, 1)
        found.append(traffic.wavefronts(rows, offset, 1, True))
        assert found[-1] == (passes.sum(), ideal.sum())
    assert [passes for passes, _ in found] == [1, 2, 1, 2, 2, 1]
