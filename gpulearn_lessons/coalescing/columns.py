"""One number for each row, or for each column, of a matrix: a thread walks along it.

Which walk is fast is the opposite of what a CPU likes. There, one thread reads along a row
and uses each piece of memory to its end. Here, 32 lanes read at the same moment, and what
counts is that those 32 are neighbours, in every step of the walk.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gpulearn import cuda
from gpulearn.kernels.specification import Specification, blocks_along

__all__ = ["COLUMN_SUMS", "column_sums"]

Array = np.ndarray[Any, Any]


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


def sums_of_columns(matrix: Array, out: Array) -> tuple[Array]:
    """What `column_sums` must leave in `out`, added in float64."""
    return (matrix.sum(axis=0, dtype=np.float64).astype(out.dtype),)


COLUMN_SUMS = Specification(
    column_sums,
    sums_of_columns,
    grid=lambda matrix, out, block: blocks_along(out.size, block),
    block=128,
    outputs=(1,),
)
