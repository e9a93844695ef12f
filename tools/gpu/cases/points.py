"""Structs and arrays of them, and walks along rows and columns: notebook 04."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from gpulearn.kernels.columns import COLUMN_SUMS
from gpulearn.kernels.points import SOA_NORMS
from gpulearn.kernels.specification import poisoned
from tools.gpu.case import Case
from tools.gpu.cases.arrays import numbers, whole_numbers
from tools.gpu.cases.lesson_kernels import (
    AOS_NORMS,
    COLUMN_MAXIMA,
    GREY_INTERLEAVED,
    GREY_PLANES,
    ROW_MAXIMA,
)

__all__ = ["CASES"]

Array = np.ndarray[Any, Any]
ELEMENTS = {"small": 4099, "large": 2**25}
SHAPES = {"small": (67, 75), "large": (4096, 8192)}
# one long walk per thread: as many threads as a GPU can use, and so many steps
WALKS = {"small": (301, 45), "large": (2**16, 1024)}
ROUNDING = 1e-6


def pixels(size: str) -> tuple[Array, ...]:
    return (numbers(*SHAPES[size], 3), poisoned(*SHAPES[size]))


def planes(size: str) -> tuple[Array, ...]:
    return (numbers(3, *SHAPES[size]), poisoned(*SHAPES[size]))


def struct_array(size: str) -> tuple[Array, ...]:
    n = ELEMENTS[size]
    return (numbers(n, 3), poisoned(n))


def array_struct(size: str) -> tuple[Array, ...]:
    n = ELEMENTS[size]
    return (*(numbers(n, seed=seed) for seed in (1, 2, 3)), poisoned(n))


def walked(axis: int, dtype: str, size: str) -> tuple[Array, ...]:
    threads, steps = WALKS[size]
    shape = (threads, steps) if axis == 1 else (steps, threads)
    make = numbers if dtype == "float32" else whole_numbers
    return (make(*shape, dtype=dtype), poisoned(threads, dtype=dtype))


CASES = (
    Case.of(GREY_INTERLEAVED, "odd", "04", pixels, ROUNDING),
    Case.of(GREY_PLANES, "odd", "04", planes, ROUNDING),
    Case.of(AOS_NORMS, "odd", "04", struct_array, ROUNDING),
    Case.of(SOA_NORMS, "odd", "04", array_struct, ROUNDING),
    *(
        Case.of(maxima, dtype, "04", partial(walked, axis, dtype))
        for maxima, axis in ((ROW_MAXIMA, 1), (COLUMN_MAXIMA, 0))
        for dtype in ("float32", "int32")
    ),
    Case.of(COLUMN_SUMS, "float32", "04", partial(walked, 0, "float32"), 1e-5),
)
