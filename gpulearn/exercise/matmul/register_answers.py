"""Known answers to the exercise on the register-tiled matrix product, wrong ones first.

What an answer does as the solution does it is a call of `register_parts`; what it does in its
own way stands in its own lines.
"""

from __future__ import annotations

import numpy as np

from gpulearn import cuda
from gpulearn.checker.answers import Answers
from gpulearn.exercise.matmul.products import ONE_WRITE, Matrix
from gpulearn.exercise.matmul.register_parts import add, begin, fetch, write
from gpulearn.kernels.matmul_registers import ALONG, COLUMNS, DEPTH, DOWN, HIGH, ROWS, WIDE

__all__ = ["COMB", "KEEP", "SINGLE", "TEETH", "TWO", "answers"]

answers = Answers()
SUMS = HIGH * WIDE
COMB = (
    "Let lanes next to each other write next to each other: column x + s · ALONG of the tile, row "
    "y + r · DOWN."
)
SHARE = "Let the threads of a block fetch each tile together, and read it from shared memory."
TEETH = (
    "The lanes of a warp differ in x and, every 8 lanes, in y: what they touch in one step must "
    "lie in different banks, and words that lie a multiple of 32 apart share one. Rows "
    "y + r · DOWN of tile_a are spread well, rows y · HIGH + r are not."
)
KEEP = (
    "Load each element of a tile once for each step along k, into a variable or a local array, "
    "and use it for a whole row or column of sums."
)
TWO = "Two barriers for each tile are enough: one when it is filled, one when it has been used."
SINGLE = "Keep sums and factors in float32: in local arrays of np.float32."


@answers.wrong("the sums begin before the tiles are full: wait for all threads after filling them.")
def no_barrier_before(a: Matrix, b: Matrix, c: Matrix) -> None:
    tile_a = cuda.shared.array((ROWS, DEPTH), np.float32)
    tile_b = cuda.shared.array((DEPTH, COLUMNS), np.float32)
    total = cuda.local.array((HIGH, WIDE), np.float32)
    top, left = cuda.blockIdx.y * ROWS, cuda.blockIdx.x * COLUMNS
    begin(total)
    for k in range(0, a.shape[1], DEPTH):
        fetch(tile_a, tile_b, a, b, top, left, k)
        add(total, tile_a, tile_b)
        cuda.syncthreads()
    write(c, total, top, left)


@answers.wrong(
    "the next tiles are filled while other warps still use the last: wait again after the sums."
)
def no_barrier_after(a: Matrix, b: Matrix, c: Matrix) -> None:
    tile_a = cuda.shared.array((ROWS, DEPTH), np.float32)
    tile_b = cuda.shared.array((DEPTH, COLUMNS), np.float32)
    total = cuda.local.array((HIGH, WIDE), np.float32)
    top, left = cuda.blockIdx.y * ROWS, cuda.blockIdx.x * COLUMNS
    begin(total)
    for k in range(0, a.shape[1], DEPTH):
        fetch(tile_a, tile_b, a, b, top, left, k)
        cuda.syncthreads()
        add(total, tile_a, tile_b)
    write(c, total, top, left)


