"""Layer normalisation of rows, in three kernels and in one.

yᵢ = (xᵢ − μ) / √(σ² + ε), with the mean μ and the variance σ² of the row that xᵢ stands in. The
factor and the shift that a network learns for each column are left out here. `x` and `out` are
float32 (m, n), `means` and `variances` are (m,). All four kernels give a warp to each row: at least
32·m threads, in blocks of whole warps.
Source: J. L. Ba, J. R. Kiros, G. E. Hinton, "Layer normalization", arXiv 1607.06450 (2016).
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from gpulearn import cuda, require
from gpulearn.kernels.reduction import FULL_WARP, WARP
from gpulearn.kernels.softmax import SOFTMAX_ROWS
from gpulearn.kernels.specification import Array
from simt.observers.traffic import SECTOR

EPSILON = np.float32(1e-5)  # keeps a row of equal values from a division by zero
MOST_WARPS = 4  # of a block, and so rows
MOST_COLUMNS = 256  # that a row of `fused_normalise` may have


@cuda.jit
def row_means(x: Array, means: Array) -> None:
    """The mean of each row."""
    row = cuda.grid(1) // WARP
    if row >= x.shape[0]:
        return
    total = np.float32(0)
    for j in range(cuda.laneid, x.shape[1], WARP):
        total += x[row, j]
    for step in (16, 8, 4, 2, 1):
        total += cuda.shfl_xor_sync(FULL_WARP, total, step)
    if cuda.laneid == 0:
        means[row] = total / np.float32(x.shape[1])


@cuda.jit
def row_variances(x: Array, means: Array, variances: Array) -> None:
    """The variance of each row: the mean of (x − mean)²."""
    row = cuda.grid(1) // WARP
    if row >= x.shape[0]:
        return
    mean = means[row]
    total = np.float32(0)
    for j in range(cuda.laneid, x.shape[1], WARP):
        away = x[row, j] - mean
        total += away * away
    for step in (16, 8, 4, 2, 1):
        total += cuda.shfl_xor_sync(FULL_WARP, total, step)
    if cuda.laneid == 0:
        variances[row] = total / np.float32(x.shape[1])


@cuda.jit
def normalise_rows(x: Array, means: Array, variances: Array, out: Array) -> None:
    """Out = (x − mean) / √(variance + ε), with the mean and the variance of each row."""
    row = cuda.grid(1) // WARP
    if row >= x.shape[0]:
        return
    mean = means[row]
    spread = math.sqrt(variances[row] + EPSILON)
    for j in range(cuda.laneid, x.shape[1], WARP):
        out[row, j] = (x[row, j] - mean) / spread


@cuda.jit
def fused_normalise(x: Array, out: Array) -> None:
    """The layer normalisation of each row in one kernel, which reads x once.

    The row, of at most `MOST_COLUMNS`, is kept in shared memory. A lane reads there only what it
    has stored itself, so no barrier is needed. Launch: blocks of at most `MOST_WARPS` warps.

    >>> out = np.zeros((1, 2), np.float32)
    >>> fused_normalise[1, 32](np.array([[1, 3]], np.float32), out)
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


@require.sizes("m", "n")
def normalise_bytes(m: int, n: int, *, fused: bool) -> int:
    """Bytes that the layer normalisation of m rows of n float32 numbers moves.

    Three kernels read x three times, write the result, and write and read a mean and a variance
    of each row, for which a whole sector moves each time: 16·m·n + 160·m. One kernel moves 8·m·n.
    Exact where n is a multiple of 8, the elements of a sector.

    >>> normalise_bytes(1000, 1000, fused=True)
    8000000
    """
    return 8 * m * n if fused else 16 * m * n + 5 * SECTOR * m


def means_of_rows(x: Array, means: Array) -> tuple[Array]:
    """The mean of each row, in float64."""
    return (x.mean(axis=1, dtype=np.float64).astype(means.dtype),)


def variances_of_rows(x: Array, means: Array, variances: Array) -> tuple[Array]:
    """The mean of (x − mean)² of each row, in float64."""
    away = x.astype(np.float64) - means[:, None]
    return ((away**2).mean(axis=1).astype(variances.dtype),)


def normalised_by(x: Array, means: Array, variances: Array, out: Array) -> tuple[Array]:
    """(x − mean) / √(variance + ε), in float64."""
    away = x.astype(np.float64) - means[:, None]
    return ((away / np.sqrt(variances[:, None] + np.float64(EPSILON))).astype(out.dtype),)


def normalised(x: Array, out: Array) -> tuple[Array]:
    """The layer normalisation of each row, in float64."""
    exact = x.astype(np.float64)
    return normalised_by(exact, exact.mean(axis=1), exact.var(axis=1), out)


ROW_MEANS = replace(SOFTMAX_ROWS, kernel=row_means, reference=means_of_rows)
ROW_VARIANCES = replace(
    SOFTMAX_ROWS, kernel=row_variances, reference=variances_of_rows, outputs=(2,)
)
NORMALISE_ROWS = replace(SOFTMAX_ROWS, kernel=normalise_rows, reference=normalised_by, outputs=(3,))
FUSED_NORMALISE = replace(SOFTMAX_ROWS, kernel=fused_normalise, reference=normalised)
