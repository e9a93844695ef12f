"""The steps from `transpose_naive` to `transpose_tiled`, as notebook 05 takes them.

Some are broken on purpose, and each says how. All take `image` (rows, columns) and `out`
(columns, rows), float32, and are launched with blocks of (TILE, TILE) threads and a grid of
(ceil(columns / TILE), ceil(rows / TILE)).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from gpulearn import cuda
from gpulearn.kernels.transpose_tiled import PADDED, TILE, TRANSPOSE_TILED

__all__ = [
    "TRANSPOSE_GUARDED",
    "TRANSPOSE_LEAVES",
    "TRANSPOSE_OVERFLOWS",
    "TRANSPOSE_PADDED",
    "TRANSPOSE_TORN",
    "TRANSPOSE_WAITS_EARLY",
    "TRANSPOSE_WHOLE",
    "transpose_guarded",
    "transpose_leaves",
    "transpose_overflows",
    "transpose_padded",
    "transpose_torn",
    "transpose_waits_early",
    "transpose_whole",
]

Matrix = np.ndarray[tuple[int, int], Any]


@cuda.jit
def transpose_torn(image: Matrix, out: Matrix) -> None:
    """Turn a tile in shared memory with no barrier: a race, for sizes that tiles fill.

    >>> from gpulearn import xray
    >>> image, out = (cuda.to_device(np.ones((TILE, TILE), np.float32)) for _ in range(2))
    >>> [f.kind for f in xray(transpose_torn)[1, (TILE, TILE)](image, out).findings]
    ['race']
    """
    tile = cuda.shared.array((TILE, TILE), np.float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x0, y0 = cuda.blockIdx.x * TILE, cuda.blockIdx.y * TILE
    tile[ty, tx] = image[y0 + ty, x0 + tx]
    out[x0 + ty, y0 + tx] = tile[tx, ty]


@cuda.jit
def transpose_waits_early(image: Matrix, out: Matrix) -> None:
    """As `transpose_torn`, with a barrier before the load, where it does not help."""
    tile = cuda.shared.array((TILE, TILE), np.float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x0, y0 = cuda.blockIdx.x * TILE, cuda.blockIdx.y * TILE
    cuda.syncthreads()
    tile[ty, tx] = image[y0 + ty, x0 + tx]
    out[x0 + ty, y0 + tx] = tile[tx, ty]


@cuda.jit
def transpose_whole(image: Matrix, out: Matrix) -> None:
    """Turn a tile in shared memory, with the barrier; right for sizes that tiles fill.

    4 sectors for each load and each store, 31 bank conflicts for each read of the tile.

    >>> image = np.arange(TILE * TILE, dtype=np.float32).reshape(TILE, TILE)
    >>> out = cuda.to_device(np.zeros_like(image))
    >>> transpose_whole[1, (TILE, TILE)](cuda.to_device(image), out)
    >>> bool((out.copy_to_host() == image.T).all())
    True
    """
    tile = cuda.shared.array((TILE, TILE), np.float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x0, y0 = cuda.blockIdx.x * TILE, cuda.blockIdx.y * TILE
    tile[ty, tx] = image[y0 + ty, x0 + tx]
    cuda.syncthreads()
    out[x0 + ty, y0 + tx] = tile[tx, ty]


@cuda.jit
def transpose_padded(image: Matrix, out: Matrix) -> None:
    """As `transpose_whole`, with rows of the tile one float longer: no bank conflict."""
    tile = cuda.shared.array((TILE, PADDED), np.float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x0, y0 = cuda.blockIdx.x * TILE, cuda.blockIdx.y * TILE
    tile[ty, tx] = image[y0 + ty, x0 + tx]
    cuda.syncthreads()
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
    """As `transpose_guarded`, with the guard as an early return: the same mistake."""
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


TRANSPOSE_TORN = replace(TRANSPOSE_TILED, kernel=transpose_torn)
TRANSPOSE_WAITS_EARLY = replace(TRANSPOSE_TILED, kernel=transpose_waits_early)
TRANSPOSE_WHOLE = replace(TRANSPOSE_TILED, kernel=transpose_whole)
TRANSPOSE_PADDED = replace(TRANSPOSE_TILED, kernel=transpose_padded)
TRANSPOSE_GUARDED = replace(TRANSPOSE_TILED, kernel=transpose_guarded)
TRANSPOSE_LEAVES = replace(TRANSPOSE_TILED, kernel=transpose_leaves)
TRANSPOSE_OVERFLOWS = replace(TRANSPOSE_TILED, kernel=transpose_overflows)
