"""Exercise: the sum of each column, a thread for each."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpulearn import cuda
from gpulearn.checker import budgets
from gpulearn.checker.answers import Answers
from gpulearn.checker.kernel_exercise import Launch, kernel_exercise
from gpulearn.kernels.columns import column_sums as solution

__all__ = ["EXERCISE"]

Array = np.ndarray[Any, Any]

NEIGHBOURS = (
    "Neighbouring threads should take neighbouring columns: number the threads by cuda.grid(1)."
)
FLOAT32 = (
    "A sum that begins with a plain 0.0 or 0 is a float64, and so is every addition to it: begin "
    "with np.float32(0)."
)
OWN_VARIABLE = (
    "Read each element once and write each sum once: keep the running sum in a variable of "
    "the thread."
)

answers = Answers()


def summed(matrix: Array, out: Array) -> tuple[Array]:
    """The specification: what NumPy adds up along the rows' axis."""
    return (matrix.sum(axis=0, dtype=np.float64).astype(np.float32),)


def allowed(launch: Launch) -> int:
    """Each element once, and some room for another way to begin and to end."""
    matrix, out = launch.args
    return int(matrix.nbytes + out.nbytes) * 6 // 5


def cases() -> list[Launch]:
    """Tall, wide, square, one row; one block too many each time."""
    rng = np.random.default_rng(4)
    made = []
    for rows, columns in ((70, 37), (37, 70), (40, 40), (1, 5), (48, 128)):
        matrix = rng.uniform(-1, 2, (rows, columns)).astype(np.float32)
        label = f"a matrix of shape ({rows}, {columns})"
        args = (matrix, np.empty(columns, np.float32))
        grid, measured = -(-columns // 32) + 1, columns == 128
        made.append(Launch(label, args, grid=grid, block=32, outputs=(1,), measured=measured))
    return made


@answers.wrong(NEIGHBOURS)
def blocks_take_turns(matrix: Any, out: Any) -> None:
    column = cuda.threadIdx.x * cuda.gridDim.x + cuda.blockIdx.x
    total = np.float32(0)
    if column < out.size:
        for row in range(matrix.shape[0]):
            total += matrix[row, column]
        out[column] = total


@answers.wrong(FLOAT32)
def sums_in_float64(matrix: Any, out: Any) -> None:
    column = cuda.grid(1)
    total = 0.0
    if column < out.size:
        for row in range(matrix.shape[0]):
            total += matrix[row, column]
        out[column] = total


@answers.wrong(FLOAT32)
def sums_from_a_whole_number(matrix: Any, out: Any) -> None:
    column = cuda.grid(1)
    total = 0
    if column < out.size:
        for row in range(matrix.shape[0]):
            total += matrix[row, column]
        out[column] = total


@answers.wrong(OWN_VARIABLE)
def sums_in_global_memory(matrix: Any, out: Any) -> None:
    column = cuda.grid(1)
    if column < out.size:
        out[column] = 0
        for row in range(matrix.shape[0]):
            out[column] += matrix[row, column]


@answers.wrong(OWN_VARIABLE)
def adds_atomically(matrix: Any, out: Any) -> None:
    column = cuda.grid(1)
    if column < out.size:
        out[column] = 0
        for row in range(matrix.shape[0]):
            cuda.atomic.add(out, column, matrix[row, column])


@answers.wrong(OWN_VARIABLE)
def begins_again(matrix: Any, out: Any) -> None:
    column = cuda.grid(1) % out.size
    total = np.float32(0)
    for row in range(matrix.shape[0]):
        total += matrix[row, column]
    out[column] = total


@answers.wrong(  # adding to poison leaves poison, so an empty kernel looks the same
    "out holds at the end what it held at the start, or a sum with it: begin each sum at zero, "
    "and write it to out when it is complete."
)
def adds_to_what_was_there(matrix: Any, out: Any) -> None:
    column = cuda.grid(1)
    if column < out.size:
        for row in range(matrix.shape[0]):
            out[column] += matrix[row, column]


@answers.wrong("the two indices are swapped: the row stands first, matrix[row, column].")
def indices_swapped(matrix: Any, out: Any) -> None:
    column = cuda.grid(1)
    total = np.float32(0)
    if column < out.size:
        for row in range(matrix.shape[0]):
            total += matrix[column, row]
        out[column] = total


@answers.wrong("these are the sums of the rows: the thread has a column, and walks over the rows.")
def sums_of_rows(matrix: Any, out: Any) -> None:
    row = cuda.grid(1)
    total = np.float32(0)
    if row < out.size:
        for column in range(matrix.shape[1]):
            total += matrix[row, column]
        out[row] = total


@answers.wrong(
    "that is right for square matrices only: a column has as many elements as there are rows, "
    "matrix.shape[0]."
)
def square_only(matrix: Any, out: Any) -> None:
    column = cuda.grid(1)
    total = np.float32(0)
    if column < out.size:
        for row in range(matrix.shape[1]):
            total += matrix[row, column]
        out[column] = total


@answers.wrong("all blocks do the same columns: the block index is never used.")
def block_ignored(matrix: Any, out: Any) -> None:
    column = cuda.threadIdx.x
    total = np.float32(0)
    if column < out.size:
        for row in range(matrix.shape[0]):
            total += matrix[row, column]
        out[column] = total


@answers.wrong("one column too many: the columns are 0 to out.size - 1, so the guard is a `<`.")
def guard_off_by_one(matrix: Any, out: Any) -> None:
    column = cuda.grid(1)
    total = np.float32(0)
    if column <= out.size:
        for row in range(matrix.shape[0]):
            total += matrix[row, column]
        out[column] = total


@answers.wrong("there are more threads than columns: those beyond the last one need a guard.")
def no_guard(matrix: Any, out: Any) -> None:
    column = cuda.grid(1)
    total = np.float32(0)
    for row in range(matrix.shape[0]):
        total += matrix[row, column]
    out[column] = total


@answers.wrong("the first row is left out: rows are counted from 0.")
def first_row_missing(matrix: Any, out: Any) -> None:
    column = cuda.grid(1)
    total = np.float32(0)
    if column < out.size:
        for row in range(1, matrix.shape[0]):
            total += matrix[row, column]
        out[column] = total


@answers.wrong("the last row is left out: a range already stops before its end.")
def last_row_missing(matrix: Any, out: Any) -> None:
    column = cuda.grid(1)
    total = np.float32(0)
    if column < out.size:
        for row in range(matrix.shape[0] - 1):
            total += matrix[row, column]
        out[column] = total


@answers.wrong("only one element is left in each sum: add to it, do not replace it.")
def replaces(matrix: Any, out: Any) -> None:
    column = cuda.grid(1)
    total = np.float32(0)
    if column < out.size:
        for row in range(matrix.shape[0]):
            total = matrix[row, column]
        out[column] = total


@answers.wrong("these are the means of the columns: the sum is not divided by anything.")
def means(matrix: Any, out: Any) -> None:
    column = cuda.grid(1)
    total = np.float32(0)
    if column < out.size:
        for row in range(matrix.shape[0]):
            total += matrix[row, column]
        out[column] = total / np.float32(matrix.shape[0])


@answers.wrong("every sum is 0: nothing is added up.")
def constant(matrix: Any, out: Any) -> None:
    column = cuda.grid(1)
    total = np.float32(0)
    if column < out.size:
        out[column] = total


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
    name="column_sums",
    notebook="04_memory_coalescing",
    task="Write the sum of each column of matrix to out, in float32, at 4 sectors per request.",
    reference=solution,
    cases=cases,
    expect=summed,
    answers=answers,
    budgets=(
        budgets.sectors_per_request(4, advice=NEIGHBOURS),
        budgets.float64(advice=FLOAT32),
        budgets.bytes_moved(allowed, advice=OWN_VARIABLE),
        budgets.atomics(lambda launch: launch.args[1].size, of=1, advice=OWN_VARIABLE),
    ),
)
