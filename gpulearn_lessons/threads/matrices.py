"""Kernels on matrices, element by element."""

from __future__ import annotations

from gpulearn import cuda
from gpulearn.kernels.indexing import blocks_over
from gpulearn.kernels.specification import Array, Specification
from gpulearn.kernels.vectors import added


@cuda.jit
def matrix_add_2d(a: Array, b: Array, out: Array) -> None:
    """out[y, x] = a[y, x] + b[y, x], one thread per element; all three of shape (m, n).

    Launch: two-dimensional, x over columns and y over rows, with at least n × m threads, such
    as `[(blocks_for(n, 32), blocks_for(m, 8)), (32, 8)]`.
    Cost: 1 addition for each element, 2 elements read and 1 written.

    >>> import numpy as np
    >>> out = np.zeros((2, 3))
    >>> matrix_add_2d[(1, 1), (4, 4)](np.ones((2, 3)), np.arange(6.0).reshape(2, 3), out)
    >>> out
    array([[1., 2., 3.],
           [4., 5., 6.]])
    """
    x, y = cuda.grid(2)
    if x < out.shape[1] and y < out.shape[0]:
        out[y, x] = a[y, x] + b[y, x]


MATRIX_ADD_2D = Specification(
    matrix_add_2d, added, grid=blocks_over(2), block=(32, 8), outputs=(2,)
)
