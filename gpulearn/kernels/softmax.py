"""The softmax of each row: a reduction by the maximum, then one by the sum.

softmax(x)ᵢ = exp(xᵢ) / Σⱼ exp(xⱼ). It does not change when the same number is taken from every
x, so the row's maximum is taken first: then no exp exceeds 1, and nothing overflows.
Source: P. Blanchard, D. J. Higham, N. J. Higham, "Accurately computing the log-sum-exp and
softmax functions", IMA J. Numer. Anal. 41 (2021).
"""

from __future__ import annotations

import math

import numpy as np

from gpulearn import cuda
from gpulearn.kernels.reduction import FULL_WARP, WARP
from gpulearn.kernels.specification import Array, Specification, blocks_along


@cuda.jit
def softmax_rows(scores: Array, out: Array) -> None:
    """The softmax of each row, safe for any finite scores. One warp per row.

    `scores` and `out` are float32 (m, n). Launch: at least 32·m threads; blocks of whole warps.
    Two reductions, for the maximum and for the sum, in which every lane gets the result; each score
    is read three times.

    >>> out = np.zeros((1, 2), np.float32)
    >>> softmax_rows[1, 32](np.array([[1000, 1000]], np.float32), out)
    >>> out
    array([[0.5, 0.5]], dtype=float32)
    """
    row = cuda.grid(1) // WARP
    if row >= scores.shape[0]:
        return
    largest = np.float32(-math.inf)
    for j in range(cuda.laneid, scores.shape[1], WARP):
        largest = max(largest, scores[row, j])
    for step in (16, 8, 4, 2, 1):
        largest = max(largest, cuda.shfl_xor_sync(FULL_WARP, largest, step))
    total = np.float32(0)
    for j in range(cuda.laneid, scores.shape[1], WARP):
        total += math.exp(scores[row, j] - largest)
    for step in (16, 8, 4, 2, 1):
        total += cuda.shfl_xor_sync(FULL_WARP, total, step)
    for j in range(cuda.laneid, scores.shape[1], WARP):
        out[row, j] = math.exp(scores[row, j] - largest) / total


def softmax(scores: Array, out: Array) -> tuple[Array]:
    """The softmax of each row, in float64."""
    powers = np.exp(scores.astype(np.float64) - scores.max(axis=1, keepdims=True))
    return ((powers / powers.sum(axis=1, keepdims=True)).astype(out.dtype),)


SOFTMAX_ROWS = Specification(
    softmax_rows,
    softmax,
    grid=lambda scores, *others, block: blocks_along(WARP * len(scores), block),
    block=128,
    outputs=(1,),
)
