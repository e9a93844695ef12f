"""Sums of blocks, of warps and of the whole grid: notebook 07."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from gpulearn.kernels import grid_sum, reduction
from gpulearn.kernels.specification import poisoned
from tools.gpu.case import Case, Shot
from tools.gpu.cases.arrays import numbers

__all__ = ["CASES"]

Array = np.ndarray[Any, Any]
Expected = dict[int, Array]
BLOCK = reduction.THREADS
ELEMENTS = {
    "small": {"odd": 4993, "whole": 5120, "one": 1},  # the last warp has one value
    "large": {"odd": 2**25 + 1, "whole": 2**25, "one": 1},  # 128 MB
}
FEW = {"small": 3, "large": 8 * 132}  # blocks: 8 for each multiprocessor
ROUNDING = 1e-6  # all terms are positive, and the longest sum in a row has some hundreds


def per_block(fit: str, block: int, size: str) -> Shot:
    n = ELEMENTS[size][fit]
    blocks = -(-n // block)
    return Shot(blocks, block, (numbers(n, positive=True), poisoned(blocks)))


def expect_pieces(length: int, values: Array, sums: Array) -> Expected:
    return {1: np.add.reduceat(values, np.arange(0, values.size, length), dtype=np.float64)}


def per_warp(fit: str, block: int, size: str) -> Shot:
    n = ELEMENTS[size][fit]
    return Shot(-(-n // block), block, (numbers(n, positive=True), poisoned(-(-n // 32))))


def few_blocks(fit: str, size: str) -> Shot:
    blocks = FEW[size]
    return Shot(blocks, BLOCK, (numbers(ELEMENTS[size][fit], positive=True), poisoned(blocks)))


def expect_in_rounds(values: Array, sums: Array) -> Expected:
    """Each block takes BLOCK neighbours, then those that lie one grid further on."""
    padded = np.pad(values, (0, -values.size % (sums.size * BLOCK)))
    return {1: padded.reshape(-1, sums.size, BLOCK).sum(axis=(0, 2), dtype=np.float64)}


def one_total(fit: str, size: str) -> Shot:
    args = (numbers(ELEMENTS[size][fit], positive=True), np.zeros(1, np.float32))
    return Shot(FEW[size], BLOCK, args)


def expect_total(values: Array, total: Array) -> Expected:
    return {1: values.sum(dtype=np.float64, keepdims=True)}


def cooperative(fit: str, size: str) -> Shot:
    # all blocks must be on the GPU at once, and the kernel adds up at most THREADS sums
    blocks = {"small": 3, "large": 128}[size]
    values = numbers(ELEMENTS[size][fit], positive=True)
    return Shot(blocks, BLOCK, (values, poisoned(blocks), poisoned(1)))


def expect_cooperative(values: Array, sums: Array, total: Array) -> Expected:
    return {
        1: expect_in_rounds(values, sums)[1],
        2: values.sum(dtype=np.float64, keepdims=True),
    }


TREES = (
    reduction.block_sums_interleaved,
    reduction.block_sums_packed,
    reduction.block_sums_sequential,
    reduction.block_sums_shuffle,
)
CASES = (
    *(
        Case(f"{kernel.__name__}, {fit}, blocks of {block}", "07", kernel,
             partial(per_block, fit, block), partial(expect_pieces, block), ROUNDING)
        for kernel in TREES
        for fit, block in (("whole", BLOCK), ("odd", BLOCK), ("odd", 64))
    ),
    *(
        Case(f"{kernel.__name__}, one value", "07", kernel, partial(per_block, "one", 32),
             partial(expect_pieces, 32), ROUNDING, sizes=("small",))
        for kernel in TREES
    ),
    *(
        Case(f"warp_sum, {fit}, blocks of {block}", "07", reduction.warp_sum,
             partial(per_warp, fit, block), partial(expect_pieces, 32), ROUNDING)
        for fit, block in (("whole", BLOCK), ("odd", 96))
    ),
    *(
        Case(f"sum_blocks, {fit}", "07", reduction.sum_blocks, partial(few_blocks, fit),
             expect_in_rounds, ROUNDING)
        for fit in ("whole", "odd")
    ),
    *(
        Case(f"grid_sum_atomic, {fit}", "07", grid_sum.grid_sum_atomic, partial(one_total, fit),
             expect_total, tolerance=1e-5)  # the blocks' sums come in one row, in any order
        for fit in ("whole", "odd")
    ),
    *(
        Case(f"grid_sum_cooperative, {fit}", "07", grid_sum.grid_sum_cooperative,
             partial(cooperative, fit), expect_cooperative, tolerance=2e-6)
        for fit in ("whole", "odd")
    ),
)  # fmt: skip
