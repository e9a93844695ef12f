"""Layer normalization of rows in one kernel.

yᵢ = (xᵢ − μ) / √(σ² + ε), with the mean μ and the variance σ² of the row of xᵢ. The factor and
the shift that a network learns for each column are left out. `x` and `out` are float32 (m, n).
Source: J. L. Ba, J. R. Kiros, G. E. Hinton, "Layer normalization", arXiv 1607.06450 (2016).
"""

import math
from dataclasses import replace

import numpy as np

from gpulearn import cuda
from gpulearn.kernels.reduction import FULL_WARP, WARP
from gpulearn.kernels.softmax import SOFTMAX_ROWS
from gpulearn.kernels.specification import Array

EPSILON = np.float32(1e-5)  # prevents a division by zero in a row of equal values
MOST_WARPS = 4  # in a block
MOST_COLUMNS = 256  # in a row


@cuda.jit
def fused_normalize(x: Array, out: Array) -> None:
    """The layer normalization of each row in one kernel, which reads x once.

    A warp handles a row of at most `MOST_COLUMNS` numbers and keeps it in shared memory. A lane
    reads there only what it has stored itself, so no barrier is needed. Launch: at least 32·m
    threads, in blocks of whole warps, at most `MOST_WARPS`.

    >>> out = np.zeros((1, 2), np.float32)
    >>> fused_normalize[1, 32](np.array([[1, 3]], np.float32), out)
    >>> out.round(3)
    array([[-1.,  1.]], dtype=float32)
    """
    near = cuda.shared.array((MOST_WARPS, MOST_COLUMNS), np.float32)
    row = cuda.grid(1) // WARP
    if row >= x.shape[0]:
        return
    w = cuda.threadIdx.x // WARP
    columns = np.float32(x.shape[1])
    total = np.float32(0)
    for j in range(cuda.laneid, x.shape[1], WARP):
        value = x[row, j]
        near[w, j] = value
        total += value
    for step in (16, 8, 4, 2, 1):
        total += cuda.shfl_xor_sync(FULL_WARP, total, step)
    mean = total / columns
    squares = np.float32(0)
    for j in range(cuda.laneid, x.shape[1], WARP):
        away = near[w, j] - mean
        squares += away * away
    for step in (16, 8, 4, 2, 1):
        squares += cuda.shfl_xor_sync(FULL_WARP, squares, step)
    spread = math.sqrt(squares / columns + EPSILON)
    for j in range(cuda.laneid, x.shape[1], WARP):
        out[row, j] = (near[w, j] - mean) / spread


def normalized(x: Array, out: Array) -> tuple[Array]:
    """The layer normalization of each row, in float64."""
    exact = x.astype(np.float64)
    mean, variance = exact.mean(axis=1, keepdims=True), exact.var(axis=1, keepdims=True)
    return (((exact - mean) / np.sqrt(variance + np.float64(EPSILON))).astype(out.dtype),)


FUSED_NORMALIZE = replace(SOFTMAX_ROWS, kernel=fused_normalize, reference=normalized)
