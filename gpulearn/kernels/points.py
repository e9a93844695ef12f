"""Records in memory: array of structs against struct of arrays.

An array of structs keeps what belongs to one thing together: x, y, z of point 0, then of
point 1. A struct of arrays keeps what is of one kind together: all x, all y, all z. Lanes
that read the x of 32 points want the second.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from gpulearn import cuda
from gpulearn.kernels.specification import Specification, blocks_along

__all__ = [
    "AOS_NORMS",
    "GREY_INTERLEAVED",
    "GREY_PLANES",
    "SOA_NORMS",
    "aos_norms",
    "grey_interleaved",
    "grey_planes",
    "soa_norms",
]

Array = np.ndarray[Any, Any]


@cuda.jit
def grey_interleaved(colours: Array, out: Array) -> None:
    """The mean of red, green and blue: `colours` (rows, columns, 3), `out` (rows, columns).

    Array of structs: the three values of a pixel lie side by side. Launch: x covers the
    columns, y the rows. Each of the three loads reads every third value, so with float32 it
    moves 12 sectors per request: three times the traffic of `grey_planes`.

    >>> a, b = np.ones((2, 4, 3), np.float32), np.zeros((2, 4), np.float32)
    >>> grey_interleaved[1, (32, 8)](cuda.to_device(a), d := cuda.to_device(b))
    >>> d.copy_to_host()[1]
    array([1., 1., 1., 1.], dtype=float32)
    """
    column, row = cuda.grid(2)
    if row < out.shape[0] and column < out.shape[1]:
        red = colours[row, column, 0]
        green = colours[row, column, 1]
        blue = colours[row, column, 2]
        out[row, column] = (red + green + blue) / np.float32(3)


@cuda.jit
def grey_planes(colours: Array, out: Array) -> None:
    """The mean of red, green and blue: `colours` (3, rows, columns), `out` (rows, columns).

    Struct of arrays: first all red values, then all green, then all blue. Launch: x covers
    the columns, y the rows. 4 sectors per request of float32.

    >>> a, b = np.ones((3, 2, 4), np.float32), np.zeros((2, 4), np.float32)
    >>> grey_planes[1, (32, 8)](cuda.to_device(a), d := cuda.to_device(b))
    >>> d.copy_to_host()[1]
    array([1., 1., 1., 1.], dtype=float32)
    """
    column, row = cuda.grid(2)
    if row < out.shape[0] and column < out.shape[1]:
        red = colours[0, row, column]
        green = colours[1, row, column]
        blue = colours[2, row, column]
        out[row, column] = (red + green + blue) / np.float32(3)


@cuda.jit
def aos_norms(points: Array, out: Array) -> None:
    """The distance of each point from the origin, √(x² + y² + z²): `points` (n, 3), `out` (n,).

    Launch: at least n threads in x. 12 sectors for each of the three requests of float32.

    >>> a, b = np.array([[3, 0, 4], [1, 2, 2]], np.float32), np.zeros(2, np.float32)
    >>> aos_norms[1, 32](cuda.to_device(a), d := cuda.to_device(b))
    >>> d.copy_to_host()
    array([5., 3.], dtype=float32)
    """
    i = cuda.grid(1)
    if i < out.size:
        x = points[i, 0]
        y = points[i, 1]
        z = points[i, 2]
        out[i] = math.sqrt(x * x + y * y + z * z)


@cuda.jit
def soa_norms(x: Array, y: Array, z: Array, out: Array) -> None:
    """The distance of each point from the origin, from three arrays of shape (n,).

    Launch: at least n threads in x. 4 sectors per request of float32.

    >>> x, y, z = np.array([[3, 1], [0, 2], [4, 2]], np.float32)
    >>> d = cuda.to_device(np.zeros(2, np.float32))
    >>> soa_norms[1, 32](cuda.to_device(x), cuda.to_device(y), cuda.to_device(z), d)
    >>> d.copy_to_host()
    array([5., 3.], dtype=float32)
    """
    i = cuda.grid(1)
    if i < out.size:
        out[i] = math.sqrt(x[i] * x[i] + y[i] * y[i] + z[i] * z[i])


def means_of_pixels(colours: Array, out: Array) -> tuple[Array]:
    """What `grey_interleaved` must leave in `out`, computed in float64."""
    return (colours.mean(axis=2, dtype=np.float64).astype(out.dtype),)


def means_of_planes(colours: Array, out: Array) -> tuple[Array]:
    """What `grey_planes` must leave in `out`, computed in float64."""
    return (colours.mean(axis=0, dtype=np.float64).astype(out.dtype),)


def norms_of_rows(points: Array, out: Array) -> tuple[Array]:
    """What `aos_norms` must leave in `out`, computed in float64."""
    return (np.linalg.norm(points.astype(np.float64), axis=1).astype(out.dtype),)


def norms_of_parts(x: Array, y: Array, z: Array, out: Array) -> tuple[Array]:
    """What `soa_norms` must leave in `out`, computed in float64."""
    return norms_of_rows(np.stack([x, y, z], axis=1), out)


GREY_INTERLEAVED = Specification(
    grey_interleaved,
    means_of_pixels,
    grid=lambda colours, out, block: blocks_along(out.shape[::-1], block),
    block=(32, 8),
    outputs=(1,),
)
GREY_PLANES = replace(GREY_INTERLEAVED, kernel=grey_planes, reference=means_of_planes)
AOS_NORMS = Specification(
    aos_norms,
    norms_of_rows,
    grid=lambda points, out, block: blocks_along(out.size, block),
    block=128,
    outputs=(1,),
)
SOA_NORMS = Specification(
    soa_norms,
    norms_of_parts,
    grid=lambda x, y, z, out, block: blocks_along(out.size, block),
    block=128,
    outputs=(3,),
)
