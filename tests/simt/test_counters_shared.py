"""Shared memory, by hand: 32 banks of 4 bytes; conflicts are the wavefronts beyond the least.

What Nsight Compute calls `l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld` (`_st`) and
`l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld` (`_st`), counted for each request.
"""

from typing import Any

import numpy as np
import pytest

from simt import cuda
from simt.observers import traffic

from . import sources
from .harness import line, xray

KERNEL = """
def kernel(out):
    s = cuda.shared.array(1100, numba.{kind})
    t = cuda.threadIdx.x
    for k in range(t, 1100, cuda.blockDim.x):
        s[k] = 1
    cuda.syncthreads()
    value = s[{index}]  # load
    out[t] = value
"""


def loads(index: str, kind: str = "float32") -> Any:
    kernel = sources.module(KERNEL.format(kind=kind, index=index), cuda).kernel
    report = xray(kernel, 1, 32, np.zeros(32, kind))
    assert report.ok, [str(f) for f in report.findings]
    at = report.lines[line(kernel, "# load")]
    return at.shared_load_wavefronts, at.shared_load_conflicts


@pytest.mark.parametrize(
    ("index", "wavefronts"),
    [
        ("t", 1),
        ("t * 2", 2),  # lanes 0 and 16 share bank 0
        ("t * 3", 1),  # 3 and 32 have no common factor
        ("t * 32", 32),  # all in bank 0
        ("t * 33", 1),  # the padded tile
        ("5", 1),  # one word for all: a broadcast
        ("t % 2 * 32", 2),  # two words of bank 0, each read by 16
    ],
)
def test_wavefronts_of_one_request(index: str, wavefronts: int) -> None:
    assert loads(index) == (wavefronts, wavefronts - 1)


@pytest.mark.parametrize(
    ("kind", "index", "wavefronts", "conflicts"),
    [
        # words of 64 bits go by half warps
        ("float64", "t", 2, 0),  # 256 B need two wavefronts: that is no conflict
        # 16 B apart: each half warp spreads over 256 B, two lanes to a bank: 2 · 2
        ("float64", "t * 2", 4, 2),
        ("float64", "t * 16", 32, 30),  # 128 B apart: each of the 16 lanes of a half on its own
        # words that pairs of lanes share
        ("float64", "0", 1, 0),
        ("float64", "t // 2", 1, 0),  # lanes n and n ^ 1
        ("float64", "t // 4 * 2 + t % 2", 1, 0),  # lanes n and n ^ 2
        ("float64", "t // 2 + t % 4 // 3", 2, 0),  # lanes 2 and 3 differ, so do 1 and 3
        ("float64", "t % 16", 2, 0),  # lanes n and n ^ 16 agree: that is no pair
        # what Nsight Compute counted on an H100 for words of 16 bytes
        ("complex128", "t % 16 * 2", 8, 4),
        ("complex128", "t // 16 * 2", 2, 0),
        ("complex128", "t", 4, 0),
    ],
)
def test_wavefronts_of_wide_words(kind: str, index: str, wavefronts: int, conflicts: int) -> None:
    assert loads(index, kind) == (wavefronts, conflicts)


def test_equal_addresses_in_arrays_at_other_places_are_told_apart() -> None:
    rows = 127 * (np.arange(32)[None, :] % 2)
    found = []
    for offset in (0, 1, 128, 129, 1, 0):
        passes, ideal = traffic.bank_passes(rows + offset, 1)
        found.append(traffic.wavefronts(rows, offset, 1, True))
        assert found[-1] == (passes.sum(), ideal.sum())
    assert [passes for passes, _ in found] == [1, 2, 1, 2, 2, 1]
