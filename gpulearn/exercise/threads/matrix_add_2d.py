"""Add two matrices, a thread for each element, x over columns and y over rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpulearn import cuda
from gpulearn.checker import budgets
from gpulearn.checker.answers import Answers
from gpulearn.checker.kernel_exercise import Launch, kernel_exercise
from gpulearn.kernels.indexing import blocks_for
from gpulearn.kernels.matrices import matrix_add_2d

__all__ = ["EXERCISE"]

NO_FLOAT64 = "Add the elements as they are; a total that starts at 0.0 starts as a float64."
ONE_EACH = (
    "A thread does one element, its own, and threads outside the matrix do none: there is no need "
    "for a loop over all of them."
)

Matrix = np.ndarray[tuple[int, int], Any]
answers = Answers()


def cases() -> list[Launch]:
    """Wide, tall and square; ends inside a block in both axes, one or none; a single row."""
    rng = np.random.default_rng(4)
    made = []
    for m, n, block in (
        *((29, 43, (16, 8)), (43, 29, (16, 8)), (32, 32, (8, 8)), (1, 70, (32, 4))),
        *((70, 1, (4, 32)), (24, 33, (10, 8)), (27, 30, (10, 8))),
    ):
        a, b = rng.normal(size=(2, m, n)).astype(np.float32)
        label = f"matrices of shape ({m}, {n}) in blocks of {block}"
        grid = blocks_for(n, block[0]), blocks_for(m, block[1])
        args = (a, b, np.empty_like(a))
        made.append(Launch(label, args, grid=grid, block=block, outputs=(2,)))
    return made


def expect(a: Matrix, b: Matrix, out: Matrix) -> tuple[Matrix]:
    """The specification."""
    return (a + b,)


@answers.wrong("only block (0, 0) is right: the block index is never used.")
def block_ignored(a: Matrix, b: Matrix, out: Matrix) -> None:
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    if x < out.shape[1] and y < out.shape[0]:
        out[y, x] = a[y, x] + b[y, x]


@answers.wrong("blockIdx.y is never used: only the first row of blocks is right.")
def block_y_ignored(a: Matrix, b: Matrix, out: Matrix) -> None:
    x = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    y = cuda.threadIdx.y
    if x < out.shape[1] and y < out.shape[0]:
        out[y, x] = a[y, x] + b[y, x]


@answers.wrong("blockIdx.x is never used: only the first column of blocks is right.")
def block_x_ignored(a: Matrix, b: Matrix, out: Matrix) -> None:
    x = cuda.threadIdx.x
    y = cuda.blockIdx.y * cuda.blockDim.y + cuda.threadIdx.y
    if x < out.shape[1] and y < out.shape[0]:
        out[y, x] = a[y, x] + b[y, x]


@answers.wrong(
    "x and y are swapped: cuda.grid(2) gives x first, x counts columns, and the grid is wide "
    "enough for that only."
)
def swapped(a: Matrix, b: Matrix, out: Matrix) -> None:
    i, j = cuda.grid(2)
    if i < out.shape[0] and j < out.shape[1]:
        out[i, j] = a[i, j] + b[i, j]


@answers.wrong(
    "the first number of cuda.grid(2), x, is held against the columns, but then stands where the "
    "row belongs: x, y = cuda.grid(2) and [y, x]. It is right on square matrices only."
)
def square_only(a: Matrix, b: Matrix, out: Matrix) -> None:
    x, y = cuda.grid(2)
    if x < out.shape[1] and y < out.shape[0]:
        out[x, y] = a[x, y] + b[x, y]


@answers.wrong("the read of b is transposed: both matrices are read at [y, x].")
def b_transposed(a: Matrix, b: Matrix, out: Matrix) -> None:
    x, y = cuda.grid(2)
    if x < out.shape[1] and y < out.shape[0]:
        out[y, x] = a[y, x] + b[x, y]


@answers.wrong("the guard is swapped: shape[0] counts rows, so y < shape[0] and x < shape[1].")
def guard_swapped(a: Matrix, b: Matrix, out: Matrix) -> None:
    x, y = cuda.grid(2)
    if x < out.shape[0] and y < out.shape[1]:
        out[y, x] = a[y, x] + b[y, x]


@answers.wrong("there is no guard: threads outside the matrix must do nothing.")
def no_guard(a: Matrix, b: Matrix, out: Matrix) -> None:
    x, y = cuda.grid(2)
    out[y, x] = a[y, x] + b[y, x]


@answers.wrong("the columns have their guard, the rows have none: y < shape[0] is missing.")
def rows_unguarded(a: Matrix, b: Matrix, out: Matrix) -> None:
    x, y = cuda.grid(2)
    if x < out.shape[1]:
        out[y, x] = a[y, x] + b[y, x]


@answers.wrong("the rows have their guard, the columns have none: x < shape[1] is missing.")
def columns_unguarded(a: Matrix, b: Matrix, out: Matrix) -> None:
    x, y = cuda.grid(2)
    if y < out.shape[0]:
        out[y, x] = a[y, x] + b[y, x]


@answers.wrong("with or, one of the two conditions is enough to pass: a thread must meet both.")
def guard_with_or(a: Matrix, b: Matrix, out: Matrix) -> None:
    x, y = cuda.grid(2)
    if x < out.shape[1] or y < out.shape[0]:
        out[y, x] = a[y, x] + b[y, x]


@answers.wrong("& binds more tightly than <, so this compares with shape[1] & y: write and.")
def guard_with_ampersand(a: Matrix, b: Matrix, out: Matrix) -> None:
    x, y = cuda.grid(2)
    if x < out.shape[1] & y < out.shape[0]:
        out[y, x] = a[y, x] + b[y, x]


@answers.wrong("the guard lets one too many in: the last row is shape[0] − 1, so < and not <=.")
def guard_too_wide(a: Matrix, b: Matrix, out: Matrix) -> None:
    x, y = cuda.grid(2)
    if x <= out.shape[1] and y <= out.shape[0]:
        out[y, x] = a[y, x] + b[y, x]


@answers.wrong(
    "nothing arrives in out: does out[y, x] = … stand in the kernel, with = and not with +=?"
)
def empty(a: Matrix, b: Matrix, out: Matrix) -> None:
    pass


@answers.wrong("every element of out is a[0, 0] + b[0, 0]: read a[y, x] and b[y, x].")
def constant(a: Matrix, b: Matrix, out: Matrix) -> None:
    x, y = cuda.grid(2)
    if x < out.shape[1] and y < out.shape[0]:
        out[y, x] = a[0, 0] + b[0, 0]


@answers.wrong("only the diagonal is written: row and column are two numbers, cuda.grid(2).")
def diagonal(a: Matrix, b: Matrix, out: Matrix) -> None:
    i = cuda.grid(1)
    if i < out.shape[0] and i < out.shape[1]:
        out[i, i] = a[i, i] + b[i, i]


@answers.wrong("one index for a matrix: cuda.grid(1) counts in x alone. Take x, y = cuda.grid(2).")
def x_alone(a: Matrix, b: Matrix, out: Matrix) -> None:
    i = cuda.grid(1)
    if i < out.size:
        y, x = i // out.shape[1], i % out.shape[1]
        out[y, x] = a[y, x] + b[y, x]


@answers.wrong(NO_FLOAT64)
def in_float64(a: Matrix, b: Matrix, out: Matrix) -> None:
    x, y = cuda.grid(2)
    if x < out.shape[1] and y < out.shape[0]:
        total = 0.0
        total += a[y, x]
        total += b[y, x]
        out[y, x] = total


@answers.wrong(ONE_EACH)
def every_thread_does_all(a: Matrix, b: Matrix, out: Matrix) -> None:
    for y in range(out.shape[0]):
        for x in range(out.shape[1]):
            out[y, x] = a[y, x] + b[y, x]


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
    name="matrix_add_2d",
    notebook="03_threads_blocks_grids",
    task="Write the kernel out = a + b for matrices, a thread for each element.",
    reference=matrix_add_2d,
    cases=cases,
    expect=expect,
    answers=answers,
    budgets=(
        budgets.float64(advice=NO_FLOAT64),
        budgets.operations(lambda launch: 2 * launch.args[0].size, advice=ONE_EACH),
    ),
)
