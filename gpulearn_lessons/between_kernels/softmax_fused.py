"""Softmax of rows with the maximum and the sum found in one pass.

`online_softmax` reads the scores twice, where `softmax_rows` of notebook 07 reads them three times:
it keeps a sum for the largest score seen so far, and scales it when a larger one comes. Matrices
are float32 (m, n). Each row gets a warp: at least 32·m threads, in blocks of whole warps.
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


ONLINE_SOFTMAX = replace(SOFTMAX_ROWS, kernel=online_softmax)
