"""Attention, softmax(Q·Kᵀ/√d)·V: with its n × n matrix in memory, and in tiles without it.

The straight way takes three kernels: `attention_scores`, `softmax_rows` (notebook 07) and
`attention_product`. `attention_tiled` goes over the keys tile by tile with the online softmax, and
never stores a score.
Sources: A. Vaswani and others, "Attention is all you need", arXiv 1706.03762 (2017); T. Dao and
others, "FlashAttention: fast and memory-efficient exact attention with IO-awareness", arXiv
2205.14135 (2022), whose idea the tiled form is, not its speed.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from gpulearn import cuda
from gpulearn.kernels.reduction import FULL_WARP, WARP
from gpulearn.kernels.softmax import softmax
from gpulearn.kernels.specification import Array, Specification, blocks_along

HEAD = 32  # numbers of a query, a key or a value: one for each lane of a warp
PER_ROOT = np.float32(1 / math.sqrt(HEAD))
PADDED = HEAD + 1  # so that lanes that walk down a column of keys meet no bank twice


@cuda.jit
def attention_scores(q: Array, k: Array, scores: Array) -> None:
    """scores[i, j] = q[i] · k[j] / √d: a warp for a query, a lane for a key of the block's tile.

    Queries `q` and keys `k` are float32 (n, d) with d = `HEAD`, `scores` is (n, n). Launch: blocks
    of (32, r) threads, r queries and 32 keys for each.

    >>> q = np.zeros((1, 32), np.float32)
    >>> q[0, :2] = 3, 4
    >>> scores = np.zeros((1, 1), np.float32)
    >>> attention_scores[(1, 1), (32, 1)](q, q, scores)
    >>> scores * math.sqrt(32)
    array([[25.]], dtype=float32)
    """
    keys = cuda.shared.array((WARP, PADDED), np.float32)
    lane, w = cuda.threadIdx.x, cuda.threadIdx.y
    query = cuda.blockIdx.y * cuda.blockDim.y + w
    first = cuda.blockIdx.x * WARP
    for j in range(w, min(WARP, k.shape[0] - first), cuda.blockDim.y):
        keys[j, lane] = k[first + j, lane]
    cuda.syncthreads()
    if query >= q.shape[0]:
        return
    mine = q[query, lane]
    score = np.float32(0)
    for d in range(HEAD):
        part = cuda.shfl_sync(FULL_WARP, mine, d)
        if first + lane < k.shape[0]:
            score += part * keys[lane, d]
    if first + lane < k.shape[0]:
        scores[query, first + lane] = score * PER_ROOT


@cuda.jit
def attention_product(shares: Array, v: Array, out: Array) -> None:
    """out[i] = Σⱼ shares[i, j]·v[j]: a warp for a query, a lane for each of its d numbers.

    `shares` is float32 (n, n), the values `v` and `out` are (n, d) with d = `HEAD`. Launch: blocks
    of (32, r) threads, r queries for each; the grid is one-dimensional.

    >>> out = np.zeros((1, 32), np.float32)
    >>> value = np.arange(32, dtype=np.float32).reshape(1, 32)
    >>> attention_product[1, (32, 1)](np.array([[2]], np.float32), value, out)
    >>> out[0, :3]
    array([0., 2., 4.], dtype=float32)
    """
    values = cuda.shared.array((WARP, HEAD), np.float32)
    lane, w = cuda.threadIdx.x, cuda.threadIdx.y
    query = cuda.blockIdx.x * cuda.blockDim.y + w
    total = np.float32(0)
    for first in range(0, v.shape[0], WARP):
        many = min(WARP, v.shape[0] - first)
        cuda.syncthreads()
        for j in range(w, many, cuda.blockDim.y):
            values[j, lane] = v[first + j, lane]
        cuda.syncthreads()
        share = np.float32(0)
        if query < shares.shape[0] and lane < many:
            share = shares[query, first + lane]
        for j in range(many):
            total += cuda.shfl_sync(FULL_WARP, share, j) * values[j, lane]
    if query < out.shape[0]:
        out[query, lane] = total


@cuda.jit
def attention_tiled(q: Array, k: Array, v: Array, out: Array) -> None:
    """softmax(q·kᵀ/√d)·v with no score in memory: a warp for a query, keys and values in tiles.

    Each warp keeps the largest score so far, the sum of the powers, and the d numbers of its
    result; when a larger score comes, sum and result are scaled down to it.

    All four are float32 (n, d) with d = `HEAD`. Launch: as `attention_product`.

    >>> out = np.zeros((1, 32), np.float32)
    >>> row = np.arange(32, dtype=np.float32).reshape(1, 32)
    >>> attention_tiled[1, (32, 1)](row, row, row, out)  # of one key the share is 1
    >>> out[0, :3]
    array([0., 1., 2.], dtype=float32)
    """
    keys = cuda.shared.array((WARP, PADDED), np.float32)
    values = cuda.shared.array((WARP, HEAD), np.float32)
    lane, w = cuda.threadIdx.x, cuda.threadIdx.y
    query = cuda.blockIdx.x * cuda.blockDim.y + w
    mine = q[query, lane] if query < q.shape[0] else np.float32(0)
    largest, total, result = np.float32(-math.inf), np.float32(0), np.float32(0)
    for first in range(0, k.shape[0], WARP):
        many = min(WARP, k.shape[0] - first)
        cuda.syncthreads()  # all warps are done with the last tile
        for j in range(w, many, cuda.blockDim.y):
            keys[j, lane] = k[first + j, lane]
            values[j, lane] = v[first + j, lane]
        cuda.syncthreads()
        score = np.float32(0)  # of this lane's key
        for d in range(HEAD):
            part = cuda.shfl_sync(FULL_WARP, mine, d)
            if lane < many:
                score += part * keys[lane, d]
        score = score * PER_ROOT if lane < many else np.float32(-math.inf)
        higher = max(largest, score)
        for step in (16, 8, 4, 2, 1):
            higher = max(higher, cuda.shfl_xor_sync(FULL_WARP, higher, step))
        smaller = math.exp(largest - higher)
        power = math.exp(score - higher)
        largest, total, result = higher, total * smaller + power, result * smaller
        for j in range(many):
            result += cuda.shfl_sync(FULL_WARP, power, j) * values[j, lane]
    for step in (16, 8, 4, 2, 1):  # each lane has summed its own keys
        total += cuda.shfl_xor_sync(FULL_WARP, total, step)
    if query < q.shape[0]:
        out[query, lane] = result / total


def scored(q: Array, k: Array, scores: Array) -> tuple[Array]:
    """q·kᵀ/√d, in float64."""
    exact = q.astype(np.float64) @ k.astype(np.float64).T
    return ((exact / math.sqrt(q.shape[1])).astype(scores.dtype),)


def weighted(shares: Array, v: Array, out: Array) -> tuple[Array]:
    """shares·v, in float64."""
    return ((shares.astype(np.float64) @ v.astype(np.float64)).astype(out.dtype),)


def attended(q: Array, k: Array, v: Array, out: Array) -> tuple[Array]:
    """softmax(q·kᵀ/√d)·v, in float64."""
    room = np.empty((len(q), len(k)))
    (shares,) = softmax(scored(q, k, room)[0], room)
    return weighted(shares, v, out)


ATTENTION_SCORES = Specification(
    attention_scores,
    scored,
    grid=lambda q, k, scores, block: blocks_along((len(k), len(q)), (WARP, block[1])),
    block=(32, 32),
    outputs=(2,),
)
ATTENTION_PRODUCT = replace(
    ATTENTION_SCORES,
    kernel=attention_product,
    reference=weighted,
    grid=lambda shares, *others, block: blocks_along(len(shares), block[1]),
)
ATTENTION_TILED = replace(
    ATTENTION_PRODUCT, kernel=attention_tiled, reference=attended, outputs=(3,)
)
