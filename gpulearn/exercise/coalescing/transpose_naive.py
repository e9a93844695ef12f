"""Exercise: the transpose that reads along rows and pays when it writes."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpulearn import cuda
from gpulearn.checker import budgets
from gpulearn.checker.answers import Answers
from gpulearn.checker.kernel_exercise import Launch, kernel_exercise
from gpulearn.kernels.transpose import transpose_naive as solution

__all__ = ["EXERCISE"]

Array = np.ndarray[Any, Any]

READ_ALONG_ROWS = (
    "Let x be the column of image and y its row: then the lanes of a warp read along a row, and "
    "it is the write that loses."
)

ONE_EACH = "A thread moves one pixel, its own, and each pixel is moved once."

answers = Answers()


def transposed(image: Array, out: Array) -> tuple[Array]:
    """The specification: rows become columns."""
    return (np.ascontiguousarray(image.T),)


def cases() -> list[Launch]:
    """Wide, tall, square; enough threads in x and in y for the longer side."""
    rng = np.random.default_rng(4)
    made = []
    for rows, columns in ((37, 70), (70, 37), (40, 40), (1, 9), (64, 96)):
        image = rng.random((rows, columns), dtype=np.float32)
        longer = max(rows, columns)
        args = (image, np.empty((columns, rows), np.float32))
        grid = (-(-longer // 32), -(-longer // 8))
        label, measured = f"a picture of shape ({rows}, {columns})", columns == 96
        made.append(Launch(label, args, grid=grid, block=(32, 8), outputs=(1,), measured=measured))
    return made


@answers.wrong(READ_ALONG_ROWS)
def read_loses(image: Any, out: Any) -> None:
    column, row = cuda.grid(2)
    if row < out.shape[0] and column < out.shape[1]:
        out[row, column] = image[column, row]


@answers.wrong(READ_ALONG_ROWS)
def x_as_the_row(image: Any, out: Any) -> None:
    i, j = cuda.grid(2)
    if i < image.shape[0] and j < image.shape[1]:
        out[j, i] = image[i, j]


@answers.wrong("nothing is turned: what stands in image[row, column] belongs in out[column, row].")
def copied(image: Any, out: Any) -> None:
    column, row = cuda.grid(2)
    if row < image.shape[0] and column < image.shape[1]:
        out[row, column] = image[row, column]


@answers.wrong(
    "read and write are both turned, and two turns undo each other: swap the indices on one side."
)
def turned_twice(image: Any, out: Any) -> None:
    column, row = cuda.grid(2)
    if row < image.shape[0] and column < image.shape[1]:
        out[column, row] = image[column, row]


@answers.wrong(
    "that is right for square pictures only: columns are guarded by image.shape[1], rows by "
    "image.shape[0]."
)
def square_only(image: Any, out: Any) -> None:
    column, row = cuda.grid(2)
    if row < image.shape[0] and column < image.shape[0]:
        out[column, row] = image[row, column]


@answers.wrong(
    "x and y are swapped in the guard: it is the column that is less than image.shape[1]."
)
def guard_swapped(image: Any, out: Any) -> None:
    column, row = cuda.grid(2)
    if row < image.shape[1] and column < image.shape[0]:
        out[column, row] = image[row, column]


@answers.wrong("only block (0, 0) does its part: the block index is never used.")
def block_ignored(image: Any, out: Any) -> None:
    column, row = cuda.threadIdx.x, cuda.threadIdx.y
    if row < image.shape[0] and column < image.shape[1]:
        out[column, row] = image[row, column]


@answers.wrong("one row and one column too many: guard with `<`, since indices begin at 0.")
def guard_off_by_one(image: Any, out: Any) -> None:
    column, row = cuda.grid(2)
    if row <= image.shape[0] and column <= image.shape[1]:
        out[column, row] = image[row, column]


@answers.wrong("there are more threads than pixels: those outside the picture need a guard.")
def no_guard(image: Any, out: Any) -> None:
    column, row = cuda.grid(2)
    out[column, row] = image[row, column]


@answers.wrong("that turns the picture by a quarter: a transpose leaves row 0 at column 0.")
def quarter_turn(image: Any, out: Any) -> None:
    column, row = cuda.grid(2)
    if row < image.shape[0] and column < image.shape[1]:
        out[column, image.shape[0] - 1 - row] = image[row, column]


@answers.wrong("every pixel gets the value of image[0, 0]: both indices have to go along.")
def constant(image: Any, out: Any) -> None:
    column, row = cuda.grid(2)
    if row < image.shape[0] and column < image.shape[1]:
        out[column, row] = image[0, 0]


@answers.wrong("nothing is written to the elements of out.")
def empty(image: Any, out: Any) -> None:
    pass


@answers.right
def guarded_by_the_result(image: Any, out: Any) -> None:
    x, y = cuda.grid(2)
    if x < out.shape[0] and y < out.shape[1]:
        out[x, y] = image[y, x]


@answers.right
def from_the_indices(image: Any, out: Any) -> None:
    i = cuda.blockIdx.y * cuda.blockDim.y + cuda.threadIdx.y
    j = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    if i >= image.shape[0] or j >= image.shape[1]:
        return
    value = image[i, j]
    out[j, i] = value


@answers.right
def for_any_launch(image: Any, out: Any) -> None:
    column, row = cuda.grid(2)
    across, down = cuda.gridsize(2)
    for i in range(row, image.shape[0], down):
        for j in range(column, image.shape[1], across):
            out[j, i] = image[i, j]


EXERCISE = kernel_exercise(
    name="transpose_naive",
    notebook="04_memory_coalescing",
    task="Transpose image into out, reading 4 sectors per request; the write may lose.",
    reference=solution,
    cases=cases,
    expect=transposed,
    answers=answers,
    budgets=(
        budgets.sectors_per_request(4, only="load", advice=READ_ALONG_ROWS),
        # reads move whole sectors; each number that is written moves one of its own
        budgets.bytes_moved(lambda launch: 4 * 9 * launch.args[0].size, advice=ONE_EACH),
    ),
)
