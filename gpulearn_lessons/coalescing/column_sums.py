"""The sum of each column, a thread for each."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpulearn import cuda
from gpulearn.judge import budgets
from gpulearn.judge.answers import Answers
from gpulearn.judge.kernel_exercise import Launch, kernel_exercise
from gpulearn_lessons.coalescing.columns import COLUMN_SUMS, column_sums

NEIGHBOURS = (
    "Neighbouring threads should take neighbouring columns: the thread with number i in the grid, "
    "cuda.grid(1), takes column i."
)
FLOAT32 = (
    "A sum that begins with a plain 0.0 or 0 is a float64, and so is every addition to it: begin "
    "with np.float32(0)."
)
OWN_VARIABLE = (
    "Read each element once and write each sum once: what a thread needs again, such as the "
    "running sum, it keeps in a variable of its own."
)

answers = Answers(column_sums)


def allowed(launch: Launch) -> int:
    """Each element once, and some room for another way to begin and to end."""
    matrix, out = launch.args
    return int(matrix.nbytes + out.nbytes) * 11 // 10


def cases() -> list[Launch]:
    """Tall, wide, square, one row; blocks of several sizes, and one too many each time."""
    rng = np.random.default_rng(4)

    def launch(rows: int, columns: int, block: int) -> Launch:
        matrix = rng.uniform(-1, 2, (rows, columns)).astype(np.float32)
        label = f"a matrix of shape ({rows}, {columns}) in blocks of {block}"
        out, grid, measured = np.empty(columns, np.float32), -(-columns // block) + 1, rows == 24
        return Launch.of(COLUMN_SUMS, label, matrix, out, grid=grid, block=block, measured=measured)

    shapes = (
        *((70, 37, 32), (37, 70, 32), (40, 40, 32), (1, 5, 32), (30, 300, 48)),
        *((9, 260, 64), (24, 256, 32)),
    )
    return [launch(*shape) for shape in shapes]


answers.edit({"cuda.grid(1)": "cuda.threadIdx.x * cuda.gridDim.x + cuda.blockIdx.x"}, NEIGHBOURS)
answers.edit({"np.float32(0)": "0.0"}, FLOAT32)
answers.edit({"np.float32(0)": "0"}, FLOAT32)


@answers.wrong(OWN_VARIABLE)
def sums_in_global_memory(matrix: Any, out: Any) -> None:
    column = cuda.grid(1)
    if column < out.size:
        out[column] = 0
        for row in range(matrix.shape[0]):
            out[column] += matrix[row, column]


answers.edit(
    {"out[column] += matrix[row, column]": "cuda.atomic.add(out, column, matrix[row, column])"},
    OWN_VARIABLE,
    of=sums_in_global_memory,
)
answers.edit({"cuda.grid(1)": "cuda.grid(1) % out.size"}, OWN_VARIABLE)
answers.edit(
    {"        out[column] = 0\n": ""},
    # adding to poison leaves poison, so an empty kernel looks the same
    "out holds at the end what it held at the start, or a sum with it: begin each sum at zero, "
    "and write it to out when it is complete.",
    of=sums_in_global_memory,
)
answers.edit(
    {"[row, column]": "[column, row]"},
    "the two indices are swapped: the row stands first, matrix[row, column].",
)
answers.edit(
    {"shape[0]": "shape[1]", "[row, column]": "[column, row]"},
    "these are the sums of the rows: the thread has a column, and walks over the rows.",
)
answers.edit(
    {"shape[0]": "shape[1]"},
    "that is right for square matrices only: a column has as many elements as there are rows, "
    "matrix.shape[0].",
)
answers.edit(
    {"cuda.grid(1)": "cuda.threadIdx.x"},
    "all blocks do the same columns: the block index is never used.",
)
answers.edit(
    {"column < out.size": "column <= out.size"},
    "one column too many: the columns are 0 to out.size - 1, so the guard is a `<`.",
)
answers.edit(
    {"if column < out.size:\n        for": "for", "        out": "    out"},
    "there are more threads than columns: those beyond the last one need a guard.",
)
answers.edit({"range(": "range(1, "}, "the first row is left out: rows are counted from 0.")
answers.edit(
    {"shape[0]": "shape[0] - 1"},
    "the last row is left out: a range already stops before its end.",
)
answers.edit({"+=": "="}, "only one element is left in each sum: add to it, do not replace it.")
answers.edit(
    {"= total": "= total / np.float32(matrix.shape[0])"},
    "these are the means of the columns: the sum is not divided by anything.",
)
answers.edit(
    {"for row in range(matrix.shape[0]):\n            total += matrix[row, column]": "pass"},
    "every sum is 0: nothing is added up.",
)


@answers.right
def from_below(matrix: Any, out: Any) -> None:
    j = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    if j >= matrix.shape[1]:
        return
    running = np.float32(0)
    i = matrix.shape[0] - 1
    while i >= 0:
        running = running + matrix[i, j]
        i -= 1
    out[j] = running


@answers.right
def many_columns_for_a_thread(matrix: Any, out: Any) -> None:
    for column in range(cuda.grid(1), matrix.shape[1], cuda.gridsize(1)):
        total = np.float32(0)
        for row in range(matrix.shape[0]):
            total += matrix[row, column]
        out[column] = total


@answers.right
def from_the_first_row(matrix: Any, out: Any) -> None:
    column = cuda.grid(1)
    if column < out.size:
        total = matrix[0, column]
        for row in range(1, matrix.shape[0]):
            total += matrix[row, column]
        out[column] = total


EXERCISE = kernel_exercise(
    COLUMN_SUMS,
    task="Write the sum of each column of matrix to out, in float32, at 4 sectors per request.",
    cases=cases,
    answers=answers,
    budgets=(
        budgets.sectors_per_request(4, advice=NEIGHBOURS),
        *budgets.float64_sums(advice=FLOAT32),
        budgets.bytes_moved(allowed, advice=OWN_VARIABLE),
        budgets.atomics(lambda launch: launch.args[1].size, of=1, advice=OWN_VARIABLE),
    ),
)
