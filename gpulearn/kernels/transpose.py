"""The transpose: out[column, row] = image[row, column]; straight, and by a tile of shared memory.

The three kernels with a tile take `image` (rows, columns) and `out` (columns, rows), float32, and
are launched with blocks of (TILE, TILE) threads and a grid of (ceil(columns / TILE),
ceil(rows / TILE)).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gpulearn import cuda
from gpulearn.kernels.indexing import blocks_over
from gpulearn.kernels.specification import Array, Specification

TILE = 32  # rows and columns of a tile: a warp for each row
PADDED = TILE + 1  # floats in a row of the tile, one of them never used


@cuda.jit
def transpose_naive(image: Array, out: Array) -> None:
    """Transpose, a thread per element: `image` (rows, columns), `out` (columns, rows).

    Launch: x covers the columns of `image`, y its rows. With float32 and blocks of (32, y), 4
    sectors per request are read and 32 written.

    >>> out = np.zeros((3, 2))
    >>> transpose_naive[1, (32, 8)](np.arange(6.0).reshape(2, 3), out)
    >>> out
    array([[0., 3.],
           [1., 4.],
           [2., 5.]])
    """
    column, row = cuda.grid(2)
    if row < image.shape[0] and column < image.shape[1]:
        out[column, row] = image[row, column]


@cuda.jit
def transpose_to_rows(image: Array, out: Array) -> None:
    """Transpose, a thread per element: `image` (rows, columns), `out` (columns, rows).

    Launch: x covers the columns of `out`, y its rows. Here 32 sectors per request are read and 4
    written.
    """
    column, row = cuda.grid(2)
    if row < out.shape[0] and column < out.shape[1]:
        out[row, column] = image[column, row]


@cuda.jit
def transpose_whole(image: Array, out: Array) -> None:
    """Turn a tile in shared memory, with the barrier; right for sizes that tiles fill.

    4 sectors for each load and each store, 31 bank conflicts for each read of the tile.
    """
    tile = cuda.shared.array((TILE, TILE), np.float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x0, y0 = cuda.blockIdx.x * TILE, cuda.blockIdx.y * TILE
    tile[ty, tx] = image[y0 + ty, x0 + tx]
    cuda.syncthreads()
    out[x0 + ty, y0 + tx] = tile[tx, ty]


@cuda.jit
def transpose_padded(image: Array, out: Array) -> None:
    """As `transpose_whole`, with rows of the tile one float longer: no bank conflict."""
    tile = cuda.shared.array((TILE, PADDED), np.float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x0, y0 = cuda.blockIdx.x * TILE, cuda.blockIdx.y * TILE
    tile[ty, tx] = image[y0 + ty, x0 + tx]
    cuda.syncthreads()
    out[x0 + ty, y0 + tx] = tile[tx, ty]


@cuda.jit
def transpose_tiled(image: Array, out: Array) -> None:
    """Write the transpose of `image` to `out`; each block turns one tile in shared memory.

    A warp writes a row of the tile, and reads a column. Rows of the tile are one float longer than
    they need to be, so that the words of a column lie in 32 banks. Load and store have a guard
    each, made of the indices that they use; the barrier has none.
    Cost: 4 sectors for each load and each store, one barrier, no bank conflict.

    >>> out = np.zeros((3, 2), np.float32)
    >>> transpose_tiled[1, (TILE, TILE)](np.arange(6, dtype=np.float32).reshape(2, 3), out)
    >>> out.tolist()
    [[0.0, 3.0], [1.0, 4.0], [2.0, 5.0]]
    """
    tile = cuda.shared.array((TILE, PADDED), np.float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x0, y0 = cuda.blockIdx.x * TILE, cuda.blockIdx.y * TILE
    if y0 + ty < image.shape[0] and x0 + tx < image.shape[1]:
        tile[ty, tx] = image[y0 + ty, x0 + tx]
    cuda.syncthreads()
    if x0 + ty < out.shape[0] and y0 + tx < out.shape[1]:
        out[x0 + ty, y0 + tx] = tile[tx, ty]


def column_passes(side: int, width: int) -> int:
    """Passes over shared memory in which a warp reads `tile[tx, ty]` of a square tile.

    The block has `side` × `side` threads (8, 16 or 32), and `tile` as many float32; a row of the
    tile takes `width` words, at least `side`. Where a row of threads is shorter than a warp, the
    warp reads several columns.

    >>> column_passes(32, 32), column_passes(32, 33), column_passes(16, 16)
    (32, 1, 8)
    """
    words_of_bank: list[set[int]] = [set() for _ in range(32)]
    for lane in range(32):
        tx, ty = lane % side, lane // side
        word = tx * width + ty
        words_of_bank[word % 32].add(word)
    return max(len(words) for words in words_of_bank)


def transposed(image: Array, out: Array) -> tuple[Array]:
    """What every kernel that transposes must leave in `out`."""
    return (np.ascontiguousarray(image.T),)


TRANSPOSE_NAIVE = Specification(
    transpose_naive, transposed, grid=blocks_over(0), block=(32, 8), outputs=(1,)
)
TRANSPOSE_TO_ROWS = replace(TRANSPOSE_NAIVE, kernel=transpose_to_rows, grid=blocks_over(1))
TRANSPOSE_TILED = replace(
    TRANSPOSE_NAIVE, kernel=transpose_tiled, grid=blocks_over(0, (TILE, TILE)), block=(TILE, TILE)
)
TRANSPOSE_WHOLE = replace(TRANSPOSE_TILED, kernel=transpose_whole)
TRANSPOSE_PADDED = replace(TRANSPOSE_TILED, kernel=transpose_padded)
