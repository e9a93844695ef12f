"""The transpose through a tile of shared memory, for matrices of any size.

It takes the arguments of `transpose_naive`; `transpose_steps` holds the steps between the two.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gpulearn import cuda
from gpulearn.kernels.indexing import blocks_over
from gpulearn.kernels.specification import Array
from gpulearn.kernels.transpose import TRANSPOSE_NAIVE

TILE = 32  # rows and columns of a tile: a warp for each row
PADDED = TILE + 1  # floats in a row of the tile, one of them never used


@cuda.jit
def transpose_tiled(image: Array, out: Array) -> None:
    """Write the transpose of `image` to `out`; each block turns one tile in shared memory.

    Rows of the image are read and rows of `out` are written, both by neighboring lanes. The
    turn takes place in between: a warp writes a row of the tile, and reads a column. Rows of
    the tile are one float longer than they need to be, so that each begins one bank further
    on and the words of a column lie in 32 banks.

    Load and store have a guard each, made of the indices that they use; the barrier has none.
    `image` is float32 (h, w), `out` is (w, h).

    Launch: blocks of (TILE, TILE) threads in a grid of (ceil(w / TILE), ceil(h / TILE)).
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


TRANSPOSE_TILED = replace(
    TRANSPOSE_NAIVE, kernel=transpose_tiled, grid=blocks_over(0, (TILE, TILE)), block=(TILE, TILE)
)
