"""Three kernels on each element, and one that fuses them: relu(scale·x + y).

A kernel that follows another reads from memory what that one wrote there. Fused into one, the
intermediate results stay in registers. Arrays are float32 (n,), and so is the factor: a Python
float would be a float64. Launch: one-dimensional, with at least n threads.
"""

from __future__ import annotations

import numpy as np

from gpulearn import cuda
from gpulearn.kernels.indexing import blocks_over
from gpulearn.kernels.specification import Array, Specification


@cuda.jit
def scale(factor: np.float32, x: Array, out: Array) -> None:
    """out[i] = factor·x[i]; 1 element read and 1 written."""
    i = cuda.grid(1)
    if i < out.size:
        out[i] = factor * x[i]


@cuda.jit
def relu(x: Array, out: Array) -> None:
    """out[i] = max(x[i], 0); 1 element read and 1 written."""
    i = cuda.grid(1)
    if i < out.size:
        out[i] = max(x[i], np.float32(0))


@cuda.jit
def scale_add_relu(factor: np.float32, x: Array, y: Array, out: Array) -> None:
    """out[i] = max(factor·x[i] + y[i], 0): `scale`, `vector_add` and `relu` in one kernel.

    2 elements read and 1 written, where the three kernels read 4 and write 3.

    >>> x, y, out = np.array([[1, 2], [3, -9], [0, 0]], np.float32)
    >>> scale_add_relu[1, 32](np.float32(2), x, y, out)
    >>> out
    array([5., 0.], dtype=float32)
    """
    i = cuda.grid(1)
    if i < out.size:
        out[i] = max(factor * x[i] + y[i], np.float32(0))


def scaled_added_rectified(factor: np.float32, x: Array, y: Array, out: Array) -> tuple[Array]:
    """max(factor·x + y, 0), in float64."""
    return (np.maximum(np.float64(factor) * x + y, 0).astype(out.dtype),)


SCALE = Specification(
    scale, lambda factor, x, out: (factor * x,), grid=blocks_over(2), block=128, outputs=(2,)
)
RELU = Specification(
    relu, lambda x, out: (np.maximum(x, 0),), grid=blocks_over(1), block=128, outputs=(1,)
)
SCALE_ADD_RELU = Specification(
    scale_add_relu, scaled_added_rectified, grid=blocks_over(3), block=128, outputs=(3,)
)
