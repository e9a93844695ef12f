"""Structs and arrays of them, and walks along rows and columns: notebook 04."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from gpulearn.kernels import columns, points
from gpulearn.kernels.specification import blocks_along, poisoned
from tools.gpu.case import Case, Shot
from tools.gpu.cases.arrays import numbers, whole_numbers

__all__ = ["CASES"]

Array = np.ndarray[Any, Any]
Expected = dict[int, Array]
BLOCK = 128
ELEMENTS = {"small": 4099, "large": 2**25}
SHAPES = {"small": (67, 75), "large": (4096, 8192)}
# one long walk per thread: as many threads as a GPU can use, and so many steps
WALKS = {"small": (301, 45), "large": (2**16, 1024)}
ROUNDING = 1e-6


def greyed(planes: bool, size: str) -> Shot:
    shape = SHAPES[size]
    colours = numbers(*((3, *shape) if planes else (*shape, 3)))
    return Shot(blocks_along(shape[::-1], (32, 8)), (32, 8), (colours, poisoned(*shape)))


def expect_grey(axis: int, colours: Array, out: Array) -> Expected:
    return {1: colours.sum(axis=axis) / np.float32(3)}


def struct_array(size: str) -> Shot:
    n = ELEMENTS[size]
    return Shot(-(-n // BLOCK), BLOCK, (numbers(n, 3), poisoned(n)))


def expect_struct_array(records: Array, out: Array) -> Expected:
    return {1: np.sqrt((records * records).sum(axis=1))}


def array_struct(size: str) -> Shot:
    n = ELEMENTS[size]
    parts = (numbers(n, seed=seed) for seed in (1, 2, 3))
    return Shot(-(-n // BLOCK), BLOCK, (*parts, poisoned(n)))


def expect_array_struct(x: Array, y: Array, z: Array, out: Array) -> Expected:
    return {3: np.sqrt(x * x + y * y + z * z)}


def walked(axis: int, dtype: str, size: str) -> Shot:
    threads, steps = WALKS[size]
    shape = (threads, steps) if axis == 1 else (steps, threads)
    make = numbers if dtype == "float32" else whole_numbers
    out = poisoned(threads, dtype=dtype)
    return Shot(-(-threads // BLOCK), BLOCK, (make(*shape, dtype=dtype), out))


def expect_maxima(axis: int, matrix: Array, out: Array) -> Expected:
    return {1: matrix.max(axis=axis)}


def expect_sums(matrix: Array, out: Array) -> Expected:
    return {1: matrix.sum(axis=0, dtype=np.float64)}


CASES = (
    Case("grey_interleaved", "04", points.grey_interleaved,
         partial(greyed, False), partial(expect_grey, 2), ROUNDING),
    Case("grey_planes", "04", points.grey_planes,
         partial(greyed, True), partial(expect_grey, 0), ROUNDING),
    Case("aos_norms", "04", points.aos_norms, struct_array, expect_struct_array, ROUNDING),
    Case("soa_norms", "04", points.soa_norms, array_struct, expect_array_struct, ROUNDING),
    *(
        Case(f"{kernel.__name__}, {dtype}", "04", kernel,
             partial(walked, axis, dtype), partial(expect_maxima, axis))
        for kernel, axis in ((columns.row_maxima, 1), (columns.column_maxima, 0))
        for dtype in ("float32", "int32")
    ),
    Case("column_sums", "04", columns.column_sums,
         partial(walked, 0, "float32"), expect_sums, tolerance=1e-5),
)  # fmt: skip
