"""Softmax of rows in three kernels, and with the maximum and the sum found in one pass.

The three kernels are `row_maxima`, `row_sums` and `row_shares`; each reads all scores again.
`online_softmax` reads them twice, where `softmax_rows` of notebook 07 reads them three times: it
keeps a sum for the largest score seen so far, and scales it when a larger one comes. Matrices are
float32 (m, n), `maxima` and `sums` are (m,). Each row gets a warp: at least 32·m threads, in blocks
of whole warps.
Source: M. Milakov, N. Gimelshein, "Online normalizer calculation for softmax", arXiv 1805.02867
(2018).
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from gpulearn import cuda
from gpulearn.kernels.reduction import FULL_WARP, WARP
from gpulearn.kernels.softmax import SOFTMAX_ROWS
from gpulearn.kernels.specification import Array

LOWEST = np.float32(np.finfo(np.float32).min)  # below every score, and LOWEST − LOWEST is 0


@cuda.jit
def row_maxima(scores: Array, maxima: Array) -> None:
    """The largest score of each row."""
    row = cuda.grid(1) // WARP
    if row >= scores.shape[0]:
        return
    largest = LOWEST
    for j in range(cuda.laneid, scores.shape[1], WARP):
        largest = max(largest, scores[row, j])
    for step in (16, 8, 4, 2, 1):
        largest = max(largest, cuda.shfl_xor_sync(FULL_WARP, largest, step))
    if cuda.laneid == 0:
        maxima[row] = largest


@cuda.jit
def row_sums(scores: Array, maxima: Array, powers: Array, sums: Array) -> None:
    """exp(score − maximum of its row), and the sum of each row."""
    row = cuda.grid(1) // WARP
    if row >= scores.shape[0]:
        return
    largest = maxima[row]
    total = np.float32(0)
    for j in range(cuda.laneid, scores.shape[1], WARP):
        power = math.exp(scores[row, j] - largest)
        powers[row, j] = power
        total += power
    for step in (16, 8, 4, 2, 1):
        total += cuda.shfl_xor_sync(FULL_WARP, total, step)
    if cuda.laneid == 0:
        sums[row] = total


@cuda.jit
def row_shares(powers: Array, sums: Array, out: Array) -> None:
    """out[i, j] = powers[i, j] / sums[i]."""
    row = cuda.grid(1) // WARP
    if row >= powers.shape[0]:
        return
    total = sums[row]
    for j in range(cuda.laneid, powers.shape[1], WARP):
        out[row, j] = powers[row, j] / total


@cuda.jit
def online_softmax(scores: Array, out: Array) -> None:
    """The softmax of each row, with its maximum and its sum from one pass.

    >>> out = np.zeros((1, 2), np.float32)
    >>> online_softmax[1, 32](np.array([[1000, 1000]], np.float32), out)
    >>> out
    array([[0.5, 0.5]], dtype=float32)
    """
    row = cuda.grid(1) // WARP
    if row >= scores.shape[0]:
        return
    largest, total = LOWEST, np.float32(0)
    for j in range(cuda.laneid, scores.shape[1], WARP):
        score = scores[row, j]
        higher = max(largest, score)
        total = total * math.exp(largest - higher) + math.exp(score - higher)
        largest = higher
    for step in (16, 8, 4, 2, 1):
        other = cuda.shfl_xor_sync(FULL_WARP, largest, step)
        others_total = cuda.shfl_xor_sync(FULL_WARP, total, step)
        higher = max(largest, other)
        total = total * math.exp(largest - higher) + others_total * math.exp(other - higher)
        largest = higher
    for j in range(cuda.laneid, scores.shape[1], WARP):
        out[row, j] = math.exp(scores[row, j] - largest) / total


def powers_and_sums(
    scores: Array, maxima: Array, powers: Array, sums: Array
) -> tuple[Array, Array]:
    """exp(score − its row's maximum) and the sums of the rows, in float64."""
    exact = np.exp(scores.astype(np.float64) - maxima[:, None])
    return exact.astype(powers.dtype), exact.sum(axis=1).astype(sums.dtype)


def divided(powers: Array, sums: Array, out: Array) -> tuple[Array]:
    """Each row over its sum."""
    return ((powers.astype(np.float64) / sums[:, None]).astype(out.dtype),)


ROW_MAXIMA = replace(
    SOFTMAX_ROWS, kernel=row_maxima, reference=lambda scores, maxima: (scores.max(axis=1),)
)
ROW_SUMS = replace(SOFTMAX_ROWS, kernel=row_sums, reference=powers_and_sums, outputs=(2, 3))
ROW_SHARES = replace(SOFTMAX_ROWS, kernel=row_shares, reference=divided, outputs=(2,))
ONLINE_SOFTMAX = replace(SOFTMAX_ROWS, kernel=online_softmax)
