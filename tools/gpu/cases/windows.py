"""Blocks that share what they have read: stretches, stencils and filters of notebook 05."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from gpulearn.kernels.blocks import BLOCK, BLOCK_SUM, REVERSE_BLOCK, SMOOTH_BLOCK
from gpulearn.kernels.specification import poisoned
from gpulearn_lessons.shared_memory.convolution import CONV2D_NAIVE, CONV2D_TILED, REACH
from gpulearn_lessons.shared_memory.stencil import EDGES, STENCIL_1D, STENCIL_1D_NAIVE
from tools.gpu.case import Case
from tools.gpu.cases.arrays import numbers
from tools.gpu.cases.lesson_kernels import REVERSE_HASTILY, REVERSE_IN_WARP

__all__ = ["CASES"]

Array = np.ndarray[Any, Any]
ELEMENTS = {
    "small": {"odd": 4099, "whole": 4096},
    "large": {"odd": 2**25 + 3, "whole": 2**25},  # 128 MB
}
SHAPES = {
    "small": {"odd": (39, 75), "whole": (64, 96)},
    "large": {"odd": (4999, 4999), "whole": (4096, 8192)},
}
FITS = ("odd", "whole")
ROUNDING = 1e-6


def in_place(fit: str, size: str) -> tuple[Array, ...]:
    return (numbers(ELEMENTS[size][fit]),)


def summed(fit: str, size: str) -> tuple[Array, ...]:
    n = ELEMENTS[size][fit]
    return (numbers(n, positive=True), poisoned(-(-n // BLOCK)))


def neighbours(fit: str, size: str) -> tuple[Array, ...]:
    n = ELEMENTS[size][fit]
    return (numbers(n, positive=True), poisoned(n))


def image(fit: str, size: str) -> tuple[Array, ...]:
    rows, columns = SHAPES[size][fit]
    return (numbers(rows, columns), poisoned(rows, columns - 1))


def image_and_filter(fit: str, size: str) -> tuple[Array, ...]:
    rows, columns = SHAPES[size][fit]
    weights = numbers(2 * REACH + 1, 2 * REACH + 1, seed=1)
    return (numbers(rows, columns), weights, poisoned(rows, columns))


def of_a_warp(size: str) -> tuple[Array, ...]:
    return (numbers(32),)


CASES = (
    Case.of(REVERSE_IN_WARP, "a warp", "05", of_a_warp, sizes=("small",)),
    # lanes mostly run in step, so that it may come out right
    Case.of(
        REVERSE_HASTILY,
        "a warp",
        "05",
        of_a_warp,
        sizes=("small",),
        finding="race",
        expect=lambda a: {},
    ),
    *(
        Case.of(specification, fit, "05", partial(arguments, fit), tolerance)
        for fit in FITS
        for specification, arguments, tolerance in (
            (REVERSE_BLOCK, in_place, 0),
            (SMOOTH_BLOCK, neighbours, ROUNDING),
            (BLOCK_SUM, summed, ROUNDING),
            (STENCIL_1D_NAIVE, neighbours, ROUNDING),
            (STENCIL_1D, neighbours, ROUNDING),
            (EDGES, image, 0),
            (CONV2D_NAIVE, image_and_filter, 3 * ROUNDING),
            (CONV2D_TILED, image_and_filter, 3 * ROUNDING),
        )
    ),
)
