"""The sum of two matrices, a thread for each element, x over columns and y over rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpulearn import cuda
from gpulearn.judge import budgets
from gpulearn.judge.answers import Answers
from gpulearn.judge.kernel_exercise import Launch, kernel_exercise
from gpulearn_lessons.threads.matrices import MATRIX_ADD_2D, matrix_add_2d

NO_FLOAT64 = "Add the elements as they are: with a float64, such as 0.0, the sum becomes one."
ONE_EACH = (
    "A thread does one element, its own, and threads outside the matrix do none: there is no need "
    "for a loop over all of them, and no element is done twice."
)
GUARD = "x < out.shape[1] and y < out.shape[0]"

Matrix = np.ndarray[tuple[int, int], Any]
answers = Answers(matrix_add_2d)


def cases() -> list[Launch]:
    """Wide, tall and square; ends inside a block in both axes, one or none; a single row."""
    rng = np.random.default_rng(4)

    def launch(m: int, n: int, block: tuple[int, int]) -> Launch:
        a, b = rng.normal(size=(2, m, n)).astype(np.float32)
        label = f"matrices of shape ({m}, {n}) in blocks of {block}"
        return Launch.of(MATRIX_ADD_2D, label, a, b, np.empty_like(a), block=block)

    shapes = (
        *((29, 43, (16, 8)), (43, 29, (16, 8)), (32, 32, (8, 8)), (1, 70, (32, 4))),
        *((70, 1, (4, 32)), (24, 33, (10, 8)), (27, 30, (10, 8))),
    )
    return [launch(*shape) for shape in shapes]


answers.edit(
    {"cuda.grid(2)": "cuda.threadIdx.x, cuda.threadIdx.y"},
    "only block (0, 0) is right: the block index is never used.",
)
answers.edit(
    {"cuda.grid(2)": "cuda.grid(1), cuda.threadIdx.y"},
    "blockIdx.y is never used: only the first row of blocks is right.",
)
answers.edit(
    {"cuda.grid(2)": "cuda.threadIdx.x, cuda.blockIdx.y * cuda.blockDim.y + cuda.threadIdx.y"},
    "blockIdx.x is never used: only the first column of blocks is right.",
)
answers.edit(
    {"x, y =": "y, x ="},
    "x and y are swapped: cuda.grid(2) gives x first, x counts columns, and the grid is wide "
    "enough for that only.",
)
answers.edit(
    {"out[y, x] = a[y, x] + b[y, x]": "out[x, y] = a[x, y] + b[x, y]"},
    "the first number of cuda.grid(2), x, is held against the columns, but then stands where the "
    "row belongs: x, y = cuda.grid(2) and [y, x]. It is right on square matrices only.",
)
answers.edit(
    {"b[y, x]": "b[x, y]"}, "the read of b is transposed: both matrices are read at [y, x]."
)
answers.edit(
    {GUARD: "x < out.shape[0] and y < out.shape[1]"},
    "the guard is swapped: shape[0] counts rows, so y < shape[0] and x < shape[1].",
)
answers.edit(
    {f"if {GUARD}:\n        ": ""},
    "threads outside the matrix are not kept from acting: a guard must let them do nothing.",
)
answers.edit(
    {" and y < out.shape[0]": ""},
    "the columns have their guard, the rows have none: y < shape[0] is missing.",
)
answers.edit(
    {"x < out.shape[1] and ": ""},
    "the rows have their guard, the columns have none: x < shape[1] is missing.",
)
answers.edit(
    {"and": "or"},
    "with or, one of the two conditions is enough to pass: a thread must meet both.",
)
answers.edit(
    {"and": "&"}, "& binds more tightly than <, so this compares with shape[1] & y: write and."
)
answers.edit(
    {"x <": "x <=", "y <": "y <="},
    "the guard lets one too many in: the last row is shape[0] − 1, so < and not <=.",
)


@answers.wrong(
    "nothing arrives in out: does out[y, x] = … stand in the kernel, with = and not with +=?"
)
def empty(a: Matrix, b: Matrix, out: Matrix) -> None:
    pass


answers.edit(
    {"a[y, x] + b[y, x]": "a[0, 0] + b[0, 0]"},
    "every element of out is a[0, 0] + b[0, 0]: read a[y, x] and b[y, x].",
)
answers.edit(
    {"x, y = cuda.grid(2)": "x = y = cuda.grid(1)"},
    "only the diagonal is written: row and column are two numbers, cuda.grid(2).",
)


@answers.wrong("one index for a matrix: cuda.grid(1) counts in x alone. Take x, y = cuda.grid(2).")
def x_alone(a: Matrix, b: Matrix, out: Matrix) -> None:
    i = cuda.grid(1)
    if i < out.size:
        y, x = i // out.shape[1], i % out.shape[1]
        out[y, x] = a[y, x] + b[y, x]


answers.edit({"a[y, x] + b": "0.0 + a[y, x] + b"}, NO_FLOAT64)


@answers.wrong(ONE_EACH)
def every_thread_does_all(a: Matrix, b: Matrix, out: Matrix) -> None:
    for y in range(out.shape[0]):
        for x in range(out.shape[1]):
            out[y, x] = a[y, x] + b[y, x]


@answers.wrong(ONE_EACH)
def strides_too_short(a: Matrix, b: Matrix, out: Matrix) -> None:
    x, y = cuda.grid(2)
    while y < out.shape[0]:
        if x < out.shape[1]:
            out[y, x] = a[y, x] + b[y, x]
        y += cuda.blockDim.y


@answers.right
def written_out(a: Matrix, b: Matrix, out: Matrix) -> None:
    column = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    row = cuda.blockIdx.y * cuda.blockDim.y + cuda.threadIdx.y
    rows, columns = out.shape
    if row >= rows or column >= columns:
        return
    out[row, column] = a[row, column] + b[row, column]


@answers.right
def in_strides(a: Matrix, b: Matrix, out: Matrix) -> None:
    first_x, first_y = cuda.grid(2)
    step_x, step_y = cuda.gridsize(2)
    for x in range(first_x, out.shape[1], step_x):
        for y in range(first_y, out.shape[0], step_y):
            out[y, x] = a[y, x] + b[y, x]


@answers.right
def numbered_through(a: Matrix, b: Matrix, out: Matrix) -> None:
    x, y = cuda.grid(2)
    wide, high = cuda.gridsize(2)
    i = y * wide + x
    while i < out.size:
        row, column = i // out.shape[1], i % out.shape[1]
        out[row, column] = a[row, column] + b[row, column]
        i += wide * high


EXERCISE = kernel_exercise(
    MATRIX_ADD_2D,
    task="Write the kernel out = a + b for matrices, a thread for each element.",
    cases=cases,
    answers=answers,
    budgets=(
        budgets.float64(advice=NO_FLOAT64),
        budgets.operations(lambda launch: 5 * launch.args[0].size // 4, advice=ONE_EACH),
    ),
)
