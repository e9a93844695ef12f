"""Two kernels on each element: a product by a number, and relu.

Arrays are float32 (n,), and so is the factor: a Python float would be a float64. Launch:
one-dimensional, with at least n threads.
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


SCALE = Specification(
    scale, lambda factor, x, out: (factor * x,), grid=blocks_over(2), block=128, outputs=(2,)
)
RELU = Specification(
    relu, lambda x, out: (np.maximum(x, 0),), grid=blocks_over(1), block=128, outputs=(1,)
)
