"""The transpose that reads along rows and pays when it writes."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpulearn import cuda
from gpulearn.judge import budgets
from gpulearn.judge.answers import Answers
from gpulearn.judge.kernel_exercise import Launch, kernel_exercise
from gpulearn.kernels.transpose import TRANSPOSE_NAIVE, transpose_naive, transpose_to_rows

READ_ALONG_ROWS = (
    "Let x be the column of image and y its row: then the lanes of a warp read along a row, and "
    "it is the write that loses."
)
ONE_EACH = "A thread moves one pixel, its own, and each pixel is moved once."
GUARD = "row < image.shape[0] and column < image.shape[1]"

answers = Answers(transpose_naive)


def cases() -> list[Launch]:
    """Wide, tall, square; blocks of several shapes, with threads enough for the longer side."""
    rng = np.random.default_rng(4)

    def launch(rows: int, columns: int, block: tuple[int, int]) -> Launch:
        image = rng.random((rows, columns), dtype=np.float32)
        label = f"a picture of shape ({rows}, {columns}) in blocks of {block}"
        longer, args = max(rows, columns), (image, np.empty((columns, rows), np.float32))
        grid = tuple(-(-longer // side) for side in block)
        measured = columns == 96
        return Launch.of(TRANSPOSE_NAIVE, label, *args, grid=grid, block=block, measured=measured)

    shapes = (
        *((37, 70, (32, 8)), (70, 37, (32, 8)), (40, 40, (32, 8)), (1, 9, (32, 8))),
        *((31, 50, (16, 16)), (50, 31, (24, 4)), (64, 96, (32, 8))),
    )
    return [launch(*shape) for shape in shapes]


answers.wrong(READ_ALONG_ROWS)(transpose_to_rows)
answers.edit({"column, row =": "row, column ="}, READ_ALONG_ROWS)
answers.edit(
    {"out[column, row]": "out[row, column]"},
    "nothing is turned: what stands in image[row, column] belongs in out[column, row].",
)
answers.edit(
    {"image[row, column]": "image[column, row]"},
    "read and write are both turned, and two turns undo each other: swap the indices on one side.",
)
answers.edit(
    {"shape[1]": "shape[0]"},
    "that is right for square pictures only: columns are guarded by image.shape[1], rows by "
    "image.shape[0].",
)
answers.edit(
    {"shape[0]": "shape[1]", "shape[1]": "shape[0]"},
    "x and y are swapped in the guard: it is the column that is less than image.shape[1].",
)
answers.edit(
    {"cuda.grid(2)": "cuda.threadIdx.x, cuda.threadIdx.y"},
    "only block (0, 0) does its part: the block index is never used.",
)
answers.edit(
    {"row <": "row <=", "column <": "column <="},
    "one row and one column too many: guard with `<`, since indices begin at 0.",
)
answers.edit(
    {f"if {GUARD}:\n        ": ""},
    "there are more threads than pixels: those outside the picture need a guard.",
)
answers.edit(
    {"out[column, row]": "out[column, image.shape[0] - 1 - row]"},
    "that turns the picture by a quarter: a transpose leaves row 0 at column 0.",
)
answers.edit(
    {"image[row, column]": "image[0, 0]"},
    "every pixel gets the value of image[0, 0]: both indices have to go along.",
)


@answers.wrong("nothing is written to the elements of out.")
def empty(image: Any, out: Any) -> None:
    pass


answers.variant({GUARD: "column < out.shape[0] and row < out.shape[1]"})


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
    TRANSPOSE_NAIVE,
    task="Transpose image into out, reading 4 sectors per request; the write may lose.",
    cases=cases,
    answers=answers,
    budgets=(
        budgets.sectors_per_request(4, only="load", advice=READ_ALONG_ROWS),
        # reads move whole sectors; each number that is written moves one of its own
        budgets.bytes_moved(lambda launch: 4 * 9 * launch.args[0].size, advice=ONE_EACH),
    ),
)
