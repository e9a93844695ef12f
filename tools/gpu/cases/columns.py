"""Walks along the rows and the columns of a matrix: notebook 04."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from gpulearn.kernels.specification import poisoned
from gpulearn_lessons.coalescing.columns import COLUMN_SUMS
from tools.gpu.case import Case
from tools.gpu.cases.arrays import numbers, whole_numbers
from tools.gpu.cases.lesson_kernels import COLUMN_MAXIMA, ROW_MAXIMA

__all__ = ["CASES"]

Array = np.ndarray[Any, Any]
# one long walk per thread: as many threads as a GPU can use, and so many steps
WALKS = {"small": (301, 45), "large": (2**16, 1024)}


def walked(axis: int, dtype: str, size: str) -> tuple[Array, ...]:
    threads, steps = WALKS[size]
    shape = (threads, steps) if axis == 1 else (steps, threads)
    make = numbers if dtype == "float32" else whole_numbers
    return (make(*shape, dtype=dtype), poisoned(threads, dtype=dtype))


CASES = (
    *(
        Case.of(maxima, dtype, "04", partial(walked, axis, dtype))
        for maxima, axis in ((ROW_MAXIMA, 1), (COLUMN_MAXIMA, 0))
        for dtype in ("float32", "int32")
    ),
    Case.of(COLUMN_SUMS, "float32", "04", partial(walked, 0, "float32"), 1e-5),
)
