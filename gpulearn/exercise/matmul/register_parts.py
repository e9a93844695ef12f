"""The four steps of the register-tiled product, as the known answers to its exercise share them.

Device functions for blocks of (ALONG, DOWN) threads: a kernel calls `begin`, then `fetch` and
`add` for each tile along k, with a barrier behind either, and `write` at the end.
"""

from __future__ import annotations

import numpy as np

from gpulearn import cuda
from gpulearn.exercise.matmul.products import Matrix
from gpulearn.kernels.matmul_registers import ALONG, COLUMNS, DEPTH, DOWN, HIGH, ROWS, WIDE

__all__ = ["add", "begin", "fetch", "write"]


@cuda.jit(device=True)
def begin(total: Matrix) -> None:
    """Set a thread's sums to 0: `total` (HIGH, WIDE)."""
    for r in range(HIGH):
        for s in range(WIDE):
            total[r, s] = np.float32(0)


@cuda.jit(device=True)
def fetch(
    tile_a: Matrix, tile_b: Matrix, a: Matrix, b: Matrix, top: int, left: int, k: int
) -> None:
    """Fill both tiles from step k on, zeros beyond an edge; each thread brings every 64th element.

    Args:
        tile_a: shared memory (ROWS, DEPTH).
        tile_b: shared memory (DEPTH, COLUMNS).
        a: float32 (m, n).
        b: float32 (n, p).
        top: first row of C that the block computes.
        left: its first column.
        k: first column of `a`, and row of `b`, of the tiles.
    """
    zero = np.float32(0)
    thread = cuda.threadIdx.y * ALONG + cuda.threadIdx.x
    for n in range(thread, ROWS * DEPTH, ALONG * DOWN):
        i, q = top + n // DEPTH, k + n % DEPTH
        tile_a[n // DEPTH, n % DEPTH] = a[i, q] if i < a.shape[0] and q < a.shape[1] else zero
    for n in range(thread, DEPTH * COLUMNS, ALONG * DOWN):
        q, j = k + n // COLUMNS, left + n % COLUMNS
        inside = q < b.shape[0] and j < b.shape[1]
        tile_b[n // COLUMNS, n % COLUMNS] = b[q, j] if inside else zero


@cuda.jit(device=True)
def add(total: Matrix, tile_a: Matrix, tile_b: Matrix) -> None:
    """Add the products of one pair of tiles to a thread's sums, `total` (HIGH, WIDE)."""
    column = cuda.local.array(HIGH, np.float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    for q in range(DEPTH):
        for r in range(HIGH):
            column[r] = tile_a[y + r * DOWN, q]
        for s in range(WIDE):
            factor = tile_b[q, x + s * ALONG]
            for r in range(HIGH):
                total[r, s] += column[r] * factor


@cuda.jit(device=True)
def write(c: Matrix, total: Matrix, top: int, left: int) -> None:
    """Write a thread's sums to their places in `c` (m, p), as far as they lie in it."""
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    for r in range(HIGH):
        for s in range(WIDE):
            i, j = top + y + r * DOWN, left + x + s * ALONG
            if i < c.shape[0] and j < c.shape[1]:
                c[i, j] = total[r, s]
