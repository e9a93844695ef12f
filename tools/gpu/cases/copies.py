"""Copies in every order that memory can be walked, from notebook 04."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from gpulearn.kernels import copies
from gpulearn.kernels.specification import blocks_along, poisoned
from tools.gpu.case import Case, Shot
from tools.gpu.cases.arrays import numbers, repeated

__all__ = ["CASES"]

Array = np.ndarray[Any, Any]
Expected = dict[int, Array]
BLOCK = 128
# 128 MB of float32: an L2 cache holds less than half of it
ELEMENTS = {"small": 5003, "large": 2**25}
MOST = 2**27  # elements of a source: 512 MB of float32
SHAPES = {
    "small": {"odd": (67, 75), "whole": (64, 96)},
    "large": {"odd": (4999, 4999), "whole": (4096, 8192)},
}
# on a GPU with 132 multiprocessors: 8 blocks each
FEW = {"small": 5, "large": 8 * 132}


def strided(stride: int, dtype: str, size: str) -> Shot:
    n = min(ELEMENTS[size], MOST // stride)
    source = numbers(n * stride, seed=stride, dtype=dtype)
    return Shot(-(-n // BLOCK), BLOCK, (source, poisoned(n, dtype=dtype), stride))


def expect_strided(source: Array, target: Array, stride: int) -> Expected:
    return {1: source[::stride][: target.size]}


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


def gathered(order: str, size: str) -> Shot:
    n = ELEMENTS[size] // 32 * 32
    place = ORDERS[order](n).astype(np.int64)
    return Shot(-(-n // BLOCK), BLOCK, (numbers(n), place, poisoned(n)))


def expect_gathered(source: Array, index: Array, target: Array) -> Expected:
    return {2: source[index]}


def by_columns(fit: str, block: tuple[int, int], size: str) -> Shot:
    rows, columns = SHAPES[size][fit]
    image = numbers(rows, columns)
    return Shot(blocks_along((rows, columns), block), block, (image, poisoned(rows, columns)))


def by_rows(fit: str, block: tuple[int, int], size: str) -> Shot:
    rows, columns = SHAPES[size][fit]
    image = numbers(rows, columns)
    return Shot(blocks_along((columns, rows), block), block, (image, poisoned(rows, columns)))


def by_few(dtype: str, size: str) -> Shot:
    n = ELEMENTS[size]
    if size == "large":
        n = 4 * n // np.dtype(dtype).itemsize  # as many bytes
    source = repeated((97 * numbers(4999, positive=True)).astype(dtype), n)
    return Shot(FEW[size], BLOCK, (source, poisoned(n, dtype=dtype)))


def expect_copy(source: Array, target: Array) -> Expected:
    return {1: source}


BLOCKS = ((32, 8), (16, 16))
FITS = ("odd", "whole")
CASES = (
    *(
        Case(f"copy_strided, {k} apart", "04", copies.copy_strided,
             partial(strided, k, "f4"), expect_strided)
        for k in (1, 2, 3, 4, 8, 32)
    ),
    Case("copy_strided, float64 3 apart", "04", copies.copy_strided,
         partial(strided, 3, "f8"), expect_strided),
    *(
        Case(f"copy_gather, {order}", "04", copies.copy_gather,
             partial(gathered, order), expect_gathered)
        for order in ORDERS
    ),
    *(
        Case(f"copy_by_columns, {fit}, blocks of {b[0]} × {b[1]}", "04", copies.copy_by_columns,
             partial(by_columns, fit, b), expect_copy)
        for b in BLOCKS for fit in FITS
    ),
    *(
        Case(f"copy_by_rows, {fit}, blocks of {b[0]} × {b[1]}", "04", copies.copy_by_rows,
             partial(by_rows, fit, b), expect_copy)
        for b in BLOCKS for fit in FITS
    ),
    *(
        Case(f"{kernel.__name__}, {dtype}", "04", kernel, partial(by_few, dtype), expect_copy)
        for kernel in (copies.copy_in_runs, copies.copy_coalesced)
        for dtype in ("float32", "float64", "int32", "uint8")
    ),
)  # fmt: skip
