"""Copies in every order that memory can be walked, from notebook 04."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from gpulearn.kernels.copies import COPY_BY_ROWS, COPY_COALESCED, COPY_IN_RUNS, COPY_STRIDED
from gpulearn.kernels.specification import poisoned
from tools.gpu.case import Case, Shot
from tools.gpu.cases.arrays import numbers, repeated
from tools.gpu.cases.lesson_kernels import (
    COPY_BY_COLUMNS,
    COPY_GATHER,
    CUT_OUT,
    EVERY_EIGHTH,
)

__all__ = ["CASES"]

Array = np.ndarray[Any, Any]
# 128 MB of float32: an L2 cache holds less than half of it
ELEMENTS = {"small": 5003, "large": 2**25}
MOST = 2**27  # elements of a source: 512 MB of float32
SHAPES = {
    "small": {"odd": (67, 75), "whole": (64, 96)},
    "large": {"odd": (4999, 4999), "whole": (4096, 8192)},
}
# on a GPU with 132 multiprocessors: 8 blocks each
FEW = {"small": 5, "large": 8 * 132}


def strided(stride: int, dtype: str, size: str) -> tuple[Any, ...]:
    n = min(ELEMENTS[size], MOST // stride)
    return (numbers(n * stride, seed=stride, dtype=dtype), poisoned(n, dtype=dtype), stride)


def shuffled(n: int) -> Array:
    """A random order of n elements, in pieces that each stay among neighbours of 2²⁰."""
    piece = min(n, 2**20)
    order = np.random.default_rng(0).permutation(piece)
    starts = np.arange(0, n, piece)[:, None]
    places: Array = (starts + order).ravel()
    return places


ORDERS: dict[str, Callable[[int], Array]] = {
    "forwards": np.arange,
    "backwards": lambda n: np.arange(n)[::-1].copy(),
    "at random": shuffled,
    "offset by 1": lambda n: np.arange(1, n + 1) % n,
    "all the same": lambda n: np.full(n, n // 3),
    "warps shuffled": lambda n: np.arange(n) ^ 21 if n % 32 == 0 else np.arange(n),
}


def gathered(order: str, size: str) -> tuple[Array, ...]:
    n = ELEMENTS[size] // 32 * 32
    return (numbers(n), ORDERS[order](n).astype(np.int64), poisoned(n))


def picture(fit: str, size: str) -> tuple[Array, ...]:
    shape = SHAPES[size][fit]
    return (numbers(*shape), poisoned(*shape))


def part(fit: str, size: str) -> tuple[Array, ...]:
    rows, columns = SHAPES[size][fit]
    return (numbers(rows + 176, columns + 208), poisoned(rows, columns))


def eighth(fit: str, size: str) -> tuple[Array, ...]:
    rows, columns = SHAPES[size][fit]
    return (numbers(rows, columns), poisoned(rows // 8, columns // 8))


def by_few(dtype: str, size: str) -> Shot:
    n = ELEMENTS[size]
    if size == "large":
        n = 4 * n // np.dtype(dtype).itemsize  # as many bytes
    source = repeated((97 * numbers(4999, positive=True)).astype(dtype), n)
    return Shot(FEW[size], 128, (source, poisoned(n, dtype=dtype)))


BLOCKS = ((32, 8), (16, 16))
FITS = ("odd", "whole")
CASES = (
    *(
        Case.of(COPY_STRIDED, f"{k} apart", "04", partial(strided, k, "f4"))
        for k in (1, 2, 3, 4, 8, 32)
    ),
    Case.of(COPY_STRIDED, "float64 3 apart", "04", partial(strided, 3, "f8")),
    *(Case.of(COPY_GATHER, order, "04", partial(gathered, order)) for order in ORDERS),
    *(
        Case.of(copy, f"{fit}, blocks of {b[0]} × {b[1]}", "04", partial(picture, fit), block=b)
        for copy in (COPY_BY_COLUMNS, COPY_BY_ROWS) for b in BLOCKS for fit in FITS
    ),
    *(
        Case.of(copy, fit, "04", partial(made, fit))
        for copy, made in ((CUT_OUT, part), (EVERY_EIGHTH, eighth)) for fit in FITS
    ),
    *(
        Case(f"{copy.name}, {dtype}", "04", copy.kernel, partial(by_few, dtype), copy.expected)
        for copy in (COPY_IN_RUNS, COPY_COALESCED)
        for dtype in ("float32", "float64", "int32", "uint8")
    ),
)  # fmt: skip
