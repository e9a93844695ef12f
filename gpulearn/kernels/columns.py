"""One number for each row, or for each column, of a matrix: a thread walks along it.

Which walk is fast is the opposite of what a CPU likes. There, one thread reads along a row
and uses each piece of memory to its end. Here, 32 lanes read at the same moment, and what
counts is that those 32 are neighbours, in every step of the walk.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from gpulearn import cuda
from gpulearn.kernels.specification import Specification, blocks_along

__all__ = [
    "COLUMN_MAXIMA",
    "COLUMN_SUMS",
    "ROW_MAXIMA",
    "column_maxima",
    "column_sums",
    "row_maxima",
]

Array = np.ndarray[Any, Any]


@cuda.jit
def row_maxima(matrix: Array, out: Array) -> None:
    """The largest element of each row: `matrix` (rows, columns), `out` (rows,).

    Launch: at least as many threads in x as rows. In each step the lanes read one column,
    a row apart: 32 sectors per request of float32.

    >>> a, b = np.array([[1, 5], [4, 2]], np.float32), np.zeros(2, np.float32)
    >>> row_maxima[1, 32](cuda.to_device(a), d := cuda.to_device(b))
    >>> d.copy_to_host()
    array([5., 4.], dtype=float32)
    """
    row = cuda.grid(1)
    if row < out.size:
        best = matrix[row, 0]
        for column in range(1, matrix.shape[1]):
            best = max(best, matrix[row, column])
        out[row] = best


@cuda.jit
def column_maxima(matrix: Array, out: Array) -> None:
    """The largest element of each column: `matrix` (rows, columns), `out` (columns,).

    Launch: at least as many threads in x as columns. In each step the lanes read one row,
    side by side: 4 sectors per request of float32, where a row is a multiple of 32 bytes.

    >>> a, b = np.array([[1, 5], [4, 2]], np.float32), np.zeros(2, np.float32)
    >>> column_maxima[1, 32](cuda.to_device(a), d := cuda.to_device(b))
    >>> d.copy_to_host()
    array([4., 5.], dtype=float32)
    """
    column = cuda.grid(1)
    if column < out.size:
        best = matrix[0, column]
        for row in range(1, matrix.shape[0]):
            best = max(best, matrix[row, column])
        out[column] = best


@cuda.jit
def column_sums(matrix: Array, out: Array) -> None:
    """The sum of each column, in float32: `matrix` (rows, columns), `out` (columns,).

    Launch: at least as many threads in x as columns. The sum starts from a float32: `0.0`
    alone would be a float64, and with it every addition.

    >>> a, b = np.array([[1, 5], [4, 2]], np.float32), np.zeros(2, np.float32)
    >>> column_sums[1, 32](cuda.to_device(a), d := cuda.to_device(b))
    >>> d.copy_to_host()
    array([5., 7.], dtype=float32)
    """
    column = cuda.grid(1)
    total = np.float32(0)
    if column < out.size:
        for row in range(matrix.shape[0]):
            total += matrix[row, column]
        out[column] = total


def maxima_of_rows(matrix: Array, out: Array) -> tuple[Array]:
    """What `row_maxima` must leave in `out`."""
    return (matrix.max(axis=1),)


def maxima_of_columns(matrix: Array, out: Array) -> tuple[Array]:
    """What `column_maxima` must leave in `out`."""
    return (matrix.max(axis=0),)


def sums_of_columns(matrix: Array, out: Array) -> tuple[Array]:
    """What `column_sums` must leave in `out`, added in float64."""
    return (matrix.sum(axis=0, dtype=np.float64).astype(out.dtype),)


ROW_MAXIMA = Specification(
    row_maxima,
    maxima_of_rows,
    grid=lambda matrix, out, block: blocks_along(out.size, block),
    block=128,
    outputs=(1,),
)
COLUMN_MAXIMA = replace(ROW_MAXIMA, kernel=column_maxima, reference=maxima_of_columns)
COLUMN_SUMS = replace(ROW_MAXIMA, kernel=column_sums, reference=sums_of_columns)
