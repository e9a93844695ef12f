"""Kernels on vectors: a thread for each element, and a thread for every so many."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpulearn import cuda
from gpulearn.kernels.specification import Specification, blocks_along

__all__ = ["SAXPY_GRID_STRIDE", "VECTOR_ADD", "added", "saxpy_grid_stride", "vector_add"]

Array = np.ndarray[Any, Any]
Vector = np.ndarray[tuple[int], Any]


@cuda.jit
def vector_add(a: Vector, b: Vector, out: Vector) -> None:
    """out[i] = a[i] + b[i], a thread for each element.

    Launch: one-dimensional, with at least n threads, `[blocks_for(n, 128), 128]`; threads
    beyond the end do nothing.

    Cost: 1 addition for each element, 2 elements read and 1 written.

    Args:
        a: vector of shape (n,).
        b: vector of shape (n,) and of a's dtype.
        out: vector of shape (n,), overwritten.

    >>> out = np.zeros(3)
    >>> vector_add[1, 32](np.array([1.0, 2.0, 3.0]), np.array([10.0, 20.0, 30.0]), out)
    >>> out
    array([11., 22., 33.])
    """
    i = cuda.grid(1)
    if i < out.size:
        out[i] = a[i] + b[i]


@cuda.jit
def saxpy_grid_stride(alpha: np.float32, x: Vector, y: Vector, out: Vector) -> None:
    """out[i] = alpha·x[i] + y[i], right for every one-dimensional launch.

    The name is that of the BLAS routine: single precision, a·x plus y. A thread does the
    elements that lie as far apart as the grid has threads, so that neighbouring threads do
    neighbouring elements in every round.

    Launch: one-dimensional, any number of threads.

    Cost: 2 operations for each element, 2 elements read and 1 written.

    Args:
        alpha: the factor; `np.float32(…)`, as a Python float would make it float64.
        x: vector of shape (n,), float32.
        y: vector of shape (n,), float32.
        out: vector of shape (n,), float32, overwritten.

    >>> x, y = np.arange(5, dtype=np.float32), np.ones(5, dtype=np.float32)
    >>> out = np.zeros_like(x)
    >>> saxpy_grid_stride[1, 2](np.float32(10), x, y, out)
    >>> out
    array([ 1., 11., 21., 31., 41.], dtype=float32)
    """
    for i in range(cuda.grid(1), out.size, cuda.gridsize(1)):
        out[i] = alpha * x[i] + y[i]


def added(a: Array, b: Array, out: Array) -> tuple[Array]:
    """What `vector_add` and `matrix_add_2d` must leave in `out`."""
    return (a + b,)


def scaled_and_added(alpha: np.float32, x: Vector, y: Vector, out: Vector) -> tuple[Vector]:
    """What `saxpy_grid_stride` must leave in `out`, computed in float64."""
    return ((alpha * x.astype(np.float64) + y).astype(x.dtype),)


VECTOR_ADD = Specification(
    vector_add,
    added,
    grid=lambda a, b, out, block: blocks_along(out.size, block),
    block=128,
    outputs=(2,),
)
SAXPY_GRID_STRIDE = Specification(
    saxpy_grid_stride,
    scaled_and_added,
    grid=lambda alpha, x, y, out, block: blocks_along(out.size, 4 * block),  # four rounds
    block=128,
    outputs=(3,),
)
