"""Records in memory: array of structs against struct of arrays.

An array of structs keeps what belongs to one thing together: x, y, z of point 0, then of
point 1. A struct of arrays keeps what is of one kind together: all x, all y, all z. Lanes
that read the x of 32 points want the second.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gpulearn import cuda

__all__ = ["aos_norms", "grey_interleaved", "grey_planes", "soa_norms"]

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
