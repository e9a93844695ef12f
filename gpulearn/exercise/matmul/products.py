"""What the four exercises share: products to launch, their specification, and one budget."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gpulearn.checker import budgets
from gpulearn.checker.kernel_exercise import Launch

__all__ = ["FLOAT64", "NO_FLOAT64", "ONE_WRITE", "WRITTEN_ONCE", "Matrix", "launch", "product"]

Matrix = np.ndarray[Any, Any]
Pair = tuple[int, int]

FLOAT64 = (
    "A plain 0 or 0.0 makes every sum that begins with it a float64: begin with np.float32(0)."
)
NO_FLOAT64 = budgets.float64(advice=FLOAT64)
ONE_WRITE = "Add up in variables of the thread, its registers, and write to c once, at the end."
# a quarter more than C holds: for the sectors at the ends of rows
WRITTEN_ONCE = budgets.bytes_moved(
    lambda case: case.args[2].nbytes * 5 // 4, advice=ONE_WRITE, of=2
)


def product(a: Matrix, b: Matrix, c: Matrix) -> tuple[Matrix]:
    """The specification: what `c` must hold, computed in float64 and rounded."""
    return ((a.astype(np.float64) @ b).astype(np.float32),)


def launch(
    m: int, n: int, p: int, grid: Callable[[int, int], Pair], block: Pair, measured: bool = False
) -> Launch:
    """A launch on random matrices of shapes (m, n) and (n, p); `grid` is called with m and p."""
    rng = np.random.default_rng(100 * m + 10 * n + p)
    a = rng.standard_normal((m, n), dtype=np.float32)
    b = rng.standard_normal((n, p), dtype=np.float32)
    x, y = grid(m, p)
    return Launch(
        f"A of shape ({m}, {n}) and B of shape ({n}, {p}) in ({x}, {y}) blocks of {block}",
        (a, b, np.empty((m, p), np.float32)),
        grid=(x, y),
        block=block,
        outputs=(2,),
        measured=measured,
    )
