"""Reductions with another operator than the sum: the place of the largest value, and softmax.

softmax(x)ᵢ = exp(xᵢ) / Σⱼ exp(xⱼ). It does not change when the same number is taken from every
x, so the row's maximum is taken first: then no exp exceeds 1, and nothing overflows.
Source: P. Blanchard, D. J. Higham, N. J. Higham, "Accurately computing the log-sum-exp and
softmax functions", IMA J. Numer. Anal. 41 (2021).
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from gpulearn import cuda
from gpulearn.kernels.reduction import FULL_WARP, WARP
from gpulearn.kernels.specification import Array, Specification, blocks_along


@cuda.jit
def argmax_rows(scores: Array, places: Array) -> None:
    """The column of the largest value of each row; of equals, the first. One warp for a row.

    `scores` is float32 (m, n), n ≥ 1; `places` is int32 (m,). Launch: at least 32·m threads; blocks
    of whole warps. The lanes reduce pairs (value, column): a pair is larger if its value is, or its
    value is equal and its column smaller.

    >>> places = np.zeros(2, np.int32)
    >>> argmax_rows[1, 64](np.array([[3, 9, 9], [5, 1, 2]], np.float32), places)
    >>> places
    array([1, 0], dtype=int32)
    """
    row = cuda.grid(1) // WARP
    if row >= scores.shape[0]:
        return  # a row is a whole warp, so nobody waits for those who leave
    best = np.float32(-math.inf)
    where = scores.shape[1]
    for j in range(cuda.laneid, scores.shape[1], WARP):
        if scores[row, j] > best or where == scores.shape[1]:
            best = scores[row, j]
            where = j
    for step in (16, 8, 4, 2, 1):
        other = cuda.shfl_xor_sync(FULL_WARP, best, step)
        there = cuda.shfl_xor_sync(FULL_WARP, where, step)
        if other > best or (other == best and there < where):
            best = other
            where = there
    if cuda.laneid == 0:
        places[row] = where


@cuda.jit
def softmax_rows(scores: Array, out: Array) -> None:
    """The softmax of each row, safe for any finite scores. One warp for a row.

    `scores` and `out` are float32 (m, n). Launch: as `argmax_rows`. Two reductions, for the maximum
    and for the sum, in which every lane gets the result; each score is read three times.

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


ARGMAX_ROWS = Specification(
    argmax_rows,
    lambda scores, places: (scores.argmax(axis=1).astype(places.dtype),),
    grid=lambda scores, *others, block: blocks_along(WARP * len(scores), block),
    block=128,
    outputs=(1,),
)
SOFTMAX_ROWS = replace(ARGMAX_ROWS, kernel=softmax_rows, reference=softmax)
