"""Arrays of structs and structs of arrays: notebook 04."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpulearn.kernels.specification import poisoned
from gpulearn_lessons.coalescing.points import SOA_NORMS, STRETCH_POINTS
from tools.gpu.case import Case
from tools.gpu.cases.arrays import numbers
from tools.gpu.cases.lesson_kernels import (
    AOS_NORMS,
    GREY_INTERLEAVED,
    GREY_PLANES,
)

__all__ = ["CASES"]

Array = np.ndarray[Any, Any]
ELEMENTS = {"small": 4099, "large": 2**25}
SHAPES = {"small": (67, 75), "large": (4096, 8192)}
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


def stretched(size: str) -> tuple[Array, ...]:
    n = ELEMENTS[size]
    return (numbers(n, 3), numbers(3, seed=2), poisoned(n, 3))


CASES = (
    Case.of(GREY_INTERLEAVED, "odd", "04", pixels, ROUNDING),
    Case.of(GREY_PLANES, "odd", "04", planes, ROUNDING),
    Case.of(AOS_NORMS, "odd", "04", struct_array, ROUNDING),
    Case.of(SOA_NORMS, "odd", "04", array_struct, ROUNDING),
    Case.of(STRETCH_POINTS, "odd", "04", stretched, ROUNDING),
)
