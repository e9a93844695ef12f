"""The ladder of matrix products, rung by rung, and the patch that is not on it: notebook 06."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from gpulearn.kernels.specification import poisoned
from gpulearn_lessons.matmul.ladder import LADDER
from gpulearn_lessons.matmul.matmul_registers import MATMUL_REGISTER_PATCH
from tools.gpu.case import Case
from tools.gpu.cases.arrays import numbers

__all__ = ["CASES"]

Array = np.ndarray[Any, Any]
# (m, n, p), whole for the tiles of every rung; even n and p, since a rung with wide loads takes
# pairs. The large ones are as large as the slowest rung allows: it takes tens of milliseconds
# where cuBLAS takes half a one.
SIZES = {
    "small": {"whole": (128, 32, 128), "odd": (70, 38, 98)},
    "large": {"whole": (2048, 2048, 2048), "odd": (2046, 2002, 2050)},
}
# A float32 sum of n products of normal numbers is off by some rounding steps of a number that
# grows as √n, and so does the largest of all sums.
ROUNDING = 1e-5


def arguments(pairs: bool, fit: str, size: str) -> tuple[Array, ...]:
    m, n, p = SIZES[size][fit]
    args = numbers(m, n, seed=1), numbers(n, p, seed=2), poisoned(m, p)
    return tuple(x.view(np.int64) for x in args) if pairs else args


LAUNCHES = [(rung.specification, rung.pairs) for rung in LADDER.values()]
CASES = tuple(
    Case.of(specification, fit, "06", partial(arguments, pairs, fit), ROUNDING)
    for specification, pairs in (*LAUNCHES, (MATMUL_REGISTER_PATCH, False))
    for fit in ("whole", "odd")
)
