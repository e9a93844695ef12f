"""Kernels that a notebook writes out or speaks of, for the tests and a visit to a GPU.

Notebook 04 compares orders of memory with them; notebook 05 goes wrong with them on the way to
`transpose_tiled`, and each says how; `softmax_unsafe` is what 07 warns of.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from gpulearn import cuda
from gpulearn.kernels.copies import COPY_BY_ROWS
from gpulearn.kernels.reduction import FULL_WARP, WARP
from gpulearn.kernels.softmax import ARGMAX_ROWS
from gpulearn.kernels.specification import Specification, blocks_along
from gpulearn.kernels.transpose_tiled import PADDED, TILE, TRANSPOSE_TILED
from gpulearn_lessons.coalescing.points import norms_of_rows

__all__ = [
    "AOS_NORMS",
    "COLUMN_MAXIMA",
    "COPY_BY_COLUMNS",
    "COPY_GATHER",
    "CUT_OUT",
    "EVERY_EIGHTH",
    "GREY_INTERLEAVED",
    "GREY_PLANES",
    "REVERSE_HASTILY",
    "REVERSE_IN_WARP",
    "ROW_MAXIMA",
    "SOFTMAX_UNSAFE",
    "TRANSPOSE_BY_TILE",
    "TRANSPOSE_GUARDED",
    "TRANSPOSE_LEAVES",
    "TRANSPOSE_OVERFLOWS",
    "TRANSPOSE_WAITS_FIRST",
    "aos_norms",
    "column_maxima",
    "copy_by_columns",
    "copy_gather",
    "cut_out",
    "every_eighth",
    "grey_interleaved",
    "grey_planes",
    "reverse_hastily",
    "reverse_in_warp",
    "row_maxima",
    "softmax_unsafe",
    "transpose_by_tile",
    "transpose_guarded",
    "transpose_leaves",
    "transpose_overflows",
    "transpose_waits_first",
]

Array = np.ndarray[Any, Any]
Matrix = np.ndarray[tuple[int, int], Any]


@cuda.jit
def row_maxima(matrix: Array, out: Array) -> None:
    """The largest element of each row: `matrix` (rows, columns), `out` (rows,).

    Launch: at least as many threads in x as rows. In each step the lanes read one column,
    a row apart: 32 sectors per request of float32.

    >>> a, b = np.array([[1, 5], [4, 2]], np.float32), np.zeros(2, np.float32)
    >>> row_maxima[1, 32](cuda.to_device(a), d := cuda.to_device(b))
    >>> d.copy_to_host()
    array([5., 4.], dtype=float32)
    """
    row = cuda.grid(1)
    if row < out.size:
        best = matrix[row, 0]
        for column in range(1, matrix.shape[1]):
            best = max(best, matrix[row, column])
        out[row] = best


@cuda.jit
def column_maxima(matrix: Array, out: Array) -> None:
    """The largest element of each column: `matrix` (rows, columns), `out` (columns,).

    Launch: at least as many threads in x as columns. In each step the lanes read one row,
    side by side: 4 sectors per request of float32, where a row is a multiple of 32 bytes.

    >>> a, b = np.array([[1, 5], [4, 2]], np.float32), np.zeros(2, np.float32)
    >>> column_maxima[1, 32](cuda.to_device(a), d := cuda.to_device(b))
    >>> d.copy_to_host()
    array([4., 5.], dtype=float32)
    """
    column = cuda.grid(1)
    if column < out.size:
        best = matrix[0, column]
        for row in range(1, matrix.shape[0]):
            best = max(best, matrix[row, column])
        out[column] = best


@cuda.jit
def copy_gather(source: Array, index: Array, target: Array) -> None:
    """target[i] = source[index[i]], a thread per element of `target` and `index` (n,).

    Launch: at least n threads in x. The order in `index` decides what a request of float32
    costs: 4 sectors forwards, backwards, and in any order among the 32 elements of a warp;
    5 where the 32 elements begin within a sector; almost 32 at random.

    >>> a, b = np.arange(5, dtype=np.float32), np.zeros(3, np.float32)
    >>> order = cuda.to_device(np.array([4, 0, 2]))
    >>> copy_gather[1, 32](cuda.to_device(a), order, d := cuda.to_device(b))
    >>> d.copy_to_host()
    array([4., 0., 2.], dtype=float32)
    """
    i = cuda.grid(1)
    if i < target.size:
        target[i] = source[index[i]]


@cuda.jit
def copy_by_columns(image: Array, out: Array) -> None:
    """Copy a picture with x as the row: right, and the slow way round.

    `image` and `out` have shape (rows, columns). Launch: x covers the rows, y the columns.
    Neighbouring lanes differ in x, so they walk down a column, a whole row apart in memory:
    32 sectors per request with blocks of (32, y), 16 with (16, 16).

    >>> a, b = np.arange(6, dtype=np.float32).reshape(2, 3), np.zeros((2, 3), np.float32)
    >>> copy_by_columns[1, (32, 8)](cuda.to_device(a), d := cuda.to_device(b))
    >>> bool((d.copy_to_host() == a).all())
    True
    """
    i, j = cuda.grid(2)
    if i < out.shape[0] and j < out.shape[1]:
        out[i, j] = image[i, j]


@cuda.jit
def cut_out(image: Array, out: Array) -> None:
    """A part of a picture at full size: `out` (rows, columns), from row 176, column 208 on.

    Launch: x covers the columns of `out`, y the rows. Neighbouring lanes read neighbours: 4
    sectors per request of float32.

    >>> a, b = np.ones((178, 214), np.float32), np.zeros((2, 6), np.float32)
    >>> cut_out[1, (32, 8)](cuda.to_device(a), d := cuda.to_device(b))
    >>> bool((d.copy_to_host() == 1).all())
    True
    """
    column, row = cuda.grid(2)
    if row < out.shape[0] and column < out.shape[1]:
        out[row, column] = image[row + 176, column + 208]


@cuda.jit
def every_eighth(image: Array, out: Array) -> None:
    """A picture made small: every eighth pixel of every eighth row; `out` (rows, columns).

    Launch: x covers the columns of `out`, y the rows. Neighbouring lanes read 8 elements apart,
    each float32 from a sector of its own: 32 sectors per request.

    >>> a, b = np.ones((16, 24), np.float32), np.zeros((2, 3), np.float32)
    >>> every_eighth[1, (32, 8)](cuda.to_device(a), d := cuda.to_device(b))
    >>> bool((d.copy_to_host() == 1).all())
    True
    """
    column, row = cuda.grid(2)
    if row < out.shape[0] and column < out.shape[1]:
        out[row, column] = image[8 * row, 8 * column]


@cuda.jit
def grey_interleaved(colours: Array, out: Array) -> None:
    """The mean of red, green and blue: `colours` (rows, columns, 3), `out` (rows, columns).

    Array of structs: the three values of a pixel lie side by side. Launch: x covers the
    columns, y the rows. Each of the three loads reads every third value, so with float32 it
    moves 12 sectors per request: three times the traffic of `grey_planes`.

    >>> a, b = np.ones((2, 4, 3), np.float32), np.zeros((2, 4), np.float32)
    >>> grey_interleaved[1, (32, 8)](cuda.to_device(a), d := cuda.to_device(b))
    >>> d.copy_to_host()[1]
    array([1., 1., 1., 1.], dtype=float32)
    """
    column, row = cuda.grid(2)
    if row < out.shape[0] and column < out.shape[1]:
        red = colours[row, column, 0]
        green = colours[row, column, 1]
        blue = colours[row, column, 2]
        out[row, column] = (red + green + blue) / np.float32(3)


@cuda.jit
def grey_planes(colours: Array, out: Array) -> None:
    """The mean of red, green and blue: `colours` (3, rows, columns), `out` (rows, columns).

    Struct of arrays: first all red values, then all green, then all blue. Launch: x covers
    the columns, y the rows. 4 sectors per request of float32.

    >>> a, b = np.ones((3, 2, 4), np.float32), np.zeros((2, 4), np.float32)
    >>> grey_planes[1, (32, 8)](cuda.to_device(a), d := cuda.to_device(b))
    >>> d.copy_to_host()[1]
    array([1., 1., 1., 1.], dtype=float32)
    """
    column, row = cuda.grid(2)
    if row < out.shape[0] and column < out.shape[1]:
        red = colours[0, row, column]
        green = colours[1, row, column]
        blue = colours[2, row, column]
        out[row, column] = (red + green + blue) / np.float32(3)


@cuda.jit
def aos_norms(points: Array, out: Array) -> None:
    """The distance of each point from the origin, √(x² + y² + z²): `points` (n, 3), `out` (n,).

    Launch: at least n threads in x. 12 sectors for each of the three requests of float32.

    >>> a, b = np.array([[3, 0, 4], [1, 2, 2]], np.float32), np.zeros(2, np.float32)
    >>> aos_norms[1, 32](cuda.to_device(a), d := cuda.to_device(b))
    >>> d.copy_to_host()
    array([5., 3.], dtype=float32)
    """
    i = cuda.grid(1)
    if i < out.size:
        x = points[i, 0]
        y = points[i, 1]
        z = points[i, 2]
        out[i] = math.sqrt(x * x + y * y + z * z)


@cuda.jit
def reverse_hastily(a: Array) -> None:
    """Reverse 32 numbers in a warp with no barrier: a race, though lanes mostly run in step."""
    cells = cuda.shared.array(32, np.float32)
    t = cuda.threadIdx.x
    cells[t] = a[t]
    a[t] = cells[31 - t]


@cuda.jit
def reverse_in_warp(a: Array) -> None:
    """Reverse 32 numbers in a warp, with the barrier of a warp."""
    cells = cuda.shared.array(32, np.float32)
    t = cuda.threadIdx.x
    cells[t] = a[t]
    cuda.syncwarp()
    a[t] = cells[31 - t]


@cuda.jit
def transpose_by_tile(image: Matrix, out: Matrix) -> None:
    """Turn a tile in shared memory with no barrier: a race, for sizes that tiles fill.

    >>> from gpulearn import xray
    >>> image, out = (cuda.to_device(np.ones((TILE, TILE), np.float32)) for _ in range(2))
    >>> [f.kind for f in xray(transpose_by_tile)[1, (TILE, TILE)](image, out).findings]
    ['race']
    """
    tile = cuda.shared.array((TILE, TILE), np.float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x0, y0 = cuda.blockIdx.x * TILE, cuda.blockIdx.y * TILE
    tile[ty, tx] = image[y0 + ty, x0 + tx]
    out[x0 + ty, y0 + tx] = tile[tx, ty]


@cuda.jit
def transpose_waits_first(image: Matrix, out: Matrix) -> None:
    """As `transpose_by_tile`, with a barrier before the load, where it does not help."""
    tile = cuda.shared.array((TILE, TILE), np.float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x0, y0 = cuda.blockIdx.x * TILE, cuda.blockIdx.y * TILE
    cuda.syncthreads()
    tile[ty, tx] = image[y0 + ty, x0 + tx]
    out[x0 + ty, y0 + tx] = tile[tx, ty]


@cuda.jit
def transpose_guarded(image: Matrix, out: Matrix) -> None:
    """As `transpose_padded`, with a guard round the barrier too: not all threads reach it."""
    tile = cuda.shared.array((TILE, PADDED), np.float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x0, y0 = cuda.blockIdx.x * TILE, cuda.blockIdx.y * TILE
    if y0 + ty < image.shape[0] and x0 + tx < image.shape[1]:
        tile[ty, tx] = image[y0 + ty, x0 + tx]
        cuda.syncthreads()
        out[x0 + ty, y0 + tx] = tile[tx, ty]


@cuda.jit
def transpose_leaves(image: Matrix, out: Matrix) -> None:
    """As `transpose_guarded`, with the guard as an early return: who left should have stored."""
    tile = cuda.shared.array((TILE, PADDED), np.float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x0, y0 = cuda.blockIdx.x * TILE, cuda.blockIdx.y * TILE
    if y0 + ty >= image.shape[0] or x0 + tx >= image.shape[1]:
        return
    tile[ty, tx] = image[y0 + ty, x0 + tx]
    cuda.syncthreads()
    out[x0 + ty, y0 + tx] = tile[tx, ty]


@cuda.jit
def transpose_overflows(image: Matrix, out: Matrix) -> None:
    """Guard the load and not the store; `out` must have room for whole tiles.

    The store reads cells of the tile that nobody has loaded.
    """
    tile = cuda.shared.array((TILE, PADDED), np.float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x0, y0 = cuda.blockIdx.x * TILE, cuda.blockIdx.y * TILE
    if y0 + ty < image.shape[0] and x0 + tx < image.shape[1]:
        tile[ty, tx] = image[y0 + ty, x0 + tx]
    cuda.syncthreads()
    out[x0 + ty, y0 + tx] = tile[tx, ty]


def maxima_of_rows(matrix: Array, out: Array) -> tuple[Array]:
    """What `row_maxima` must leave in `out`."""
    return (matrix.max(axis=1),)


def maxima_of_columns(matrix: Array, out: Array) -> tuple[Array]:
    """What `column_maxima` must leave in `out`."""
    return (matrix.max(axis=0),)


@cuda.jit
def softmax_unsafe(scores: Matrix, out: Matrix) -> None:
    """The softmax of each row as its formula reads: exp overflows in float32 beyond 88.7.

    Args:
        scores: float32, shape (m, n).
        out: float32, shape (m, n).

    Launch: at least 32·m threads; blocks of whole warps.

    >>> out = np.zeros((1, 2), np.float32)
    >>> softmax_unsafe[1, 32](np.zeros((1, 2), np.float32), out)
    >>> out
    array([[0.5, 0.5]], dtype=float32)
    """
    row = cuda.grid(1) // WARP
    if row >= scores.shape[0]:
        return
    total = np.float32(0)
    for j in range(cuda.laneid, scores.shape[1], WARP):
        total += math.exp(scores[row, j])
    for step in (16, 8, 4, 2, 1):
        total += cuda.shfl_xor_sync(FULL_WARP, total, step)
    for j in range(cuda.laneid, scores.shape[1], WARP):
        out[row, j] = math.exp(scores[row, j]) / total


def gathered(source: Array, index: Array, target: Array) -> tuple[Array]:
    """What `copy_gather` must leave in `target`."""
    return (source[index],)


def means_of_pixels(colours: Array, out: Array) -> tuple[Array]:
    """What `grey_interleaved` must leave in `out`, computed in float64."""
    return (colours.mean(axis=2, dtype=np.float64).astype(out.dtype),)


def means_of_planes(colours: Array, out: Array) -> tuple[Array]:
    """What `grey_planes` must leave in `out`, computed in float64."""
    return (colours.mean(axis=0, dtype=np.float64).astype(out.dtype),)


def softmax_formula(scores: Matrix, out: Matrix) -> tuple[Matrix]:
    """What the formula gives in float32: beyond 88.7 an infinity, and NaN where two divide."""
    with np.errstate(over="ignore", invalid="ignore"):
        powers = np.exp(scores)
        return (powers / powers.sum(axis=1, keepdims=True),)


ROW_MAXIMA = Specification(
    row_maxima,
    maxima_of_rows,
    grid=lambda matrix, out, block: blocks_along(out.size, block),
    block=128,
    outputs=(1,),
)
COLUMN_MAXIMA = replace(ROW_MAXIMA, kernel=column_maxima, reference=maxima_of_columns)
COPY_GATHER = Specification(
    copy_gather,
    gathered,
    grid=lambda source, index, target, block: blocks_along(target.size, block),
    block=128,
    outputs=(2,),
)
COPY_BY_COLUMNS = replace(
    COPY_BY_ROWS,
    kernel=copy_by_columns,
    grid=lambda image, out, block: blocks_along(out.shape, block),
)
CUT_OUT = replace(
    COPY_BY_ROWS,
    kernel=cut_out,
    reference=lambda image, out: (image[176:, 208:][: out.shape[0], : out.shape[1]],),
)
EVERY_EIGHTH = replace(
    COPY_BY_ROWS,
    kernel=every_eighth,
    reference=lambda image, out: (image[::8, ::8][: out.shape[0], : out.shape[1]],),
)
GREY_INTERLEAVED = Specification(
    grey_interleaved,
    means_of_pixels,
    grid=lambda colours, out, block: blocks_along(out.shape[::-1], block),
    block=(32, 8),
    outputs=(1,),
)
GREY_PLANES = replace(GREY_INTERLEAVED, kernel=grey_planes, reference=means_of_planes)
AOS_NORMS = Specification(
    aos_norms,
    norms_of_rows,
    grid=lambda points, out, block: blocks_along(out.size, block),
    block=128,
    outputs=(1,),
)
TRANSPOSE_BY_TILE = replace(TRANSPOSE_TILED, kernel=transpose_by_tile)
TRANSPOSE_WAITS_FIRST = replace(TRANSPOSE_TILED, kernel=transpose_waits_first)
TRANSPOSE_GUARDED = replace(TRANSPOSE_TILED, kernel=transpose_guarded)
TRANSPOSE_LEAVES = replace(TRANSPOSE_TILED, kernel=transpose_leaves)
TRANSPOSE_OVERFLOWS = replace(TRANSPOSE_TILED, kernel=transpose_overflows)
SOFTMAX_UNSAFE = replace(ARGMAX_ROWS, kernel=softmax_unsafe, reference=softmax_formula)
REVERSE_IN_WARP = Specification(
    reverse_in_warp, lambda a: (a[::-1],), grid=lambda a, block: 1, block=32, updated=(0,)
)
REVERSE_HASTILY = replace(REVERSE_IN_WARP, kernel=reverse_hastily)
