"""The coalesced matrix product: one thread for each element, x as the column."""

from __future__ import annotations

import numpy as np

from gpulearn import cuda
from gpulearn.judge import budgets
from gpulearn.judge.answers import Answers
from gpulearn.judge.kernel_exercise import Launch, kernel_exercise
from gpulearn.kernels.specification import blocks_along
from gpulearn_lessons.matmul.matmul_ladder import MATMUL_COALESCED, matmul_coalesced
from gpulearn_lessons.matmul.products import (
    B_TURNED,
    BLOCK_IGNORED,
    EVEN,
    FLOAT64,
    GUARD,
    GUARD_TOO_WIDE,
    LAST_PRODUCT,
    NEVER_ADDED,
    NO_FLOAT64,
    NO_GUARD,
    ONE_SHORT,
    ONE_WRITE,
    OWN_ELEMENT,
    ROWS_FOR_COLUMNS,
    SUMS_IN_C,
    WRITTEN_ONCE,
    Matrix,
    launch,
)

answers = Answers(matmul_coalesced)
BLOCKS = ((32, 4), (32, 8), (64, 2))  # each in turn
NEIGHBOURS = "Lanes of a warp differ in x: let x be the column, the last index of B and of C."
ONE_EACH = "Let each thread add up one element of C, that of its own row and column."


def cases() -> list[Launch]:
    """Odd sizes for the results; rows that begin with a sector for the budget."""
    measured = (64, 24, 64)
    made = []
    sizes = ((35, 20, 35), (33, 5, 20), (10, 40, 61), (1, 9, 30), measured)
    for number, (m, n, p) in enumerate(sizes, start=2):
        block = BLOCKS[number % len(BLOCKS)]
        # blocks enough for either axis to count rows: the mapping must not fail for want of them
        grid = blocks_along((max(m, p), max(m, p)), block)
        chosen = (m, n, p) == measured
        made.append(launch(MATMUL_COALESCED, m, n, p, grid, block, measured=chosen))
    return made


def bytes_needed(case: Launch) -> int:
    """What one read of each factor by each warp and one write of C move, and a quarter more."""
    m, n = case.args[0].shape
    p = case.args[1].shape[1]
    return int(m * p // 32 * (n * 5 + 4) * 32 * 5 // 4)


answers.edit({"j, i =": "i, j ="}, NEIGHBOURS)
answers.edit(SUMS_IN_C, ONE_WRITE)
answers.edit(
    {
        "total = np.float32(0)": "c[i, j] = 0",
        "total += a[i, k] * b[k, j]": "cuda.atomic.add(c, (i, j), a[i, k] * b[k, j])",
        "        c[i, j] = total": "",
    },
    ONE_WRITE,
)


@answers.wrong(ONE_EACH)
def everything_read_twice(a: Matrix, b: Matrix, c: Matrix) -> None:
    j, i = cuda.grid(2)
    if i < c.shape[0] and j < c.shape[1]:
        for _ in range(2):
            total = np.float32(0)
            for k in range(a.shape[1]):
                total += a[i, k] * b[k, j]
        c[i, j] = total


answers.edit(*ONE_SHORT)
answers.edit(*BLOCK_IGNORED)
answers.edit(
    {GUARD: "if j < c.shape[0] and i < c.shape[1]"},
    "row and column changed places in the guard: i counts rows and stays below shape[0], "
    "j columns.",
)
answers.edit(
    {"c[i, j] =": "c[j, i] ="},
    "C is written turned: the sum of row i and column j belongs to c[i, j].",
)
answers.edit(*B_TURNED)
answers.edit(*GUARD_TOO_WIDE)
answers.edit(*NO_GUARD)
answers.edit(*ROWS_FOR_COLUMNS)
answers.edit(*LAST_PRODUCT)
answers.edit(*NEVER_ADDED)
answers.edit({"c[i, j] = total": "pass"}, "nothing is ever written to c.")
answers.edit({"np.float32(0)": "0.0"}, FLOAT64)


answers.edit(
    {
        "cuda.grid(2)": "cuda.blockIdx.x * 32 + cuda.threadIdx.x, "
        "cuda.blockIdx.y * 4 + cuda.threadIdx.y"
    },
    "a block has not always 32 × 4 threads: cuda.grid(2), or cuda.blockDim.x and cuda.blockDim.y.",
)


@answers.wrong(OWN_ELEMENT)
def two_rows_for_a_thread(a: Matrix, b: Matrix, c: Matrix) -> None:
    j, y = cuda.grid(2)
    for i in range(2 * y, min(2 * y + 2, c.shape[0])):
        if j < c.shape[1]:
            total = np.float32(0)
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
    MATMUL_COALESCED,
    task="Let neighbouring lanes read neighbouring elements of B and write neighbours of C.",
    cases=cases,
    answers=answers,
    budgets=(
        *NO_FLOAT64,
        budgets.sectors_per_request(4, advice=NEIGHBOURS),
        WRITTEN_ONCE,
        EVEN,
        budgets.bytes_moved(bytes_needed, advice=ONE_EACH),
    ),
)
