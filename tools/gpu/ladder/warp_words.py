"""What `matmul_warp_tiles` loads and writes, with two neighbouring float32 as one word.

These functions take the places of those of the same names; `warp_tiling.warp_tiled` puts them
there. The matrices are int64 views, as in `matmul_pairs`, and so their rows have even lengths.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gpulearn import cuda
from gpulearn_lessons.matmul.matmul_pairs import first, joined, second
from gpulearn_lessons.matmul.matmul_warp_tiles import (
    A_LOADS,
    B_LOADS,
    COLUMNS,
    DEPTH,
    HIGH,
    LANES_ACROSS,
    LANES_DOWN,
    PATCH,
    ROWS,
    THREADS,
    WIDE,
)

__all__ = ["fetch", "fill", "put", "write"]

Words = np.ndarray[tuple[int, int], Any]


@cuda.jit(device=True)
def fill(a: Words, b: Words, k: Any, tile_a: Any, tile_b: Any, buffer: Any) -> None:
    """Write the tiles that begin at k, which is even, with zeros for what lies beyond an edge."""
    top, left = cuda.blockIdx.y * ROWS, cuda.blockIdx.x * (COLUMNS // 2)
    for n in range(cuda.threadIdx.x, ROWS * DEPTH // 2, THREADS):
        i, q = top + n // (DEPTH // 2), k // 2 + n % (DEPTH // 2)
        word = a[i, q] if i < a.shape[0] and 0 <= q < a.shape[1] else 0  # that of two zeros
        tile_a[buffer, n % (DEPTH // 2) * 2, n // (DEPTH // 2)] = first(word)
        tile_a[buffer, n % (DEPTH // 2) * 2 + 1, n // (DEPTH // 2)] = second(word)
    for n in range(cuda.threadIdx.x, DEPTH * COLUMNS // 2, THREADS):
        q, j = k + n // (COLUMNS // 2), left + n % (COLUMNS // 2)
        word = b[q, j] if 0 <= q < b.shape[0] and j < b.shape[1] else 0
        tile_b[buffer, n // (COLUMNS // 2), n % (COLUMNS // 2) * 2] = first(word)
        tile_b[buffer, n // (COLUMNS // 2), n % (COLUMNS // 2) * 2 + 1] = second(word)


@cuda.jit(device=True)
def fetch(a: Words, b: Words, k: Any, top: Any, left: Any, next_a: Any, next_b: Any) -> None:
    """Load the tiles that begin at k, which is even, into registers; they lie wholly inside."""
    t = np.uint32(cuda.threadIdx.x)
    for n in range(A_LOADS):  # eight lanes read two sectors, since DEPTH is a multiple of 16
        next_a[n] = a[top + t // 8 + n * (THREADS // 8), k // 2 + t % 8]
    for n in range(B_LOADS):
        down, across = n // (COLUMNS // 64), n % (COLUMNS // 64)
        next_b[n] = b[k + t // 32 + down * (THREADS // 32), left // 2 + t % 32 + across * 32]


@cuda.jit(device=True)
def put(next_a: Any, next_b: Any, tile_a: Any, tile_b: Any, buffer: Any) -> None:
    """Write to shared memory what `fetch` has loaded."""
    t = np.uint32(cuda.threadIdx.x)
    for n in range(A_LOADS):
        tile_a[buffer, t % 8 * 2, t // 8 + n * (THREADS // 8)] = first(next_a[n])
        tile_a[buffer, t % 8 * 2 + 1, t // 8 + n * (THREADS // 8)] = second(next_a[n])
    for n in range(B_LOADS):
        q = t // 32 + n // (COLUMNS // 64) * (THREADS // 32)
        j = t % 32 * 2 + n % (COLUMNS // 64) * 64
        tile_b[buffer, q, j] = first(next_b[n])
        tile_b[buffer, q, j + 1] = second(next_b[n])


@cuda.jit(device=True)
def write(c: Words, top: Any, left: Any, total: Any) -> None:
    """Write a thread's sums; its first patch begins at (top, left)."""
    for r in range(HIGH):
        for s in range(0, WIDE, 2):
            i = top + r % PATCH + r // PATCH * (PATCH * LANES_DOWN)
            j = (left + s % PATCH + s // PATCH * (PATCH * LANES_ACROSS)) // 2
            if i < c.shape[0] and j < c.shape[1]:
                c[i, j] = joined(total[r, s], total[r, s + 1])
