"""The steps from `transpose_naive` to `transpose_tiled` that are right where tiles fill the matrix.

All take `image` (rows, columns) and `out` (columns, rows), float32, and are launched with blocks of
(TILE, TILE) threads and a grid of (ceil(columns / TILE), ceil(rows / TILE)).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gpulearn import cuda
from gpulearn.kernels.specification import Array
from gpulearn.kernels.transpose_tiled import PADDED, TILE, TRANSPOSE_TILED


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


TRANSPOSE_WHOLE = replace(TRANSPOSE_TILED, kernel=transpose_whole)
TRANSPOSE_PADDED = replace(TRANSPOSE_TILED, kernel=transpose_padded)
