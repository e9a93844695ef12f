"""The sum of each column of a matrix: a thread walks down it.

On a CPU a walk along a row is the fast one, which uses each piece of memory to its end. Here 32
lanes read at the same moment, and what counts is that those 32 are neighbors in every step.
"""

import numpy as np

from gpulearn import cuda
from gpulearn.kernels.indexing import blocks_over
from gpulearn.kernels.specification import Array, Specification


@cuda.jit
def column_sums(matrix: Array, out: Array) -> None:
    """The sum of each column, in float32: `matrix` (rows, columns), `out` (columns,).

    Launch: at least as many threads in x as columns. The sum starts from a float32: `0.0`
    alone would be a float64, and with it every addition.

    >>> out = np.zeros(2, np.float32)
    >>> column_sums[1, 32](np.array([[1, 5], [4, 2]], np.float32), out)
    >>> out
    array([5., 7.], dtype=float32)
    """
    column = cuda.grid(1)
    total = np.float32(0)
    if column < out.size:
        for row in range(matrix.shape[0]):
            total += matrix[row, column]
        out[column] = total


COLUMN_SUMS = Specification(
    column_sums,
    lambda matrix, out: (matrix.sum(axis=0, dtype=np.float64).astype(out.dtype),),
    grid=blocks_over(1),
    block=128,
    outputs=(1,),
)
