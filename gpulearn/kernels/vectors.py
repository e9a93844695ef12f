"""Kernels on vectors: a thread for each element, and a thread for every so many."""

from __future__ import annotations

import numpy as np

from gpulearn import cuda
from gpulearn.kernels.indexing import blocks_over
from gpulearn.kernels.specification import Array, Specification, blocks_along


@cuda.jit
def vector_add(a: Array, b: Array, out: Array) -> None:
    """out[i] = a[i] + b[i], a thread for each element; vectors (n,) of one dtype.

    Launch: one-dimensional, with at least n threads, `[blocks_for(n, 128), 128]`; threads
    beyond the end do nothing.
    Cost: 1 addition for each element, 2 elements read and 1 written.

    >>> out = np.zeros(3)
    >>> vector_add[1, 32](np.array([1.0, 2.0, 3.0]), np.array([10.0, 20.0, 30.0]), out)
    >>> out
    array([11., 22., 33.])
    """
    i = cuda.grid(1)
    if i < out.size:
        out[i] = a[i] + b[i]


@cuda.jit
def saxpy_grid_stride(alpha: np.float32, x: Array, y: Array, out: Array) -> None:
    """out[i] = alpha·x[i] + y[i], right for every one-dimensional launch; float32 vectors (n,).

    The name is that of the BLAS routine: single precision, a·x plus y. A thread does the elements
    that lie as far apart as the grid has threads, so that neighboring threads do neighboring
    elements in every round. `alpha` is `np.float32(…)`, as a Python float would make it float64.

    Launch: one-dimensional, any number of threads.
    Cost: 2 operations for each element, 2 elements read and 1 written.

    >>> x, y, out = np.arange(5, dtype=np.float32), np.ones(5, np.float32), np.zeros(5, np.float32)
    >>> saxpy_grid_stride[1, 2](np.float32(10), x, y, out)
    >>> out
    array([ 1., 11., 21., 31., 41.], dtype=float32)
    """
    for i in range(cuda.grid(1), out.size, cuda.gridsize(1)):
        out[i] = alpha * x[i] + y[i]


def added(a: Array, b: Array, out: Array) -> tuple[Array]:
    """What `vector_add` and `matrix_add_2d` must leave in `out`."""
    return (a + b,)


VECTOR_ADD = Specification(vector_add, added, grid=blocks_over(2), block=128, outputs=(2,))
SAXPY_GRID_STRIDE = Specification(
    saxpy_grid_stride,
    lambda alpha, x, y, out: ((alpha * x.astype(np.float64) + y).astype(x.dtype),),
    grid=lambda alpha, x, y, out, block: blocks_along(out.size, 4 * block),  # four rounds
    block=128,
    outputs=(3,),
)
