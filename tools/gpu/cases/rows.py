"""A warp for each row: the place of the maximum, and softmax, from notebook 07."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from gpulearn.kernels import softmax
from gpulearn.kernels.specification import poisoned
from tools.gpu.case import Case, Shot
from tools.gpu.cases.arrays import numbers, whole_numbers

__all__ = ["CASES"]

Array = np.ndarray[Any, Any]
Expected = dict[int, Array]
BLOCK = 128
SHAPES = {
    "small": {"odd": (45, 75), "whole": (48, 96), "narrow": (101, 3)},
    "large": {"odd": (2**15 + 5, 1003), "whole": (2**15, 1024), "narrow": (2**20, 19)},
}


def grid(rows: int) -> int:
    return -(-32 * rows // BLOCK)


def places(kind: str, fit: str, size: str) -> Shot:
    rows, columns = SHAPES[size][fit]
    make = numbers if kind == "spread" else partial(whole_numbers, below=4, dtype=np.float32)
    args = (make(rows, columns), poisoned(rows, dtype=np.int32))
    return Shot(grid(rows), BLOCK, args)


def expect_places(scores: Array, out: Array) -> Expected:
    return {1: scores.argmax(axis=1)}


def shares(scale: float, fit: str, size: str) -> Shot:
    rows, columns = SHAPES[size][fit]
    scores = numbers(rows, columns)
    scores *= np.float32(scale)
    return Shot(grid(rows), BLOCK, (scores, poisoned(rows, columns)))


def expect_shares(scores: Array, out: Array) -> Expected:
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    return {1: powers / powers.sum(axis=1, keepdims=True, dtype=np.float64)}


def expect_formula(scores: Array, out: Array) -> Expected:
    """What the formula gives in float32: beyond 88.7 an infinity, and NaN where two divide."""
    with np.errstate(over="ignore", invalid="ignore"):
        powers = np.exp(scores)
        return {1: powers / powers.sum(axis=1, keepdims=True)}


# exp of a number near 100 multiplies the rounding of its argument by 100
ROUNDING = 1e-5
CASES = (
    *(
        Case(f"argmax_rows, {fit}", "07", softmax.argmax_rows,
             partial(places, "spread", fit), expect_places)
        for fit in ("odd", "whole", "narrow")
    ),
    Case("argmax_rows, equals", "07", softmax.argmax_rows,
         partial(places, "equals", "odd"), expect_places),
    *(
        Case(f"softmax_rows, {fit}", "07", softmax.softmax_rows,
             partial(shares, 3.0, fit), expect_shares, ROUNDING)
        for fit in ("odd", "whole", "narrow")
    ),
    Case("softmax_rows, beyond 88.7", "07", softmax.softmax_rows,
         partial(shares, 60.0, "odd"), expect_shares, ROUNDING),
    Case("softmax_unsafe, odd", "07", softmax.softmax_unsafe,
         partial(shares, 3.0, "odd"), expect_shares, ROUNDING),
    Case("softmax_unsafe, beyond 88.7", "07", softmax.softmax_unsafe,
         partial(shares, 60.0, "odd"), expect_formula, ROUNDING),
)  # fmt: skip
