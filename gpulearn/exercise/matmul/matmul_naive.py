"""Write C = A·B with one thread for each element, x as the row."""

from __future__ import annotations

import numpy as np

from gpulearn import cuda
from gpulearn.checker.answers import Answers
from gpulearn.checker.kernel_exercise import Launch, kernel_exercise
from gpulearn.exercise.matmul.products import FLOAT64, NO_FLOAT64, Matrix, launch
from gpulearn.exercise.matmul.products import product as expect
from gpulearn.kernels.matmul_ladder import matmul_naive

__all__ = ["EXERCISE"]

answers = Answers()
BLOCK = (16, 8)


def grid(m: int, p: int) -> tuple[int, int]:
    """Blocks that cover m rows along x and p columns along y, and no more."""
    return (-(-m // BLOCK[0]), -(-p // BLOCK[1]))


def cases() -> list[Launch]:
    """Square, wide, high, with threads left over, and with a single row or column."""
    sizes = ((32, 32, 32), (33, 5, 20), (17, 40, 61), (1, 9, 30), (30, 3, 1))
    return [launch(*s, grid, BLOCK) for s in sizes]


@answers.wrong("the block index is never used: every block computes the elements of block 0.")
def block_ignored(a: Matrix, b: Matrix, c: Matrix) -> None:
    i, j = cuda.threadIdx.x, cuda.threadIdx.y
    if i < c.shape[0] and j < c.shape[1]:
        total = np.float32(0)
        for k in range(a.shape[1]):
            total += a[i, k] * b[k, j]
        c[i, j] = total


@answers.wrong(
    "x and y are swapped: x counts the rows of C here, and the grid has just enough blocks for it."
)
def swapped(a: Matrix, b: Matrix, c: Matrix) -> None:
    j, i = cuda.grid(2)
    if i < c.shape[0] and j < c.shape[1]:
        total = np.float32(0)
        for k in range(a.shape[1]):
            total += a[i, k] * b[k, j]
        c[i, j] = total


@answers.wrong("B is read as if it were turned: the k-th element of column j is b[k, j].")
def b_turned(a: Matrix, b: Matrix, c: Matrix) -> None:
    i, j = cuda.grid(2)
    if i < c.shape[0] and j < c.shape[1]:
        total = np.float32(0)
        for k in range(a.shape[1]):
            total += a[i, k] * b[j, k]
        c[i, j] = total


@answers.wrong("A is read as if it were turned: the k-th element of row i is a[i, k].")
def a_turned(a: Matrix, b: Matrix, c: Matrix) -> None:
    i, j = cuda.grid(2)
    if i < c.shape[0] and j < c.shape[1]:
        total = np.float32(0)
        for k in range(a.shape[1]):
            total += a[k, i] * b[k, j]
        c[i, j] = total


@answers.wrong("the products are not added up: each one replaces the last.")
def last_product(a: Matrix, b: Matrix, c: Matrix) -> None:
    i, j = cuda.grid(2)
    if i < c.shape[0] and j < c.shape[1]:
        for k in range(a.shape[1]):
            c[i, j] = a[i, k] * b[k, j]


@answers.wrong("the guard lets one row and one column too many in: it needs < and not <=.")
def guard_off_by_one(a: Matrix, b: Matrix, c: Matrix) -> None:
    i, j = cuda.grid(2)
    if i <= c.shape[0] and j <= c.shape[1]:
        total = np.float32(0)
        for k in range(a.shape[1]):
            total += a[i, k] * b[k, j]
        c[i, j] = total


@answers.wrong("there are more threads than elements: the ones left over must do nothing.")
def no_guard(a: Matrix, b: Matrix, c: Matrix) -> None:
    i, j = cuda.grid(2)
    total = np.float32(0)
    for k in range(a.shape[1]):
        total += a[i, k] * b[k, j]
    c[i, j] = total


@answers.wrong(
    "it is right for square matrices only: the sum has as many terms as A has columns, not rows."
)
def rows_for_columns(a: Matrix, b: Matrix, c: Matrix) -> None:
    i, j = cuda.grid(2)
    if i < c.shape[0] and j < c.shape[1]:
        total = np.float32(0)
        for k in range(a.shape[0]):
            total += a[i, k] * b[k, j]
        c[i, j] = total


@answers.wrong("the last product of each sum is missing: write range(a.shape[1]).")
def one_product_short(a: Matrix, b: Matrix, c: Matrix) -> None:
    i, j = cuda.grid(2)
    if i < c.shape[0] and j < c.shape[1]:
        total = np.float32(0)
        for k in range(a.shape[1] - 1):
            total += a[i, k] * b[k, j]
        c[i, j] = total


@answers.wrong("only the first term of each sum is there: let a loop over k add up the others.")
def first_term(a: Matrix, b: Matrix, c: Matrix) -> None:
    i, j = cuda.grid(2)
    if i < c.shape[0] and j < c.shape[1]:
        c[i, j] = a[i, 0] * b[0, j]


@answers.wrong("every element is 0: the sum is never added to.")
def constant(a: Matrix, b: Matrix, c: Matrix) -> None:
    i, j = cuda.grid(2)
    if i < c.shape[0] and j < c.shape[1]:
        c[i, j] = 0


@answers.wrong(
    "c holds nothing but what stood there before: write each sum to it, and begin a sum with 0, "
    "not with c."
)
def empty(a: Matrix, b: Matrix, c: Matrix) -> None:
    pass


@answers.wrong(FLOAT64)
def sums_in_float64(a: Matrix, b: Matrix, c: Matrix) -> None:
    i, j = cuda.grid(2)
    if i < c.shape[0] and j < c.shape[1]:
        total = 0.0
        for k in range(a.shape[1]):
            total += a[i, k] * b[k, j]
        c[i, j] = total


@answers.right
def early_return(a: Matrix, b: Matrix, c: Matrix) -> None:
    row = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    column = cuda.blockIdx.y * cuda.blockDim.y + cuda.threadIdx.y
    if row >= a.shape[0] or column >= b.shape[1]:
        return
    term_count = b.shape[0]
    result = np.float32(0)
    for k in range(term_count - 1, -1, -1):
        result = result + a[row, k] * b[k, column]
    c[row, column] = result


@answers.right
def sums_in_c(a: Matrix, b: Matrix, c: Matrix) -> None:
    i, j = cuda.grid(2)
    if i < c.shape[0] and j < c.shape[1]:
        c[i, j] = 0
        for k in range(a.shape[1]):
            c[i, j] += a[i, k] * b[k, j]


@answers.right
def strided(a: Matrix, b: Matrix, c: Matrix) -> None:
    x, y = cuda.grid(2)
    across, down = cuda.gridsize(2)
    for i in range(x, c.shape[0], across):
        for j in range(y, c.shape[1], down):
            total = a[i, 0] * b[0, j]
            for k in range(1, a.shape[1]):
                total += a[i, k] * b[k, j]
            c[i, j] = total


EXERCISE = kernel_exercise(
    name="matmul_naive",
    notebook="06_matmul_ladder",
    task="Let x count the rows of C and y its columns; each thread adds up one element.",
    reference=matmul_naive,
    cases=cases,
    expect=expect,
    answers=answers,
    budgets=(NO_FLOAT64,),
)
