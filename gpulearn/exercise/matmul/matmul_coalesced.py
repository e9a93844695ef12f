"""Write C = A·B with one thread for each element, and neighbouring lanes on neighbours."""

from __future__ import annotations

import numpy as np

from gpulearn import cuda
from gpulearn.checker import budgets
from gpulearn.checker.answers import Answers
from gpulearn.checker.kernel_exercise import Launch, kernel_exercise
from gpulearn.exercise.matmul.products import (
    FLOAT64,
    NO_FLOAT64,
    ONE_WRITE,
    WRITTEN_ONCE,
    Matrix,
    launch,
)
from gpulearn.exercise.matmul.products import product as expect
from gpulearn.kernels.matmul_ladder import matmul_coalesced

__all__ = ["EXERCISE"]

answers = Answers()
BLOCK = (32, 4)
NEIGHBOURS = "Lanes of a warp differ in x: let x be the column, the last index of B and of C."
ONE_EACH = "Let each thread add up one element of C, that of its own row and column."


def grid(m: int, p: int) -> tuple[int, int]:
    """Blocks enough for either axis to count rows: the mapping must not fail for want of them."""
    longest = max(m, p)
    return (-(-longest // BLOCK[0]), -(-longest // BLOCK[1]))


def cases() -> list[Launch]:
    """Odd sizes for the results; rows that begin with a sector for the budget."""
    made = [launch(*s, grid, BLOCK) for s in ((35, 20, 35), (33, 5, 20), (10, 40, 61), (1, 9, 30))]
    return [*made, launch(64, 24, 64, grid, BLOCK, measured=True)]


def bytes_needed(case: Launch) -> int:
    """What one read of each factor by each warp and one write of C move, and a quarter more."""
    m, n = case.args[0].shape
    p = case.args[1].shape[1]
    return int(m * p // 32 * (n * 5 + 4) * 32 * 5 // 4)


@answers.wrong(NEIGHBOURS)
def down_the_columns(a: Matrix, b: Matrix, c: Matrix) -> None:
    i, j = cuda.grid(2)
    if i < c.shape[0] and j < c.shape[1]:
        total = np.float32(0)
        for k in range(a.shape[1]):
            total += a[i, k] * b[k, j]
        c[i, j] = total


@answers.wrong(ONE_WRITE)
def sums_in_c(a: Matrix, b: Matrix, c: Matrix) -> None:
    j, i = cuda.grid(2)
    if i < c.shape[0] and j < c.shape[1]:
        c[i, j] = 0
        for k in range(a.shape[1]):
            c[i, j] += a[i, k] * b[k, j]


@answers.wrong(ONE_WRITE)
def sums_by_atomics(a: Matrix, b: Matrix, c: Matrix) -> None:
    j, i = cuda.grid(2)
    if i < c.shape[0] and j < c.shape[1]:
        c[i, j] = 0
        for k in range(a.shape[1]):
            cuda.atomic.add(c, (i, j), a[i, k] * b[k, j])


@answers.wrong(ONE_EACH)
def everything_read_twice(a: Matrix, b: Matrix, c: Matrix) -> None:
    j, i = cuda.grid(2)
    if i < c.shape[0] and j < c.shape[1]:
        for _ in range(2):
            total = np.float32(0)
            for k in range(a.shape[1]):
                total += a[i, k] * b[k, j]
        c[i, j] = total


@answers.wrong("the last product of each sum is missing: write range(a.shape[1]).")
def one_product_short(a: Matrix, b: Matrix, c: Matrix) -> None:
    j, i = cuda.grid(2)
    if i < c.shape[0] and j < c.shape[1]:
        total = np.float32(0)
        for k in range(a.shape[1] - 1):
            total += a[i, k] * b[k, j]
        c[i, j] = total


@answers.wrong("the block index is never used: every block computes the elements of block 0.")
def block_ignored(a: Matrix, b: Matrix, c: Matrix) -> None:
    j, i = cuda.threadIdx.x, cuda.threadIdx.y
    if i < c.shape[0] and j < c.shape[1]:
        total = np.float32(0)
        for k in range(a.shape[1]):
            total += a[i, k] * b[k, j]
        c[i, j] = total


@answers.wrong(
    "row and column changed places in the guard: i counts rows and stays below shape[0], j columns."
)
def guard_swapped(a: Matrix, b: Matrix, c: Matrix) -> None:
    j, i = cuda.grid(2)
    if j < c.shape[0] and i < c.shape[1]:
        total = np.float32(0)
        for k in range(a.shape[1]):
            total += a[i, k] * b[k, j]
        c[i, j] = total


@answers.wrong("C is written turned: the sum of row i and column j belongs to c[i, j].")
def output_turned(a: Matrix, b: Matrix, c: Matrix) -> None:
    j, i = cuda.grid(2)
    if i < c.shape[0] and j < c.shape[1]:
        total = np.float32(0)
        for k in range(a.shape[1]):
            total += a[i, k] * b[k, j]
        c[j, i] = total


@answers.wrong("B is read as if it were turned: the k-th element of column j is b[k, j].")
def b_turned(a: Matrix, b: Matrix, c: Matrix) -> None:
    j, i = cuda.grid(2)
    if i < c.shape[0] and j < c.shape[1]:
        total = np.float32(0)
        for k in range(a.shape[1]):
            total += a[i, k] * b[j, k]
        c[i, j] = total


@answers.wrong("the guard lets one row and one column too many in: it needs < and not <=.")
def guard_off_by_one(a: Matrix, b: Matrix, c: Matrix) -> None:
    j, i = cuda.grid(2)
    if i <= c.shape[0] and j <= c.shape[1]:
        total = np.float32(0)
        for k in range(a.shape[1]):
            total += a[i, k] * b[k, j]
        c[i, j] = total


@answers.wrong("there are more threads than elements: the ones left over must do nothing.")
def no_guard(a: Matrix, b: Matrix, c: Matrix) -> None:
    j, i = cuda.grid(2)
    total = np.float32(0)
    for k in range(a.shape[1]):
        total += a[i, k] * b[k, j]
    c[i, j] = total


@answers.wrong(
    "it is right for square matrices only: the sum has as many terms as A has columns, not rows."
)
def rows_for_columns(a: Matrix, b: Matrix, c: Matrix) -> None:
    j, i = cuda.grid(2)
    if i < c.shape[0] and j < c.shape[1]:
        total = np.float32(0)
        for k in range(a.shape[0]):
            total += a[i, k] * b[k, j]
        c[i, j] = total


@answers.wrong("the products are not added up: each one replaces the last.")
def last_product(a: Matrix, b: Matrix, c: Matrix) -> None:
    j, i = cuda.grid(2)
    if i < c.shape[0] and j < c.shape[1]:
        for k in range(a.shape[1]):
            c[i, j] = a[i, k] * b[k, j]


@answers.wrong("every element is 0: the sum is never added to.")
def constant(a: Matrix, b: Matrix, c: Matrix) -> None:
    j, i = cuda.grid(2)
    if i < c.shape[0] and j < c.shape[1]:
        c[i, j] = 0


@answers.wrong("nothing is ever written to c.")
def empty(a: Matrix, b: Matrix, c: Matrix) -> None:
    pass


@answers.wrong(FLOAT64)
def sums_in_float64(a: Matrix, b: Matrix, c: Matrix) -> None:
    j, i = cuda.grid(2)
    if i < c.shape[0] and j < c.shape[1]:
        total = 0.0
        for k in range(a.shape[1]):
            total += a[i, k] * b[k, j]
        c[i, j] = total


@answers.right
def early_return(a: Matrix, b: Matrix, c: Matrix) -> None:
    column, row = cuda.grid(2)
    if row >= c.shape[0] or column >= c.shape[1]:
        return
    result = a[row, 0] * b[0, column]
    for k in range(1, b.shape[0]):
        result += a[row, k] * b[k, column]
    c[row, column] = result


@answers.right
def numbered_through(a: Matrix, b: Matrix, c: Matrix) -> None:
    width = cuda.gridDim.x * cuda.blockDim.x
    number = cuda.grid(2)[1] * width + cuda.grid(2)[0]
    if number < c.size:
        i, j = number // c.shape[1], number % c.shape[1]
        total = np.float32(0)
        for k in range(a.shape[1] - 1, -1, -1):
            total += b[k, j] * a[i, k]
        c[i, j] = total


EXERCISE = kernel_exercise(
    name="matmul_coalesced",
    notebook="06_matmul_ladder",
    task="Let neighbouring lanes read neighbouring elements of B and write neighbours of C.",
    reference=matmul_coalesced,
    cases=cases,
    expect=expect,
    answers=answers,
    budgets=(
        NO_FLOAT64,
        budgets.sectors_per_request(4, advice=NEIGHBOURS),
        WRITTEN_ONCE,
        budgets.bytes_moved(bytes_needed, advice=ONE_EACH),
    ),
)