@answers.wrong(
    "threads whose sums lie outside C left before the barrier: all must arrive, and then not write."
)
def left_early(a: Matrix, b: Matrix, c: Matrix) -> None:
    tile_a = cuda.shared.array((ROWS, DEPTH), np.float32)
    tile_b = cuda.shared.array((DEPTH, COLUMNS), np.float32)
    total = cuda.local.array((HIGH, WIDE), np.float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    top, left = cuda.blockIdx.y * ROWS, cuda.blockIdx.x * COLUMNS
    if top + y >= c.shape[0] or left + x >= c.shape[1]:
        return
    begin(total)
    for k in range(0, a.shape[1], DEPTH):
        fetch(tile_a, tile_b, a, b, top, left, k)
        cuda.syncthreads()
        add(total, tile_a, tile_b)
        cuda.syncthreads()
    write(c, total, top, left)


@answers.wrong("the sums never begin: set all HIGH × WIDE of them to 0 before the first tile.")
def no_zeros(a: Matrix, b: Matrix, c: Matrix) -> None:
    tile_a = cuda.shared.array((ROWS, DEPTH), np.float32)
    tile_b = cuda.shared.array((DEPTH, COLUMNS), np.float32)
    total = cuda.local.array((HIGH, WIDE), np.float32)
    top, left = cuda.blockIdx.y * ROWS, cuda.blockIdx.x * COLUMNS
    for k in range(0, a.shape[1], DEPTH):
        fetch(tile_a, tile_b, a, b, top, left, k)
        cuda.syncthreads()
        add(total, tile_a, tile_b)
        cuda.syncthreads()
    write(c, total, top, left)


@answers.wrong("the sums begin anew with each tile: set them to 0 once, before the loop over k.")
def zeros_in_the_loop(a: Matrix, b: Matrix, c: Matrix) -> None:
    tile_a = cuda.shared.array((ROWS, DEPTH), np.float32)
    tile_b = cuda.shared.array((DEPTH, COLUMNS), np.float32)
    total = cuda.local.array((HIGH, WIDE), np.float32)
    top, left = cuda.blockIdx.y * ROWS, cuda.blockIdx.x * COLUMNS
    for k in range(0, a.shape[1], DEPTH):
        fetch(tile_a, tile_b, a, b, top, left, k)
        cuda.syncthreads()
        begin(total)
        add(total, tile_a, tile_b)
        cuda.syncthreads()
    write(c, total, top, left)


@answers.wrong(
    "the guard of the write lets one row and one column too many in: it needs < and not <=."
)
def guard_off_by_one(a: Matrix, b: Matrix, c: Matrix) -> None:
    tile_a = cuda.shared.array((ROWS, DEPTH), np.float32)
    tile_b = cuda.shared.array((DEPTH, COLUMNS), np.float32)
    total = cuda.local.array((HIGH, WIDE), np.float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    top, left = cuda.blockIdx.y * ROWS, cuda.blockIdx.x * COLUMNS
    begin(total)
    for k in range(0, a.shape[1], DEPTH):
        fetch(tile_a, tile_b, a, b, top, left, k)
        cuda.syncthreads()
        add(total, tile_a, tile_b)
        cuda.syncthreads()
    for r in range(HIGH):
        for s in range(WIDE):
            i, j = top + y + r * DOWN, left + x + s * ALONG
            if i <= c.shape[0] and j <= c.shape[1]:
                c[i, j] = total[r, s]


@answers.wrong("each thread writes one of its sums: all HIGH × WIDE must go to C.")
def one_sum_written(a: Matrix, b: Matrix, c: Matrix) -> None:
    tile_a = cuda.shared.array((ROWS, DEPTH), np.float32)
    tile_b = cuda.shared.array((DEPTH, COLUMNS), np.float32)
    total = cuda.local.array((HIGH, WIDE), np.float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    top, left = cuda.blockIdx.y * ROWS, cuda.blockIdx.x * COLUMNS
    begin(total)
    for k in range(0, a.shape[1], DEPTH):
        fetch(tile_a, tile_b, a, b, top, left, k)
        cuda.syncthreads()
        add(total, tile_a, tile_b)
        cuda.syncthreads()
    i, j = top + y, left + x
    if i < c.shape[0] and j < c.shape[1]:
        c[i, j] = total[0, 0]


@answers.wrong(
    "rows and columns of the sums are swapped: total[r, s] belongs r steps down and s to the right."
)
def sums_swapped(a: Matrix, b: Matrix, c: Matrix) -> None:
    tile_a = cuda.shared.array((ROWS, DEPTH), np.float32)
    tile_b = cuda.shared.array((DEPTH, COLUMNS), np.float32)
    total = cuda.local.array((HIGH, WIDE), np.float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    top, left = cuda.blockIdx.y * ROWS, cuda.blockIdx.x * COLUMNS
    begin(total)
    for k in range(0, a.shape[1], DEPTH):
        fetch(tile_a, tile_b, a, b, top, left, k)
        cuda.syncthreads()
        add(total, tile_a, tile_b)
        cuda.syncthreads()
    for r in range(HIGH):
        for s in range(WIDE):
            i, j = top + y + r * DOWN, left + x + s * ALONG
            if i < c.shape[0] and j < c.shape[1]:
                c[i, j] = total[s, r]


@answers.wrong(
    "a sum is written to another place than it was computed for: row y + r · DOWN in both."
)
def patch_written(a: Matrix, b: Matrix, c: Matrix) -> None:
    tile_a = cuda.shared.array((ROWS, DEPTH), np.float32)
    tile_b = cuda.shared.array((DEPTH, COLUMNS), np.float32)
    total = cuda.local.array((HIGH, WIDE), np.float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    top, left = cuda.blockIdx.y * ROWS, cuda.blockIdx.x * COLUMNS
    begin(total)
    for k in range(0, a.shape[1], DEPTH):
        fetch(tile_a, tile_b, a, b, top, left, k)
        cuda.syncthreads()
        add(total, tile_a, tile_b)
        cuda.syncthreads()
    for r in range(HIGH):
        for s in range(WIDE):
            i, j = top + y * HIGH + r, left + x * WIDE + s
            if i < c.shape[0] and j < c.shape[1]:
                c[i, j] = total[r, s]


@answers.wrong("the block index is never used: every block computes the elements of block 0.")
def block_ignored(a: Matrix, b: Matrix, c: Matrix) -> None:
    tile_a = cuda.shared.array((ROWS, DEPTH), np.float32)
    tile_b = cuda.shared.array((DEPTH, COLUMNS), np.float32)
    total = cuda.local.array((HIGH, WIDE), np.float32)
    top, left = 0, 0
    begin(total)
    for k in range(0, a.shape[1], DEPTH):
        fetch(tile_a, tile_b, a, b, top, left, k)
        cuda.syncthreads()
        add(total, tile_a, tile_b)
        cuda.syncthreads()
    write(c, total, top, left)


@answers.wrong(
    "it is right for square matrices only: the guard of the write takes the columns for the rows."
)
def square_guard(a: Matrix, b: Matrix, c: Matrix) -> None:
    tile_a = cuda.shared.array((ROWS, DEPTH), np.float32)
    tile_b = cuda.shared.array((DEPTH, COLUMNS), np.float32)
    total = cuda.local.array((HIGH, WIDE), np.float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    top, left = cuda.blockIdx.y * ROWS, cuda.blockIdx.x * COLUMNS
    begin(total)
    for k in range(0, a.shape[1], DEPTH):
        fetch(tile_a, tile_b, a, b, top, left, k)
        cuda.syncthreads()
        add(total, tile_a, tile_b)
        cuda.syncthreads()
    for r in range(HIGH):
        for s in range(WIDE):
            i, j = top + y + r * DOWN, left + x + s * ALONG
            if i < c.shape[0] and j < c.shape[0]:
                c[i, j] = total[r, s]


@answers.wrong("the products are not added up: each one replaces the last, so write += for =.")
def last_product(a: Matrix, b: Matrix, c: Matrix) -> None:
    tile_a = cuda.shared.array((ROWS, DEPTH), np.float32)
    tile_b = cuda.shared.array((DEPTH, COLUMNS), np.float32)
    total = cuda.local.array((HIGH, WIDE), np.float32)
    column = cuda.local.array(HIGH, np.float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    top, left = cuda.blockIdx.y * ROWS, cuda.blockIdx.x * COLUMNS
    begin(total)
    for k in range(0, a.shape[1], DEPTH):
        fetch(tile_a, tile_b, a, b, top, left, k)
        cuda.syncthreads()
        for q in range(DEPTH):
            for r in range(HIGH):
                column[r] = tile_a[y + r * DOWN, q]
            for s in range(WIDE):
                factor = tile_b[q, x + s * ALONG]
                for r in range(HIGH):
                    total[r, s] = column[r] * factor
        cuda.syncthreads()
    write(c, total, top, left)


@answers.wrong("every element is 0: the tiles are never multiplied.")
def constant(a: Matrix, b: Matrix, c: Matrix) -> None:
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    top, left = cuda.blockIdx.y * ROWS, cuda.blockIdx.x * COLUMNS
    for r in range(HIGH):
        for s in range(WIDE):
            i, j = top + y + r * DOWN, left + x + s * ALONG
            if i < c.shape[0] and j < c.shape[1]:
                c[i, j] = 0


@answers.wrong("nothing is ever written to c.")
def empty(a: Matrix, b: Matrix, c: Matrix) -> None:
    pass


@answers.wrong(COMB)
def patch(a: Matrix, b: Matrix, c: Matrix) -> None:
    tile_a = cuda.shared.array((ROWS, DEPTH), np.float32)
    tile_b = cuda.shared.array((DEPTH, COLUMNS), np.float32)
    total = cuda.local.array((HIGH, WIDE), np.float32)
    column = cuda.local.array(HIGH, np.float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    top, left = cuda.blockIdx.y * ROWS, cuda.blockIdx.x * COLUMNS
    begin(total)
    for k in range(0, a.shape[1], DEPTH):
        fetch(tile_a, tile_b, a, b, top, left, k)
        cuda.syncthreads()
        for q in range(DEPTH):
            for r in range(HIGH):
                column[r] = tile_a[y * HIGH + r, q]
            for s in range(WIDE):
                factor = tile_b[q, x * WIDE + s]
                for r in range(HIGH):
                    total[r, s] += column[r] * factor
        cuda.syncthreads()
    for r in range(HIGH):
        for s in range(WIDE):
            i, j = top + y * HIGH + r, left + x * WIDE + s
            if i < c.shape[0] and j < c.shape[1]:
                c[i, j] = total[r, s]


@answers.wrong(COMB)
def swapped(a: Matrix, b: Matrix, c: Matrix) -> None:
    tile_a = cuda.shared.array((ROWS, DEPTH), np.float32)
    tile_b = cuda.shared.array((DEPTH, COLUMNS), np.float32)
    total = cuda.local.array((HIGH, WIDE), np.float32)
    column = cuda.local.array(HIGH, np.float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    top, left = cuda.blockIdx.y * ROWS, cuda.blockIdx.x * COLUMNS
    begin(total)
    for k in range(0, a.shape[1], DEPTH):
        fetch(tile_a, tile_b, a, b, top, left, k)
        cuda.syncthreads()
        for q in range(DEPTH):
            for r in range(HIGH):
                column[r] = tile_a[x + r * DOWN, q]
            for s in range(WIDE):
                factor = tile_b[q, y + s * ALONG]
                for r in range(HIGH):
                    total[r, s] += column[r] * factor
        cuda.syncthreads()
    for r in range(HIGH):
        for s in range(WIDE):
            i, j = top + x + r * DOWN, left + y + s * ALONG
            if i < c.shape[0] and j < c.shape[1]:
                c[i, j] = total[r, s]


@answers.wrong(ONE_WRITE)
def written_after_each_tile(a: Matrix, b: Matrix, c: Matrix) -> None:
    tile_a = cuda.shared.array((ROWS, DEPTH), np.float32)
    tile_b = cuda.shared.array((DEPTH, COLUMNS), np.float32)
    total = cuda.local.array((HIGH, WIDE), np.float32)
    top, left = cuda.blockIdx.y * ROWS, cuda.blockIdx.x * COLUMNS
    begin(total)
    for k in range(0, a.shape[1], DEPTH):
        fetch(tile_a, tile_b, a, b, top, left, k)
        cuda.syncthreads()
        add(total, tile_a, tile_b)
        cuda.syncthreads()
        write(c, total, top, left)


@answers.wrong(TEETH)
def rows_as_a_patch(a: Matrix, b: Matrix, c: Matrix) -> None:
    tile_a = cuda.shared.array((ROWS, DEPTH), np.float32)
    tile_b = cuda.shared.array((DEPTH, COLUMNS), np.float32)
    total = cuda.local.array((HIGH, WIDE), np.float32)
    column = cuda.local.array(HIGH, np.float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    top, left = cuda.blockIdx.y * ROWS, cuda.blockIdx.x * COLUMNS
    begin(total)
    for k in range(0, a.shape[1], DEPTH):
        fetch(tile_a, tile_b, a, b, top, left, k)
        cuda.syncthreads()
        for q in range(DEPTH):
            for r in range(HIGH):
                column[r] = tile_a[y * HIGH + r, q]
            for s in range(WIDE):
                factor = tile_b[q, x + s * ALONG]
                for r in range(HIGH):
                    total[r, s] += column[r] * factor
        cuda.syncthreads()
    for r in range(HIGH):
        for s in range(WIDE):
            i, j = top + y * HIGH + r, left + x + s * ALONG
            if i < c.shape[0] and j < c.shape[1]:
                c[i, j] = total[r, s]


@answers.wrong(KEEP)
def nothing_kept(a: Matrix, b: Matrix, c: Matrix) -> None:
    tile_a = cuda.shared.array((ROWS, DEPTH), np.float32)
    tile_b = cuda.shared.array((DEPTH, COLUMNS), np.float32)
    total = cuda.local.array((HIGH, WIDE), np.float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    top, left = cuda.blockIdx.y * ROWS, cuda.blockIdx.x * COLUMNS
    begin(total)
    for k in range(0, a.shape[1], DEPTH):
        fetch(tile_a, tile_b, a, b, top, left, k)
        cuda.syncthreads()
        for q in range(DEPTH):
            for s in range(WIDE):
                for r in range(HIGH):
                    total[r, s] += tile_a[y + r * DOWN, q] * tile_b[q, x + s * ALONG]
        cuda.syncthreads()
    write(c, total, top, left)


@answers.wrong(TWO)
def a_barrier_for_each_step(a: Matrix, b: Matrix, c: Matrix) -> None:
    tile_a = cuda.shared.array((ROWS, DEPTH), np.float32)
    tile_b = cuda.shared.array((DEPTH, COLUMNS), np.float32)
    total = cuda.local.array((HIGH, WIDE), np.float32)
    column = cuda.local.array(HIGH, np.float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    top, left = cuda.blockIdx.y * ROWS, cuda.blockIdx.x * COLUMNS
    begin(total)
    for k in range(0, a.shape[1], DEPTH):
        fetch(tile_a, tile_b, a, b, top, left, k)
        cuda.syncthreads()
        for q in range(DEPTH):
            for r in range(HIGH):
                column[r] = tile_a[y + r * DOWN, q]
            for s in range(WIDE):
                factor = tile_b[q, x + s * ALONG]
                for r in range(HIGH):
                    total[r, s] += column[r] * factor
            cuda.syncthreads()
    write(c, total, top, left)


@answers.wrong(SINGLE)
def sums_in_float64(a: Matrix, b: Matrix, c: Matrix) -> None:
    tile_a = cuda.shared.array((ROWS, DEPTH), np.float32)
    tile_b = cuda.shared.array((DEPTH, COLUMNS), np.float32)
    total = cuda.local.array((HIGH, WIDE), np.float64)
    top, left = cuda.blockIdx.y * ROWS, cuda.blockIdx.x * COLUMNS
    begin(total)
    for k in range(0, a.shape[1], DEPTH):
        fetch(tile_a, tile_b, a, b, top, left, k)
        cuda.syncthreads()
        add(total, tile_a, tile_b)
        cuda.syncthreads()
    write(c, total, top, left)


@answers.right
def row_kept(a: Matrix, b: Matrix, c: Matrix) -> None:
    tile_a = cuda.shared.array((ROWS, DEPTH), np.float32)
    tile_b = cuda.shared.array((DEPTH, COLUMNS), np.float32)
    total = cuda.local.array((HIGH, WIDE), np.float32)
    row = cuda.local.array(WIDE, np.float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    top, left = cuda.blockIdx.y * ROWS, cuda.blockIdx.x * COLUMNS
    begin(total)
    for k in range(0, a.shape[1], DEPTH):
        fetch(tile_a, tile_b, a, b, top, left, k)
        cuda.syncthreads()
        for q in range(DEPTH):
            for s in range(WIDE):
                row[s] = tile_b[q, x + s * ALONG]
            for r in range(HIGH):
                factor = tile_a[y + r * DOWN, q]
                for s in range(WIDE):
                    total[r, s] += factor * row[s]
        cuda.syncthreads()
    write(c, total, top, left)


@answers.right
def cut_short(a: Matrix, b: Matrix, c: Matrix) -> None:
    tile_a = cuda.shared.array((ROWS, DEPTH), np.float32)
    tile_b = cuda.shared.array((DEPTH, COLUMNS), np.float32)
    total = cuda.local.array((HIGH, WIDE), np.float32)
    column = cuda.local.array(HIGH, np.float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    top, left = cuda.blockIdx.y * ROWS, cuda.blockIdx.x * COLUMNS
    begin(total)
    for k in range(0, a.shape[1], DEPTH):
        fetch(tile_a, tile_b, a, b, top, left, k)
        cuda.syncthreads()
        for q in range(min(DEPTH, a.shape[1] - k)):
            for r in range(HIGH):
                column[r] = tile_a[y + r * DOWN, q]
            for s in range(WIDE):
                factor = tile_b[q, x + s * ALONG]
                for r in range(HIGH):
                    total[r, s] += column[r] * factor
        cuda.syncthreads()
    for r in range(HIGH):
        i = top + y + r * DOWN
        if i < c.shape[0]:
            for s in range(WIDE):
                if left + x + s * ALONG < c.shape[1]:
                    c[i, left + x + s * ALONG] = total[r, s]


@answers.right
def both_kept_in_flat_sums(a: Matrix, b: Matrix, c: Matrix) -> None:
    tile_a = cuda.shared.array((ROWS, DEPTH), np.float32)
    tile_b = cuda.shared.array((DEPTH, COLUMNS), np.float32)
    total = cuda.local.array(SUMS, np.float32)
    column = cuda.local.array(HIGH, np.float32)
    zero = np.float32(0)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    top, left = cuda.blockIdx.y * ROWS, cuda.blockIdx.x * COLUMNS
    row = cuda.local.array(WIDE, np.float32)
    for n in range(SUMS):
        total[n] = zero
    for k in range(0, a.shape[1], DEPTH):
        fetch(tile_a, tile_b, a, b, top, left, k)
        cuda.syncthreads()
        for q in range(DEPTH):
            for r in range(HIGH):
                column[r] = tile_a[y + r * DOWN, q]
            for s in range(WIDE):
                row[s] = tile_b[q, x + s * ALONG]
            for n in range(SUMS):
                total[n] += column[n // WIDE] * row[n % WIDE]
        cuda.syncthreads()
    for r in range(HIGH):
        for s in range(WIDE):
            i, j = top + y + r * DOWN, left + x + s * ALONG
            if i < c.shape[0] and j < c.shape[1]:
                c[i, j] = total[r * WIDE + s]
