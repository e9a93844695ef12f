"""Blocks that share what they have read: stretches, stencils and filters of notebook 05."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from gpulearn.kernels import convolution, stencil
from gpulearn.kernels.blocks import BLOCK, BLOCK_SUM, REVERSE_BLOCK
from gpulearn.kernels.convolution import REACH
from gpulearn.kernels.specification import blocks_along, poisoned
from gpulearn.kernels.stencil import RADIUS
from gpulearn.kernels.transpose_tiled import TILE
from tools.gpu.case import Case, Shot
from tools.gpu.cases.arrays import numbers

__all__ = ["CASES"]

Array = np.ndarray[Any, Any]
Expected = dict[int, Array]
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


def neighbours(fit: str, size: str) -> Shot:
    n = ELEMENTS[size][fit]
    return Shot(-(-n // BLOCK), BLOCK, (numbers(n, positive=True), poisoned(n)))


def expect_neighbours(a: Array, out: Array) -> Expected:
    padded = np.pad(a.astype(np.float64), RADIUS)
    width = 2 * RADIUS + 1
    total = padded[: a.size].copy()
    for k in range(1, width):
        total += padded[k : k + a.size]
    return {1: total}


def differences(fit: str, size: str) -> Shot:
    rows, columns = SHAPES[size][fit]
    args = (numbers(rows, columns), poisoned(rows, columns - 1))
    return Shot((-(-columns // BLOCK), rows), BLOCK, args)


def expect_differences(image: Array, out: Array) -> Expected:
    return {1: np.abs(np.diff(image, axis=1))}


def filtered(fit: str, size: str) -> Shot:
    rows, columns = SHAPES[size][fit]
    weights = numbers(2 * REACH + 1, 2 * REACH + 1, seed=1)
    args = (numbers(rows, columns), weights, poisoned(rows, columns))
    return Shot(blocks_along((columns, rows), (TILE, TILE)), (TILE, TILE), args)


def expect_filtered(image: Array, weights: Array, out: Array) -> Expected:
    padded = np.pad(image, REACH)
    total = np.zeros(image.shape)
    for (i, j), weight in np.ndenumerate(weights):
        total += weight * padded[i : i + image.shape[0], j : j + image.shape[1]]
    return {2: total}


CASES = tuple(
    case
    for fit in FITS
    for case in (
        Case.of(REVERSE_BLOCK, fit, "05", partial(in_place, fit)),
        Case.of(BLOCK_SUM, fit, "05", partial(summed, fit), ROUNDING),
        Case(f"stencil_1d_naive, {fit}", "05", stencil.stencil_1d_naive,
             partial(neighbours, fit), expect_neighbours, ROUNDING),
        Case(f"stencil_1d, {fit}", "05", stencil.stencil_1d,
             partial(neighbours, fit), expect_neighbours, ROUNDING),
        Case(f"edges, {fit}", "05", stencil.edges, partial(differences, fit), expect_differences),
        Case(f"conv2d_naive, {fit}", "05", convolution.conv2d_naive,
             partial(filtered, fit), expect_filtered, tolerance=3e-6),
        Case(f"conv2d_tiled, {fit}", "05", convolution.conv2d_tiled,
             partial(filtered, fit), expect_filtered, tolerance=3e-6),
    )
)  # fmt: skip
