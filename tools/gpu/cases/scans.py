"""Running sums of one block and of many: notebook 07."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from gpulearn.kernels import scan
from gpulearn.kernels.specification import poisoned
from tools.gpu.case import Case, Shot
from tools.gpu.cases.arrays import whole_numbers

__all__ = ["CASES"]

Array = np.ndarray[Any, Any]
Expected = dict[int, Array]
ELEMENTS = {"small": 5003, "large": 2**25 + 3}
SMALL = ("small",)  # a scan of one block has nothing to time


def one_block(n: int, threads: int, size: str) -> Shot:
    return Shot(1, threads, (whole_numbers(n, seed=n), poisoned(n, dtype=np.int32)))


def expect_inclusive(values: Array, out: Array) -> Expected:
    return {1: np.cumsum(values)}


def expect_exclusive(values: Array, out: Array) -> Expected:
    return {1: np.cumsum(values) - values}


def blocks(block: int, size: str) -> Shot:
    n = ELEMENTS[size]
    count = -(-n // block)
    out, totals = poisoned(n, dtype=np.int32), poisoned(count, dtype=np.int32)
    return Shot(count, block, (whole_numbers(n), out, totals))


def expect_blocks(block: int, values: Array, out: Array, totals: Array) -> Expected:
    rows = np.pad(values, (0, -values.size % block)).reshape(-1, block)
    running = np.cumsum(rows, axis=1)
    return {1: (running - rows).ravel()[: values.size], 2: running[:, -1]}


def raised(block: int, size: str) -> Shot:
    n = ELEMENTS[size]
    count = -(-n // block)
    offsets = whole_numbers(count, below=10**6, seed=1)
    return Shot(count, block, (whole_numbers(n), offsets))


def expect_raised(block: int, out: Array, offsets: Array) -> Expected:
    return {0: out + np.repeat(offsets, block)[: out.size]}


CASES = (
    *(
        Case(f"scan_hillis_steele, {n} values", "07", scan.scan_hillis_steele,
             partial(one_block, n, n), expect_inclusive, sizes=SMALL)
        for n in (1, 200, 256)
    ),
    *(
        Case(f"scan_blelloch, {n} values", "07", scan.scan_blelloch,
             partial(one_block, n, n), expect_exclusive, sizes=SMALL)
        for n in (2, 64, 256)
    ),
    *(
        Case(f"exclusive_scan, {n} values", "07", scan.exclusive_scan,
             partial(one_block, n, threads), expect_exclusive, sizes=SMALL)
        for n, threads in ((1, 32), (131, 200), (256, 256))
    ),
    *(
        Case(f"scan_blocks, blocks of {block}", "07", scan.scan_blocks,
             partial(blocks, block), partial(expect_blocks, block))
        for block in (256, 100)
    ),
    *(
        Case(f"add_offsets, blocks of {block}", "07", scan.add_offsets,
             partial(raised, block), partial(expect_raised, block))
        for block in (256, 100)
    ),
)  # fmt: skip
