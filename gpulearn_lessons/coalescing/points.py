"""Records in memory: array of structs against struct of arrays.

An array of structs keeps what belongs to one thing together: x, y, z of point 0, then of
point 1. A struct of arrays keeps what is of one kind together: all x, all y, all z. Lanes
that read the x of 32 points want the second.
"""

import math

import numpy as np

from gpulearn import cuda
from gpulearn.kernels.indexing import blocks_over
from gpulearn.kernels.specification import Array, Specification, blocks_along


@cuda.jit
def soa_norms(x: Array, y: Array, z: Array, out: Array) -> None:
    """The distance of each point from the origin, from three arrays of shape (n,).

    Launch: at least n threads in x. 4 sectors per request of float32.

    >>> x, y, z, out = np.array([[3, 1], [0, 2], [4, 2], [0, 0]], np.float32)
    >>> soa_norms[1, 32](x, y, z, out)
    >>> out
    array([5., 3.], dtype=float32)
    """
    i = cuda.grid(1)
    if i < out.size:
        out[i] = math.sqrt(x[i] * x[i] + y[i] * y[i] + z[i] * z[i])


def norms_of_rows(points: Array, out: Array) -> tuple[Array]:
    """What `aos_norms` must leave in `out`, computed in float64."""
    return (np.linalg.norm(points.astype(np.float64), axis=1).astype(out.dtype),)


def norms_of_parts(x: Array, y: Array, z: Array, out: Array) -> tuple[Array]:
    """What `soa_norms` must leave in `out`, computed in float64."""
    return norms_of_rows(np.stack([x, y, z], axis=1), out)


SOA_NORMS = Specification(soa_norms, norms_of_parts, grid=blocks_over(3), block=128, outputs=(3,))


@cuda.jit
def stretch_points(points: Array, factors: Array, out: Array) -> None:
    """Each coordinate of `points` (n, 3) times its axis's factor, `factors` (3,), to `out` (n, 3).

    Launch: any number of threads in x. They take the numbers of the array of structs as they lie
    in memory, whichever point these belong to: 4 sectors per request of float32, where a thread
    for each point would ask for 12, three times.

    >>> out, points = np.zeros((2, 3), np.float32), np.arange(6, dtype=np.float32).reshape(2, 3)
    >>> stretch_points[1, 32](points, np.array([1, 10, 100], np.float32), out)
    >>> out
    array([[  0.,  10., 200.],
           [  3.,  40., 500.]], dtype=float32)
    """
    for k in range(cuda.grid(1), points.size, cuda.gridsize(1)):
        i, axis = k // 3, k % 3
        part = points[i, axis]
        out[i, axis] = factors[axis] * part


STRETCH_POINTS = Specification(
    stretch_points,
    lambda points, factors, out: (points * factors,),
    grid=lambda points, factors, out, block: blocks_along(points.shape[0], block),
    block=128,
    outputs=(2,),
)
