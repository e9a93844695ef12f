"""Sums of blocks, of warps and of the whole grid: notebook 07."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from gpulearn.kernels import reduction
from gpulearn.kernels.grid_sum import GRID_SUM_ATOMIC, GRID_SUM_COOPERATIVE, GRID_SUM_LAST
from gpulearn.kernels.reduction import SUM_BLOCKS, WARP, WARP_SUM, few_blocks
from gpulearn.kernels.specification import poisoned
from gpulearn_lessons.reductions.compaction import COMPACT_WARPS
from tools.gpu.case import Case
from tools.gpu.cases.arrays import in_blocks_of, numbers

__all__ = ["CASES"]

Arrays = tuple[np.ndarray[Any, Any], ...]
BLOCK = reduction.THREADS
ELEMENTS = {
    "small": {"odd": 4993, "whole": 5120, "one": 1},  # the last warp has one value
    "large": {"odd": 2**25 + 1, "whole": 2**25, "one": 1},  # 128 MB
}
ROUNDING = 1e-6  # all terms are positive, and the longest sum in a row has some hundreds


def pieces(fit: str, length: int, size: str) -> Arrays:
    n = ELEMENTS[size][fit]
    return numbers(n, positive=True), poisoned(-(-n // length))


def few(fit: str, size: str) -> Arrays:
    n = ELEMENTS[size][fit]
    return numbers(n, positive=True), poisoned(few_blocks(n, BLOCK))


def one_total(fit: str, size: str) -> Arrays:
    return numbers(ELEMENTS[size][fit], positive=True), np.zeros(1, np.float32)


def cooperative(fit: str, size: str) -> Arrays:
    # all blocks must be on the GPU at once, and the kernel adds up at most THREADS sums
    n = ELEMENTS[size][fit]
    return numbers(n, positive=True), poisoned(min(few_blocks(n, BLOCK), 128)), poisoned(1)


def last_block(fit: str, size: str) -> Arrays:
    # a thread adds up the sums of all blocks
    n = ELEMENTS[size][fit]
    sums = poisoned(min(few_blocks(n, WARP), 128))
    return numbers(n, positive=True), sums, np.zeros(1, np.int32), poisoned(1)


def but_the_ticket(*args: Any) -> dict[int, Any]:
    expected = GRID_SUM_LAST.expected(*args)
    return {place: expected[place] for place in GRID_SUM_LAST.outputs}  # it is 0 again


def half_of_them(fit: str, size: str) -> tuple[Any, ...]:
    n = ELEMENTS[size][fit]
    counts = poisoned(-(-n // WARP), dtype=np.int32)
    return numbers(n, positive=True), np.float32(0.5), np.zeros(n, np.float32), counts


TREES = (
    reduction.BLOCK_SUMS_INTERLEAVED,
    reduction.BLOCK_SUMS_PACKED,
    reduction.BLOCK_SUMS_SEQUENTIAL,
    reduction.BLOCK_SUMS_SHUFFLE,
)
CASES = (
    *(
        Case.of(in_blocks_of(block, tree), f"{fit}, blocks of {block}", "07",
                partial(pieces, fit, block), ROUNDING)
        for tree in TREES
        for fit, block in (("whole", BLOCK), ("odd", BLOCK), ("odd", 64))
    ),
    *(
        Case.of(in_blocks_of(32, tree), "one value", "07", partial(pieces, "one", 32), ROUNDING,
                sizes=("small",))
        for tree in TREES
    ),
    *(
        Case.of(WARP_SUM, f"{fit}, blocks of {block}", "07", partial(pieces, fit, WARP), ROUNDING,
                block)
        for fit, block in (("whole", BLOCK), ("odd", 96))
    ),
    *(Case.of(SUM_BLOCKS, fit, "07", partial(few, fit), ROUNDING) for fit in ("whole", "odd")),
    *(
        # the blocks' sums come in one row, in any order
        Case.of(GRID_SUM_ATOMIC, fit, "07", partial(one_total, fit), tolerance=1e-5)
        for fit in ("whole", "odd")
    ),
    *(
        Case.of(GRID_SUM_COOPERATIVE, fit, "07", partial(cooperative, fit), tolerance=2e-6)
        for fit in ("whole", "odd")
    ),
    *(
        Case.of(GRID_SUM_LAST, fit, "07", partial(last_block, fit), tolerance=1e-5,
                expect=but_the_ticket)
        for fit in ("whole", "odd")
    ),
    *(Case.of(COMPACT_WARPS, fit, "07", partial(half_of_them, fit)) for fit in ("whole", "odd")),
)  # fmt: skip
