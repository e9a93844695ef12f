"""Rungs with more work per thread: each keeps several sums in its registers.

Same signature and promise as in `matmul_ladder`: float32 in C order, `a` (m, n), `b` (n, p),
`c` (m, p), any m, n, p above zero. A block computes ROWS × COLUMNS elements of C and walks
along k in steps of DEPTH.

The scheme of thread-level tiles on top of block-level tiles is the one that NVIDIA's CUTLASS
describes ("CUTLASS: Fast Linear Algebra in CUDA C++", NVIDIA developer blog, 2017).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gpulearn import cuda
from gpulearn.kernels.specification import Array
from gpulearn_lessons.matmul.matmul_ladder import multiplies

ROWS, COLUMNS, DEPTH = 64, 64, 8  # of the tile of C that a block computes, and along k
STRIP = 8  # sums of a thread of `matmul_register_strip`, one below the other
HIGH, WIDE = 8, 8  # sums of a thread of `matmul_register_tiled`, as rows × columns
DOWN, ALONG = ROWS // HIGH, COLUMNS // WIDE  # its block: rows and columns of threads


@cuda.jit
def matmul_register_strip(a: Array, b: Array, c: Array) -> None:
    """C = A·B with STRIP sums per thread, one below the other: the 1-D register tile.

    Launch: blocks of (COLUMNS, DEPTH) threads, here (64, 8); a grid of ceil(p / COLUMNS) by
    ceil(m / ROWS) blocks.
    Cost: an element of `b` that was fetched from shared memory serves STRIP sums, so a thread
    makes STRIP + 1 loads for STRIP products where `matmul_tiled` makes 2 for one.
    """
    tile_a = cuda.shared.array((ROWS, DEPTH), np.float32)
    tile_b = cuda.shared.array((DEPTH, COLUMNS), np.float32)
    total = cuda.local.array(STRIP, np.float32)
    zero = np.float32(0)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    top, left = cuda.blockIdx.y * ROWS, cuda.blockIdx.x * COLUMNS
    j = left + x
    # 512 threads, numbered through: each fetches one element of either tile
    row, column = (y * COLUMNS + x) // DEPTH, (y * COLUMNS + x) % DEPTH
    for r in range(STRIP):
        total[r] = zero
    for k in range(0, a.shape[1], DEPTH):
        inside = top + row < a.shape[0] and k + column < a.shape[1]
        tile_a[row, column] = a[top + row, k + column] if inside else zero
        tile_b[y, x] = b[k + y, j] if k + y < b.shape[0] and j < b.shape[1] else zero
        cuda.syncthreads()
        for q in range(DEPTH):
            factor = tile_b[q, x]
            for r in range(STRIP):
                total[r] += tile_a[y * STRIP + r, q] * factor
        cuda.syncthreads()
    for r in range(STRIP):
        i = top + y * STRIP + r
        if i < c.shape[0] and j < c.shape[1]:
            c[i, j] = total[r]


@cuda.jit
def matmul_register_tiled(a: Array, b: Array, c: Array) -> None:
    """C = A·B with HIGH × WIDE sums per thread: the 2-D register tile.

    Launch: blocks of (ALONG, DOWN) threads, here (8, 8); the grid of `matmul_register_strip`.
    Cost: HIGH + WIDE loads from shared memory for HIGH · WIDE products. A thread's sums
    stand ALONG columns and DOWN rows apart, like the teeth of a comb and not as a patch, so
    that neighboring lanes read neighboring words of the tile (no bank conflict) and write
    neighboring elements of `c` (whole sectors).
    """
    tile_a = cuda.shared.array((ROWS, DEPTH), np.float32)
    tile_b = cuda.shared.array((DEPTH, COLUMNS), np.float32)
    total = cuda.local.array((HIGH, WIDE), np.float32)
    left_side = cuda.local.array(HIGH, np.float32)
    zero = np.float32(0)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    top, left = cuda.blockIdx.y * ROWS, cuda.blockIdx.x * COLUMNS
    for r in range(HIGH):
        for s in range(WIDE):
            total[r, s] = zero
    for k in range(0, a.shape[1], DEPTH):
        for n in range(y * ALONG + x, ROWS * DEPTH, ALONG * DOWN):
            i, q = top + n // DEPTH, k + n % DEPTH
            tile_a[n // DEPTH, n % DEPTH] = a[i, q] if i < a.shape[0] and q < a.shape[1] else zero
        for n in range(y * ALONG + x, DEPTH * COLUMNS, ALONG * DOWN):
            q, j = k + n // COLUMNS, left + n % COLUMNS
            inside = q < b.shape[0] and j < b.shape[1]
            tile_b[n // COLUMNS, n % COLUMNS] = b[q, j] if inside else zero
        cuda.syncthreads()
        for q in range(DEPTH):
            for r in range(HIGH):
                left_side[r] = tile_a[y + r * DOWN, q]
            for s in range(WIDE):
                factor = tile_b[q, x + s * ALONG]
                for r in range(HIGH):
                    total[r, s] += left_side[r] * factor
        cuda.syncthreads()
    for r in range(HIGH):
        for s in range(WIDE):
            i, j = top + y + r * DOWN, left + x + s * ALONG
            if i < c.shape[0] and j < c.shape[1]:
                c[i, j] = total[r, s]


@cuda.jit
def matmul_register_patch(a: Array, b: Array, c: Array) -> None:
    """`matmul_register_tiled` with a patch of neighboring sums for each thread: not to be used.

    Right, and launched in the same way. Its lanes read words that lie 8 apart in a row of
    `tile_b` and 64 apart in `tile_a`, so that they meet in the same banks, and each writes to
    a sector of its own.
    """
    tile_a = cuda.shared.array((ROWS, DEPTH), np.float32)
    tile_b = cuda.shared.array((DEPTH, COLUMNS), np.float32)
    total = cuda.local.array((HIGH, WIDE), np.float32)
    left_side = cuda.local.array(HIGH, np.float32)
    zero = np.float32(0)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    top, left = cuda.blockIdx.y * ROWS, cuda.blockIdx.x * COLUMNS
    for r in range(HIGH):
        for s in range(WIDE):
            total[r, s] = zero
    for k in range(0, a.shape[1], DEPTH):
        for n in range(y * ALONG + x, ROWS * DEPTH, ALONG * DOWN):
            i, q = top + n // DEPTH, k + n % DEPTH
            tile_a[n // DEPTH, n % DEPTH] = a[i, q] if i < a.shape[0] and q < a.shape[1] else zero
        for n in range(y * ALONG + x, DEPTH * COLUMNS, ALONG * DOWN):
            q, j = k + n // COLUMNS, left + n % COLUMNS
            inside = q < b.shape[0] and j < b.shape[1]
            tile_b[n // COLUMNS, n % COLUMNS] = b[q, j] if inside else zero
        cuda.syncthreads()
        for q in range(DEPTH):
            for r in range(HIGH):
                left_side[r] = tile_a[y * HIGH + r, q]
            for s in range(WIDE):
                factor = tile_b[q, x * WIDE + s]
                for r in range(HIGH):
                    total[r, s] += left_side[r] * factor
        cuda.syncthreads()
    for r in range(HIGH):
        for s in range(WIDE):
            i, j = top + y * HIGH + r, left + x * WIDE + s
            if i < c.shape[0] and j < c.shape[1]:
                c[i, j] = total[r, s]


MATMUL_REGISTER_STRIP = multiplies(matmul_register_strip, (COLUMNS, DEPTH), COLUMNS, ROWS)
MATMUL_REGISTER_TILED = multiplies(matmul_register_tiled, (ALONG, DOWN), COLUMNS, ROWS)
MATMUL_REGISTER_PATCH = replace(MATMUL_REGISTER_TILED, kernel=matmul_register_patch)
