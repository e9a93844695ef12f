"""The naive matrix product: one thread for each element, x as the row."""

from __future__ import annotations

import numpy as np

from gpulearn import cuda
from gpulearn.judge import budgets
from gpulearn.judge.answers import Answers
from gpulearn.judge.kernel_exercise import Launch, kernel_exercise
from gpulearn.kernels.matmul import matmul_flops
from gpulearn_lessons.matmul.matmul_ladder import MATMUL_NAIVE, matmul_naive
from gpulearn_lessons.matmul.products import (
    B_TURNED,
    BLOCK_IGNORED,
    EVEN,
    FLOAT64,
    GUARD_TOO_WIDE,
    LAST_PRODUCT,
    NEVER_ADDED,
    NO_FLOAT64,
    NO_GUARD,
    ONE_SHORT,
    OWN_ELEMENT,
    ROWS_FOR_COLUMNS,
    SUMS_IN_C,
    Matrix,
    launch,
)

ONCE = "Each thread computes one element of C, its own: here elements are computed more than once."
answers = Answers(matmul_naive)


def cases() -> list[Launch]:
    """Square, wide, high, with threads left over, and with a single row or column."""
    sizes = (
        *((32, 32, 32, (16, 8)), (33, 5, 20, (8, 16)), (17, 40, 61, (16, 8))),
        *((1, 9, 30, (4, 32)), (30, 3, 1, (12, 5))),
    )
    return [launch(MATMUL_NAIVE, *s[:3], block=s[3]) for s in sizes]


def at_most(launch: Launch) -> int:
    """Two operations for each product, and some room: not an element computed twice."""
    a, b = launch.args[:2]
    (m, n), p = a.shape, b.shape[1]
    return 5 * matmul_flops(m, n, p) // 4


answers.edit(*BLOCK_IGNORED)
answers.edit(
    {"i, j = ": "j, i = "},
    "x and y are swapped: x counts the rows of C here, and the grid has just enough blocks for it.",
)
answers.edit(*B_TURNED)
answers.edit(
    {"a[i, k]": "a[k, i]"},
    "A is read as if it were turned: the k-th element of row i is a[i, k].",
)
answers.edit(*LAST_PRODUCT)
answers.edit(*GUARD_TOO_WIDE)
answers.edit(*NO_GUARD)
answers.edit(*ROWS_FOR_COLUMNS)
answers.edit(*ONE_SHORT)
answers.edit(
    {"range(a.shape[1])": "range(1)"},
    "only the first term of each sum is there: let a loop over k add up the others.",
)
answers.edit(*NEVER_ADDED)
answers.edit(
    {"c[i, j] = total": "pass"},
    "c holds nothing but what stood there before: write each sum to it, and begin a sum with 0, "
    "not with c.",
)
answers.edit({"np.float32(0)": "0.0"}, FLOAT64)

answers.variant(SUMS_IN_C)


answers.edit(
    {
        "cuda.grid(2)": "cuda.blockIdx.x * 16 + cuda.threadIdx.x, "
        "cuda.blockIdx.y * 8 + cuda.threadIdx.y"
    },
    "a block has not always 16 × 8 threads: cuda.grid(2), or cuda.blockDim.x and cuda.blockDim.y.",
)


@answers.wrong(OWN_ELEMENT)
def two_columns_for_a_thread(a: Matrix, b: Matrix, c: Matrix) -> None:
    i, y = cuda.grid(2)
    for j in range(2 * y, min(2 * y + 2, c.shape[1])):
        if i < c.shape[0]:
            total = np.float32(0)
            for k in range(a.shape[1]):
                total += a[i, k] * b[k, j]
            c[i, j] = total


@answers.wrong(ONCE)
def whole_rows(a: Matrix, b: Matrix, c: Matrix) -> None:
    i, _ = cuda.grid(2)
    if i < c.shape[0]:
        for j in range(c.shape[1]):
            total = np.float32(0)
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
    MATMUL_NAIVE,
    task="Let x count the rows of C and y its columns; each thread adds up one element.",
    cases=cases,
    answers=answers,
    budgets=(*NO_FLOAT64, EVEN, budgets.operations(at_most, advice=ONCE)),
)
