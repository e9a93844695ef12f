"""The first rungs of the ladder: C = A·B with one thread for each element of C.

All rungs take float32 matrices in C order, `a` (m, n), `b` (n, p) and `c` (m, p), are right
for every m, n, p above zero, and write all of `c`. They differ in who reads what from where.
The higher rungs are in `matmul_registers`, `matmul_pairs` and `matmul_warp_tiles`.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from gpulearn import cuda
from gpulearn.kernels.indexing import blocks_over
from gpulearn.kernels.specification import Array, Specification, blocks_along

# rows and columns of a tile: as wide as a warp, so that a warp loads one row of it
TILE = 32


@cuda.jit
def matmul_naive(a: Array, b: Array, c: Array) -> None:
    """C[i, j] = Σ_k A[i, k]·B[k, j], with x as the row: the mapping of many first tutorials.

    Launch: a 2-D grid and block of any shape; x covers the m rows of `c`, y its p columns.
    Cost: neighboring lanes read and write down a column. With 32 threads along x a warp
    moves 32 sectors for each request to `a` and to `c`, and 1 for each to `b`.

    >>> a, c = np.array([[1, 2], [3, 4]], np.float32), np.zeros((2, 2), np.float32)
    >>> matmul_naive[(1, 1), (2, 2)](a, a, c)
    >>> c
    array([[ 7., 10.],
           [15., 22.]], dtype=float32)
    """
    i, j = cuda.grid(2)
    if i < c.shape[0] and j < c.shape[1]:
        total = np.float32(0)
        for k in range(a.shape[1]):
            total += a[i, k] * b[k, j]
        c[i, j] = total


@cuda.jit
def matmul_coalesced(a: Array, b: Array, c: Array) -> None:
    """The same sums with x as the column, so that neighboring lanes read neighbors.

    Launch: a 2-D grid and block of any shape; x covers the p columns of `c`, y its m rows.
    Cost: with 32 threads along x, 1 sector for each request to `a` (all lanes read one
    element), 4 for each to `b` and to `c`. Each element of `a` is still fetched p times and
    each of `b` m times, once for each warp's request.
    """
    j, i = cuda.grid(2)
    if i < c.shape[0] and j < c.shape[1]:
        total = np.float32(0)
        for k in range(a.shape[1]):
            total += a[i, k] * b[k, j]
        c[i, j] = total


@cuda.jit
def matmul_tiled(a: Array, b: Array, c: Array) -> None:
    """The same sums over tiles of `a` and `b` that a block keeps in shared memory.

    Launch: blocks of (TILE, TILE) threads; x covers the columns of `c`, y its rows.
    Cost: each element that is fetched serves TILE threads, so global memory moves TILE / 8
    FLOP for each byte, but every product takes two loads from shared memory. Two barriers
    for each tile: one until it is there, one until nobody needs it any more.

    Beyond an edge a tile holds zeros, which add nothing to a sum. Guarding the loads, and not
    the barriers, lets every thread of the block arrive.
    """
    tile_a = cuda.shared.array((TILE, TILE), np.float32)
    tile_b = cuda.shared.array((TILE, TILE), np.float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    j, i = cuda.grid(2)
    zero = np.float32(0)  # a plain 0 would be an int64, and the whole choice a float64
    total = zero
    for k in range(0, a.shape[1], TILE):
        tile_a[y, x] = a[i, k + x] if i < a.shape[0] and k + x < a.shape[1] else zero
        tile_b[y, x] = b[k + y, j] if k + y < b.shape[0] and j < b.shape[1] else zero
        cuda.syncthreads()
        for q in range(TILE):
            total += tile_a[y, q] * tile_b[q, x]
        cuda.syncthreads()
    if i < c.shape[0] and j < c.shape[1]:
        c[i, j] = total


def tile_intensity(rows: int, columns: int, n: int) -> float:
    """Operations for each byte that a product of n × n float32 moves, tile by tile.

    Each block computes `rows` × `columns` elements of C; both divide n. It loads what they need of
    A and of B once, into shared memory, and stores each of them once. A multiplication and an
    addition are two operations.

    >>> round(tile_intensity(32, 32, 4096), 2), tile_intensity(64, 32, 64)
    (7.97, 8.0)
    """
    operations = 2 * rows * columns * n
    elements = rows * n + n * columns + rows * columns  # of A, of B, of C
    return operations / (4 * elements)


def product(a: Array, b: Array, c: Array) -> tuple[Array]:
    """What each rung must leave in `c`, as float32; matrices may come as words of two numbers."""
    a, b = a.view(np.float32), b.view(np.float32)
    exact = np.float64 if a.shape[0] < 256 else np.float32  # else it takes seconds
    return ((a.astype(exact) @ b.astype(exact)).astype(np.float32),)


def multiplies(kernel: Any, block: tuple[int, int], columns: int, rows: int) -> Specification:
    """The specification of a rung whose blocks compute `columns` × `rows` elements of `c`."""
    return Specification(kernel, product, blocks_over(2, (columns, rows)), block, outputs=(2,))


MATMUL_COALESCED = Specification(
    matmul_coalesced, product, grid=blocks_over(2), block=(32, 8), outputs=(2,)
)
MATMUL_NAIVE = replace(
    MATMUL_COALESCED, kernel=matmul_naive, grid=lambda a, b, c, block: blocks_along(c.shape, block)
)
MATMUL_TILED = multiplies(matmul_tiled, (TILE, TILE), TILE, TILE)
