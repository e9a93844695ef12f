"""Known answers to the exercise on the tiled matrix product, wrong ones first."""

from __future__ import annotations

import numpy as np

from gpulearn import cuda
from gpulearn.checker.answers import Answers
from gpulearn.exercise.matmul.products import FLOAT64, ONE_WRITE, Matrix
from gpulearn.kernels.matmul_ladder import TILE

__all__ = ["BANKS", "FETCH", "SHARE", "TWO", "answers"]

answers = Answers()
SHARE = "Let the threads of a block fetch each tile together, and read it from shared memory."
FETCH = (
    "Fetch a tile row by row: x is the last index of a and of b, and of the tile that is filled."
)
BANKS = (
    "In a warp x alone differs: where x is the last index of a tile, its lanes read one row of it."
)
TWO = "Two barriers for each tile are enough: one when it is filled, one when it has been used."


@answers.wrong(
    "the sums begin before the tiles are full: wait for all threads between filling and using."
)
def no_barrier_before(a: Matrix, b: Matrix, c: Matrix) -> None:
    tile_a = cuda.shared.array((TILE, TILE), np.float32)
    tile_b = cuda.shared.array((TILE, TILE), np.float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    j, i = cuda.grid(2)
    zero = np.float32(0)
    total = zero
    for k in range(0, a.shape[1], TILE):
        tile_a[y, x] = a[i, k + x] if i < a.shape[0] and k + x < a.shape[1] else zero
        tile_b[y, x] = b[k + y, j] if k + y < b.shape[0] and j < b.shape[1] else zero
        for q in range(TILE):
            total += tile_a[y, q] * tile_b[q, x]
        cuda.syncthreads()
    if i < c.shape[0] and j < c.shape[1]:
        c[i, j] = total


@answers.wrong(
    "the next tiles are filled while other warps still use the last: wait again after the sums."
)
def no_barrier_after(a: Matrix, b: Matrix, c: Matrix) -> None:
    tile_a = cuda.shared.array((TILE, TILE), np.float32)
    tile_b = cuda.shared.array((TILE, TILE), np.float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    j, i = cuda.grid(2)
    zero = np.float32(0)
    total = zero
    for k in range(0, a.shape[1], TILE):
        tile_a[y, x] = a[i, k + x] if i < a.shape[0] and k + x < a.shape[1] else zero
        tile_b[y, x] = b[k + y, j] if k + y < b.shape[0] and j < b.shape[1] else zero
        cuda.syncthreads()
        for q in range(TILE):
            total += tile_a[y, q] * tile_b[q, x]
    if i < c.shape[0] and j < c.shape[1]:
        c[i, j] = total


@answers.wrong(
    "threads outside C never reach the barriers: guard the loads and the write, not the barriers."
)
def barrier_under_a_condition(a: Matrix, b: Matrix, c: Matrix) -> None:
    tile_a = cuda.shared.array((TILE, TILE), np.float32)
    tile_b = cuda.shared.array((TILE, TILE), np.float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    j, i = cuda.grid(2)
    zero = np.float32(0)
    if i < c.shape[0] and j < c.shape[1]:
        total = zero
        for k in range(0, a.shape[1], TILE):
            tile_a[y, x] = a[i, k + x] if k + x < a.shape[1] else zero
            tile_b[y, x] = b[k + y, j] if k + y < b.shape[0] else zero
            cuda.syncthreads()
            for q in range(TILE):
                total += tile_a[y, q] * tile_b[q, x]
            cuda.syncthreads()
        c[i, j] = total


@answers.wrong("the loads are not guarded: where a tile hangs over an edge, fill it with zeros.")
def no_guard(a: Matrix, b: Matrix, c: Matrix) -> None:
    tile_a = cuda.shared.array((TILE, TILE), np.float32)
    tile_b = cuda.shared.array((TILE, TILE), np.float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    j, i = cuda.grid(2)
    total = np.float32(0)
    for k in range(0, a.shape[1], TILE):
        tile_a[y, x] = a[i, k + x]
        tile_b[y, x] = b[k + y, j]
        cuda.syncthreads()
        for q in range(TILE):
            total += tile_a[y, q] * tile_b[q, x]
        cuda.syncthreads()
    c[i, j] = total


@answers.wrong("the guard of the loads lets one element too many in: it needs < and not <=.")
def guard_off_by_one(a: Matrix, b: Matrix, c: Matrix) -> None:
    tile_a = cuda.shared.array((TILE, TILE), np.float32)
    tile_b = cuda.shared.array((TILE, TILE), np.float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    j, i = cuda.grid(2)
    zero = np.float32(0)
    total = zero
    for k in range(0, a.shape[1], TILE):
        tile_a[y, x] = a[i, k + x] if i <= a.shape[0] and k + x <= a.shape[1] else zero
        tile_b[y, x] = b[k + y, j] if k + y <= b.shape[0] and j <= b.shape[1] else zero
        cuda.syncthreads()
        for q in range(TILE):
            total += tile_a[y, q] * tile_b[q, x]
        cuda.syncthreads()
    if i < c.shape[0] and j < c.shape[1]:
        c[i, j] = total


@answers.wrong(
    "beyond the edges a tile keeps what stood in it before, and the sums take it: write zeros."
)
def no_zeros(a: Matrix, b: Matrix, c: Matrix) -> None:
    tile_a = cuda.shared.array((TILE, TILE), np.float32)
    tile_b = cuda.shared.array((TILE, TILE), np.float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    j, i = cuda.grid(2)
    total = np.float32(0)
    for k in range(0, a.shape[1], TILE):
        if i < a.shape[0] and k + x < a.shape[1]:
            tile_a[y, x] = a[i, k + x]
        if k + y < b.shape[0] and j < b.shape[1]:
            tile_b[y, x] = b[k + y, j]
        cuda.syncthreads()
        for q in range(TILE):
            total += tile_a[y, q] * tile_b[q, x]
        cuda.syncthreads()
    if i < c.shape[0] and j < c.shape[1]:
        c[i, j] = total


@answers.wrong("the last, incomplete tile along k is left out: round the number of tiles up.")
def whole_tiles_only(a: Matrix, b: Matrix, c: Matrix) -> None:
    tile_a = cuda.shared.array((TILE, TILE), np.float32)
    tile_b = cuda.shared.array((TILE, TILE), np.float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    j, i = cuda.grid(2)
    zero = np.float32(0)
    total = zero
    for step in range(a.shape[1] // TILE):
        k = step * TILE
        tile_a[y, x] = a[i, k + x] if i < a.shape[0] and k + x < a.shape[1] else zero
        tile_b[y, x] = b[k + y, j] if k + y < b.shape[0] and j < b.shape[1] else zero
        cuda.syncthreads()
        for q in range(TILE):
            total += tile_a[y, q] * tile_b[q, x]
        cuda.syncthreads()
    if i < c.shape[0] and j < c.shape[1]:
        c[i, j] = total


@answers.wrong("only the first tiles are used: the block has to walk along k, tile after tile.")
def first_tile_only(a: Matrix, b: Matrix, c: Matrix) -> None:
    tile_a = cuda.shared.array((TILE, TILE), np.float32)
    tile_b = cuda.shared.array((TILE, TILE), np.float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    j, i = cuda.grid(2)
    zero = np.float32(0)
    tile_a[y, x] = a[i, x] if i < a.shape[0] and x < a.shape[1] else zero
    tile_b[y, x] = b[y, j] if y < b.shape[0] and j < b.shape[1] else zero
    cuda.syncthreads()
    total = zero
    for q in range(TILE):
        total += tile_a[y, q] * tile_b[q, x]
    if i < c.shape[0] and j < c.shape[1]:
        c[i, j] = total


@answers.wrong("the tiles do not move along k: the loop loads the first ones again and again.")
def same_tile_again(a: Matrix, b: Matrix, c: Matrix) -> None:
    tile_a = cuda.shared.array((TILE, TILE), np.float32)
    tile_b = cuda.shared.array((TILE, TILE), np.float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    j, i = cuda.grid(2)
    zero = np.float32(0)
    total = zero
    for _ in range(0, a.shape[1], TILE):
        tile_a[y, x] = a[i, x] if i < a.shape[0] and x < a.shape[1] else zero
        tile_b[y, x] = b[y, j] if y < b.shape[0] and j < b.shape[1] else zero
        cuda.syncthreads()
        for q in range(TILE):
            total += tile_a[y, q] * tile_b[q, x]
        cuda.syncthreads()
    if i < c.shape[0] and j < c.shape[1]:
        c[i, j] = total


@answers.wrong("the block index is never used: every block computes the elements of block 0.")
def block_ignored(a: Matrix, b: Matrix, c: Matrix) -> None:
    tile_a = cuda.shared.array((TILE, TILE), np.float32)
    tile_b = cuda.shared.array((TILE, TILE), np.float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    zero = np.float32(0)
    total = zero
    for k in range(0, a.shape[1], TILE):
        tile_a[y, x] = a[y, k + x] if y < a.shape[0] and k + x < a.shape[1] else zero
        tile_b[y, x] = b[k + y, x] if k + y < b.shape[0] and x < b.shape[1] else zero
        cuda.syncthreads()
        for q in range(TILE):
            total += tile_a[y, q] * tile_b[q, x]
        cuda.syncthreads()
    if y < c.shape[0] and x < c.shape[1]:
        c[y, x] = total


@answers.wrong("the tile of B is read as if it were turned: the sum runs over tile_b's rows.")
def tile_turned(a: Matrix, b: Matrix, c: Matrix) -> None:
    tile_a = cuda.shared.array((TILE, TILE), np.float32)
    tile_b = cuda.shared.array((TILE, TILE), np.float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    j, i = cuda.grid(2)
    zero = np.float32(0)
    total = zero
    for k in range(0, a.shape[1], TILE):
        tile_a[y, x] = a[i, k + x] if i < a.shape[0] and k + x < a.shape[1] else zero
        tile_b[y, x] = b[k + y, j] if k + y < b.shape[0] and j < b.shape[1] else zero
        cuda.syncthreads()
        for q in range(TILE):
            total += tile_a[y, q] * tile_b[x, q]
        cuda.syncthreads()
    if i < c.shape[0] and j < c.shape[1]:
        c[i, j] = total


@answers.wrong("the tile of A does not move along k, only that of B does: it takes a[i, k + x].")
def a_stays(a: Matrix, b: Matrix, c: Matrix) -> None:
    tile_a = cuda.shared.array((TILE, TILE), np.float32)
    tile_b = cuda.shared.array((TILE, TILE), np.float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    j, i = cuda.grid(2)
    zero = np.float32(0)
    total = zero
    for k in range(0, a.shape[1], TILE):
        tile_a[y, x] = a[i, x] if i < a.shape[0] and k + x < a.shape[1] else zero
        tile_b[y, x] = b[k + y, j] if k + y < b.shape[0] and j < b.shape[1] else zero
        cuda.syncthreads()
        for q in range(TILE):
            total += tile_a[y, q] * tile_b[q, x]
        cuda.syncthreads()
    if i < c.shape[0] and j < c.shape[1]:
        c[i, j] = total


@answers.wrong("the tile of B does not move along k, only that of A does: it takes b[k + y, j].")
def b_stays(a: Matrix, b: Matrix, c: Matrix) -> None:
    tile_a = cuda.shared.array((TILE, TILE), np.float32)
    tile_b = cuda.shared.array((TILE, TILE), np.float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    j, i = cuda.grid(2)
    zero = np.float32(0)
    total = zero
    for k in range(0, a.shape[1], TILE):
        tile_a[y, x] = a[i, k + x] if i < a.shape[0] and k + x < a.shape[1] else zero
        tile_b[y, x] = b[y, j] if k + y < b.shape[0] and j < b.shape[1] else zero
        cuda.syncthreads()
        for q in range(TILE):
            total += tile_a[y, q] * tile_b[q, x]
        cuda.syncthreads()
    if i < c.shape[0] and j < c.shape[1]:
        c[i, j] = total


@answers.wrong(
    "the tile of A is read as if it were turned: the sum runs along a row of tile_a, tile_a[y, q]."
)
def tile_a_turned(a: Matrix, b: Matrix, c: Matrix) -> None:
    tile_a = cuda.shared.array((TILE, TILE), np.float32)
    tile_b = cuda.shared.array((TILE, TILE), np.float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    j, i = cuda.grid(2)
    zero = np.float32(0)
    total = zero
    for k in range(0, a.shape[1], TILE):
        tile_a[y, x] = a[i, k + x] if i < a.shape[0] and k + x < a.shape[1] else zero
        tile_b[y, x] = b[k + y, j] if k + y < b.shape[0] and j < b.shape[1] else zero
        cuda.syncthreads()
        for q in range(TILE):
            total += tile_a[x, q] * tile_b[q, x]
        cuda.syncthreads()
    if i < c.shape[0] and j < c.shape[1]:
        c[i, j] = total


@answers.wrong(
    "both tiles are read as if they were turned: row y of tile_a meets column x of tile_b, "
    "tile_a[y, q] * tile_b[q, x]."
)
def both_turned(a: Matrix, b: Matrix, c: Matrix) -> None:
    tile_a = cuda.shared.array((TILE, TILE), np.float32)
    tile_b = cuda.shared.array((TILE, TILE), np.float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    j, i = cuda.grid(2)
    zero = np.float32(0)
    total = zero
    for k in range(0, a.shape[1], TILE):
        tile_a[y, x] = a[i, k + x] if i < a.shape[0] and k + x < a.shape[1] else zero
        tile_b[y, x] = b[k + y, j] if k + y < b.shape[0] and j < b.shape[1] else zero
        cuda.syncthreads()
        for q in range(TILE):
            total += tile_a[q, x] * tile_b[y, q]
        cuda.syncthreads()
    if i < c.shape[0] and j < c.shape[1]:
        c[i, j] = total


@answers.wrong("the last product of each tile is missing: write range(TILE).")
def one_product_short(a: Matrix, b: Matrix, c: Matrix) -> None:
    tile_a = cuda.shared.array((TILE, TILE), np.float32)
    tile_b = cuda.shared.array((TILE, TILE), np.float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    j, i = cuda.grid(2)
    zero = np.float32(0)
    total = zero
    for k in range(0, a.shape[1], TILE):
        tile_a[y, x] = a[i, k + x] if i < a.shape[0] and k + x < a.shape[1] else zero
        tile_b[y, x] = b[k + y, j] if k + y < b.shape[0] and j < b.shape[1] else zero
        cuda.syncthreads()
        for q in range(TILE - 1):
            total += tile_a[y, q] * tile_b[q, x]
        cuda.syncthreads()
    if i < c.shape[0] and j < c.shape[1]:
        c[i, j] = total


@answers.wrong(
    "x and y have changed roles: x counts columns of C and y its rows, so that "
    "j, i = cuda.grid(2) and x, y are threadIdx.x and threadIdx.y."
)
def roles_changed(a: Matrix, b: Matrix, c: Matrix) -> None:
    tile_a = cuda.shared.array((TILE, TILE), np.float32)
    tile_b = cuda.shared.array((TILE, TILE), np.float32)
    y, x = cuda.threadIdx.x, cuda.threadIdx.y
    j, i = cuda.grid(2)
    zero = np.float32(0)
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


@answers.wrong(
    "it is right for square matrices only: the tiles go as far as A has columns, not as C has."
)
def columns_of_c(a: Matrix, b: Matrix, c: Matrix) -> None:
    tile_a = cuda.shared.array((TILE, TILE), np.float32)
    tile_b = cuda.shared.array((TILE, TILE), np.float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    j, i = cuda.grid(2)
    zero = np.float32(0)
    total = zero
    for k in range(0, c.shape[1], TILE):
        tile_a[y, x] = a[i, k + x] if i < a.shape[0] and k + x < a.shape[1] else zero
        tile_b[y, x] = b[k + y, j] if k + y < b.shape[0] and j < b.shape[1] else zero
        cuda.syncthreads()
        for q in range(TILE):
            total += tile_a[y, q] * tile_b[q, x]
        cuda.syncthreads()
    if i < c.shape[0] and j < c.shape[1]:
        c[i, j] = total


@answers.wrong("every element is 0: the sum is never added to.")
def constant(a: Matrix, b: Matrix, c: Matrix) -> None:
    j, i = cuda.grid(2)
    if i < c.shape[0] and j < c.shape[1]:
        c[i, j] = 0


@answers.wrong("nothing is ever written to c.")
def empty(a: Matrix, b: Matrix, c: Matrix) -> None:
    pass


@answers.wrong(SHARE)
def no_shared_memory(a: Matrix, b: Matrix, c: Matrix) -> None:
    j, i = cuda.grid(2)
    if i < c.shape[0] and j < c.shape[1]:
        total = np.float32(0)
        for k in range(a.shape[1]):
            total += a[i, k] * b[k, j]
        c[i, j] = total


@answers.wrong(ONE_WRITE)
def written_after_each_tile(a: Matrix, b: Matrix, c: Matrix) -> None:
    tile_a = cuda.shared.array((TILE, TILE), np.float32)
    tile_b = cuda.shared.array((TILE, TILE), np.float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    j, i = cuda.grid(2)
    zero = np.float32(0)
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


@answers.wrong(FETCH)
def fetched_by_columns(a: Matrix, b: Matrix, c: Matrix) -> None:
    tile_a = cuda.shared.array((TILE, TILE), np.float32)
    tile_b = cuda.shared.array((TILE, TILE), np.float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    j, i = cuda.grid(2)
    row, column = i - y + x, j - x + y
    zero = np.float32(0)
    total = zero
    for k in range(0, a.shape[1], TILE):
        tile_a[x, y] = a[row, k + y] if row < a.shape[0] and k + y < a.shape[1] else zero
        tile_b[x, y] = b[k + x, column] if k + x < b.shape[0] and column < b.shape[1] else zero
        cuda.syncthreads()
        for q in range(TILE):
            total += tile_a[y, q] * tile_b[q, x]
        cuda.syncthreads()
    if i < c.shape[0] and j < c.shape[1]:
        c[i, j] = total


@answers.wrong(BANKS)
def kept_turned(a: Matrix, b: Matrix, c: Matrix) -> None:
    tile_a = cuda.shared.array((TILE, TILE), np.float32)
    tile_b = cuda.shared.array((TILE, TILE), np.float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    j, i = cuda.grid(2)
    zero = np.float32(0)
    total = zero
    for k in range(0, a.shape[1], TILE):
        tile_a[x, y] = a[i, k + x] if i < a.shape[0] and k + x < a.shape[1] else zero
        tile_b[x, y] = b[k + y, j] if k + y < b.shape[0] and j < b.shape[1] else zero
        cuda.syncthreads()
        for q in range(TILE):
            total += tile_a[q, y] * tile_b[x, q]
        cuda.syncthreads()
    if i < c.shape[0] and j < c.shape[1]:
        c[i, j] = total


@answers.wrong(TWO)
def a_barrier_for_each_product(a: Matrix, b: Matrix, c: Matrix) -> None:
    tile_a = cuda.shared.array((TILE, TILE), np.float32)
    tile_b = cuda.shared.array((TILE, TILE), np.float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    j, i = cuda.grid(2)
    zero = np.float32(0)
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


@answers.wrong(FLOAT64)
def sums_in_float64(a: Matrix, b: Matrix, c: Matrix) -> None:
    tile_a = cuda.shared.array((TILE, TILE), np.float32)
    tile_b = cuda.shared.array((TILE, TILE), np.float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    j, i = cuda.grid(2)
    total = 0.0
    for k in range(0, a.shape[1], TILE):
        tile_a[y, x] = a[i, k + x] if i < a.shape[0] and k + x < a.shape[1] else 0
        tile_b[y, x] = b[k + y, j] if k + y < b.shape[0] and j < b.shape[1] else 0
        cuda.syncthreads()
        for q in range(TILE):
            total += tile_a[y, q] * tile_b[q, x]
        cuda.syncthreads()
    if i < c.shape[0] and j < c.shape[1]:
        c[i, j] = total


@answers.right
def zeros_first(a: Matrix, b: Matrix, c: Matrix) -> None:
    left = cuda.shared.array((TILE, TILE), np.float32)
    right = cuda.shared.array((TILE, TILE), np.float32)
    column = cuda.threadIdx.x
    row = cuda.threadIdx.y
    i = cuda.blockIdx.y * TILE + row
    j = cuda.blockIdx.x * TILE + column
    result = np.float32(0)
    for step in range((a.shape[1] + TILE - 1) // TILE):
        left[row, column] = 0
        right[row, column] = 0
        if i < a.shape[0] and step * TILE + column < a.shape[1]:
            left[row, column] = a[i, step * TILE + column]
        if step * TILE + row < b.shape[0] and j < b.shape[1]:
            right[row, column] = b[step * TILE + row, j]
        cuda.syncthreads()
        for q in range(TILE):
            result += left[row, q] * right[q, column]
        cuda.syncthreads()
    if i < c.shape[0] and j < c.shape[1]:
        c[i, j] = result


@answers.right
def sums_cut_short(a: Matrix, b: Matrix, c: Matrix) -> None:
    tile_a = cuda.shared.array((TILE, TILE), np.float32)
    tile_b = cuda.shared.array((TILE, TILE), np.float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    j, i = cuda.grid(2)
    total = np.float32(0)
    for k in range(0, a.shape[1], TILE):
        if i < a.shape[0] and k + x < a.shape[1]:
            tile_a[y, x] = a[i, k + x]
        if k + y < b.shape[0] and j < b.shape[1]:
            tile_b[y, x] = b[k + y, j]
        cuda.syncthreads()
        if i < c.shape[0] and j < c.shape[1]:
            for q in range(min(TILE, a.shape[1] - k)):
                total += tile_a[y, q] * tile_b[q, x]
        cuda.syncthreads()
    if i < c.shape[0] and j < c.shape[1]:
        c[i, j] = total


@answers.right
def two_pairs_of_tiles(a: Matrix, b: Matrix, c: Matrix) -> None:
    tiles_a = cuda.shared.array((2, TILE, TILE), np.float32)
    tiles_b = cuda.shared.array((2, TILE, TILE), np.float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    j, i = cuda.grid(2)
    zero = np.float32(0)
    total = zero
    now = 0
    for k in range(0, a.shape[1], TILE):
        tiles_a[now, y, x] = a[i, k + x] if i < a.shape[0] and k + x < a.shape[1] else zero
        tiles_b[now, y, x] = b[k + y, j] if k + y < b.shape[0] and j < b.shape[1] else zero
        cuda.syncthreads()
        for q in range(TILE):
            total += tiles_a[now, y, q] * tiles_b[now, q, x]
        now = 1 - now
    if i < c.shape[0] and j < c.shape[1]:
        c[i, j] = total
