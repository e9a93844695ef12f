"""The transpose: out[column, row] = image[row, column]."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gpulearn import cuda
from gpulearn.kernels.indexing import blocks_over
from gpulearn.kernels.specification import Array, Specification


@cuda.jit
def transpose_naive(image: Array, out: Array) -> None:
    """Transpose, a thread per element: `image` (rows, columns), `out` (columns, rows).

    Launch: x covers the columns of `image`, y its rows. Lanes that are neighbors along a row
    of `image` write down a column of `out`: with float32 and blocks of (32, y), 4 sectors per
    request are read and 32 written. One of the two is scattered as long as a number goes
    straight from the load to the store.

    >>> out = np.zeros((3, 2))
    >>> transpose_naive[1, (32, 8)](np.arange(6.0).reshape(2, 3), out)
    >>> out
    array([[0., 3.],
           [1., 4.],
           [2., 5.]])
    """
    column, row = cuda.grid(2)
    if row < image.shape[0] and column < image.shape[1]:
        out[column, row] = image[row, column]


@cuda.jit
def transpose_to_rows(image: Array, out: Array) -> None:
    """Transpose, a thread per element: `image` (rows, columns), `out` (columns, rows).

    Launch: x covers the columns of `out`, y its rows. Here the lanes write along a row of
    `out` and read down a column of `image`: 32 sectors per request are read and 4 written.
    """
    column, row = cuda.grid(2)
    if row < out.shape[0] and column < out.shape[1]:
        out[row, column] = image[column, row]


def transposed(image: Array, out: Array) -> tuple[Array]:
    """What every kernel that transposes must leave in `out`."""
    return (np.ascontiguousarray(image.T),)


TRANSPOSE_NAIVE = Specification(
    transpose_naive, transposed, grid=blocks_over(0), block=(32, 8), outputs=(1,)
)
TRANSPOSE_TO_ROWS = replace(TRANSPOSE_NAIVE, kernel=transpose_to_rows, grid=blocks_over(1))
