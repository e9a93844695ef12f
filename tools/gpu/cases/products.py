"""The ladder of matrix products, rung by rung, and the patch that is not on it: notebook 06."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from gpulearn.kernels.ladder import LADDER, Rung
from gpulearn.kernels.matmul_registers import matmul_register_patch
from gpulearn.kernels.specification import poisoned
from tools.gpu.case import Case, Shot
from tools.gpu.cases.arrays import numbers

__all__ = ["CASES"]

Array = np.ndarray[Any, Any]
# (m, n, p); even n and p, since a rung with wide loads takes pairs. The large ones are as
# large as the slowest rung allows: it takes tens of milliseconds where cuBLAS takes half a one.
SIZES = {
    "small": {"whole": (128, 32, 128), "odd": (70, 38, 98)},
    "large": {"whole": (2048, 2048, 2048), "odd": (2046, 2002, 2050)},
}
# A float32 sum of n products of normal numbers is off by some rounding steps of a number that
# grows as √n, and so does the largest of all sums.
ROUNDING = 1e-5


def product(rung: Rung, fit: str, size: str) -> Shot:
    m, n, p = SIZES[size][fit]
    if fit == "whole":  # whatever the rung's tiles are
        rows, columns = rung.covers if rung.x_is_row else rung.covers[::-1]
        m, p = -(-m // rows) * rows, -(-p // columns) * columns
    a, b, c = numbers(m, n, seed=1), numbers(n, p, seed=2), poisoned(m, p)
    return Shot(rung.grid(m, p), rung.block, rung.arguments(a, b, c))


def expect_product(a: Array, b: Array, c: Array) -> dict[int, Array]:
    # where two numbers travel as one word, they are numbers all the same
    a, b = a.view(np.float32), b.view(np.float32)
    exact = np.float64 if a.shape[0] < 256 else np.float32  # else it takes seconds
    return {2: (a.astype(exact) @ b.astype(exact)).astype(np.float32)}


def rungs() -> Iterator[Case]:
    patch = replace(LADDER["register tile"], name="patch", kernel=matmul_register_patch)
    for rung in (*LADDER.values(), patch):
        for fit in ("whole", "odd"):
            yield Case(
                f"{rung.kernel.__name__}, {fit}", "06", rung.kernel,
                partial(product, rung, fit), expect_product, ROUNDING,
            )  # fmt: skip


CASES = tuple(rungs())
