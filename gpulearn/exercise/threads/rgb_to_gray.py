"""Turn a picture to grey, a thread for each pixel."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpulearn import cuda
from gpulearn.checker import budgets
from gpulearn.checker.answers import Answers
from gpulearn.checker.kernel_exercise import Launch, kernel_exercise
from gpulearn.kernels.images import BLUE, GREEN, RED, rgb_to_gray
from gpulearn.kernels.indexing import blocks_for

__all__ = ["EXERCISE"]

NO_FLOAT64 = "A plain 0.299 in a kernel is a float64: use RED, GREEN and BLUE, which are float32."
ONE_EACH = (
    "A thread does one pixel, its own, and threads outside the picture do none: there is no need "
    "for a loop over all of them."
)

Image = np.ndarray[tuple[int, int, int], Any]
Plane = np.ndarray[tuple[int, int], Any]
answers = Answers()


def cases() -> list[Launch]:
    """Wide, tall and square; ends inside a block in both axes, one or none; a single column."""
    rng = np.random.default_rng(5)
    made = []
    for h, w, block in (
        *((23, 37, (16, 8)), (37, 23, (16, 8)), (32, 32, (16, 16)), (1, 50, (32, 2))),
        *((50, 1, (2, 32)), (16, 31, (9, 8)), (19, 27, (9, 8))),
    ):
        rgb = rng.integers(0, 256, size=(h, w, 3), dtype=np.uint8)
        label = f"a picture of {h} rows and {w} columns in blocks of {block}"
        grid = blocks_for(w, block[0]), blocks_for(h, block[1])
        args = (rgb, np.empty((h, w), np.float32))
        made.append(Launch(label, args, grid=grid, block=block, outputs=(1,)))
    return made


def expect(rgb: Image, gray: Plane) -> tuple[Plane]:
    """The specification; ITU-R BT.601-7, section 2.5.1."""
    return ((rgb @ np.array([0.299, 0.587, 0.114])).astype(np.float32),)


@answers.wrong("only block (0, 0) is right: the block index is never used.")
def block_ignored(rgb: Image, gray: Plane) -> None:
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    if x < gray.shape[1] and y < gray.shape[0]:
        gray[y, x] = RED * rgb[y, x, 0] + GREEN * rgb[y, x, 1] + BLUE * rgb[y, x, 2]


@answers.wrong("blockIdx.y is never used: only the first row of blocks is right.")
def block_y_ignored(rgb: Image, gray: Plane) -> None:
    x = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    y = cuda.threadIdx.y
    if x < gray.shape[1] and y < gray.shape[0]:
        gray[y, x] = RED * rgb[y, x, 0] + GREEN * rgb[y, x, 1] + BLUE * rgb[y, x, 2]


@answers.wrong(
    "x and y are swapped: cuda.grid(2) gives x first, x counts columns, and the grid is wide "
    "enough for that only."
)
def swapped(rgb: Image, gray: Plane) -> None:
    i, j = cuda.grid(2)
    if i < gray.shape[0] and j < gray.shape[1]:
        gray[i, j] = RED * rgb[i, j, 0] + GREEN * rgb[i, j, 1] + BLUE * rgb[i, j, 2]


@answers.wrong(
    "the first number of cuda.grid(2), x, is held against the columns, but then stands where the "
    "row belongs: x, y = cuda.grid(2) and [y, x]. It is right on square pictures only."
)
def square_only(rgb: Image, gray: Plane) -> None:
    x, y = cuda.grid(2)
    if x < gray.shape[1] and y < gray.shape[0]:
        gray[x, y] = RED * rgb[x, y, 0] + GREEN * rgb[x, y, 1] + BLUE * rgb[x, y, 2]


@answers.wrong("the picture is read transposed: rgb wants [y, x, colour] as gray wants [y, x].")
def transposed_read(rgb: Image, gray: Plane) -> None:
    x, y = cuda.grid(2)
    if x < gray.shape[1] and y < gray.shape[0]:
        gray[y, x] = RED * rgb[x, y, 0] + GREEN * rgb[x, y, 1] + BLUE * rgb[x, y, 2]


@answers.wrong("the guard is swapped: shape[0] counts rows, so y < shape[0] and x < shape[1].")
def guard_swapped(rgb: Image, gray: Plane) -> None:
    x, y = cuda.grid(2)
    if x < gray.shape[0] and y < gray.shape[1]:
        gray[y, x] = RED * rgb[y, x, 0] + GREEN * rgb[y, x, 1] + BLUE * rgb[y, x, 2]


@answers.wrong("there is no guard: threads outside the picture must do nothing.")
def no_guard(rgb: Image, gray: Plane) -> None:
    x, y = cuda.grid(2)
    gray[y, x] = RED * rgb[y, x, 0] + GREEN * rgb[y, x, 1] + BLUE * rgb[y, x, 2]


@answers.wrong("the columns have their guard, the rows have none: y < shape[0] is missing.")
def rows_unguarded(rgb: Image, gray: Plane) -> None:
    x, y = cuda.grid(2)
    if x < gray.shape[1]:
        gray[y, x] = RED * rgb[y, x, 0] + GREEN * rgb[y, x, 1] + BLUE * rgb[y, x, 2]


@answers.wrong("the guard lets one too many in: the last row is shape[0] − 1, so < and not <=.")
def guard_too_wide(rgb: Image, gray: Plane) -> None:
    x, y = cuda.grid(2)
    if x <= gray.shape[1] and y <= gray.shape[0]:
        gray[y, x] = RED * rgb[y, x, 0] + GREEN * rgb[y, x, 1] + BLUE * rgb[y, x, 2]


@answers.wrong(
    "nothing arrives in gray: does gray[y, x] = … stand in the kernel, with = and not with +=?"
)
def empty(rgb: Image, gray: Plane) -> None:
    pass


@answers.wrong("every pixel is as grey as the one in the corner: read rgb[y, x, 0] and so on.")
def constant(rgb: Image, gray: Plane) -> None:
    x, y = cuda.grid(2)
    if x < gray.shape[1] and y < gray.shape[0]:
        gray[y, x] = RED * rgb[0, 0, 0] + GREEN * rgb[0, 0, 1] + BLUE * rgb[0, 0, 2]


@answers.wrong("red and blue are swapped: rgb[y, x, 0] is red, and blue counts least.")
def bgr(rgb: Image, gray: Plane) -> None:
    x, y = cuda.grid(2)
    if x < gray.shape[1] and y < gray.shape[0]:
        gray[y, x] = BLUE * rgb[y, x, 0] + GREEN * rgb[y, x, 1] + RED * rgb[y, x, 2]


@answers.wrong("red and green are swapped: rgb[y, x, 0] is red and rgb[y, x, 1] is green.")
def grb(rgb: Image, gray: Plane) -> None:
    x, y = cuda.grid(2)
    if x < gray.shape[1] and y < gray.shape[0]:
        gray[y, x] = GREEN * rgb[y, x, 0] + RED * rgb[y, x, 1] + BLUE * rgb[y, x, 2]


@answers.wrong("green and blue are swapped: rgb[y, x, 1] is green and rgb[y, x, 2] is blue.")
def rbg(rgb: Image, gray: Plane) -> None:
    x, y = cuda.grid(2)
    if x < gray.shape[1] and y < gray.shape[0]:
        gray[y, x] = RED * rgb[y, x, 0] + BLUE * rgb[y, x, 1] + GREEN * rgb[y, x, 2]


@answers.wrong("blue is missing: three colours count, 0, 1 and 2.")
def without_blue(rgb: Image, gray: Plane) -> None:
    x, y = cuda.grid(2)
    if x < gray.shape[1] and y < gray.shape[0]:
        gray[y, x] = RED * rgb[y, x, 0] + GREEN * rgb[y, x, 1]


@answers.wrong(
    "each assignment overwrites the one before, and blue alone is left: add the three up."
)
def overwritten(rgb: Image, gray: Plane) -> None:
    x, y = cuda.grid(2)
    if x < gray.shape[1] and y < gray.shape[0]:
        gray[y, x] = RED * rgb[y, x, 0]
        gray[y, x] = GREEN * rgb[y, x, 1]
        gray[y, x] = BLUE * rgb[y, x, 2]


@answers.wrong("that is green as it stands: weigh all three with RED, GREEN and BLUE.")
def green_as_it_is(rgb: Image, gray: Plane) -> None:
    x, y = cuda.grid(2)
    if x < gray.shape[1] and y < gray.shape[0]:
        gray[y, x] = rgb[y, x, 1]


@answers.wrong("that is the plain mean of the three: weigh them with RED, GREEN and BLUE.")
def mean(rgb: Image, gray: Plane) -> None:
    x, y = cuda.grid(2)
    if x < gray.shape[1] and y < gray.shape[0]:
        gray[y, x] = (rgb[y, x, 0] + rgb[y, x, 1] + rgb[y, x, 2]) / np.float32(3)


@answers.wrong("that is the sum of the three: weigh them with RED, GREEN and BLUE.")
def unweighted(rgb: Image, gray: Plane) -> None:
    x, y = cuda.grid(2)
    if x < gray.shape[1] and y < gray.shape[0]:
        gray[y, x] = rgb[y, x, 0] + rgb[y, x, 1] + rgb[y, x, 2]


@answers.wrong("only red counts: green and blue are missing.")
def red_only(rgb: Image, gray: Plane) -> None:
    x, y = cuda.grid(2)
    if x < gray.shape[1] and y < gray.shape[0]:
        gray[y, x] = RED * rgb[y, x, 0]


@answers.wrong("one index for a picture: cuda.grid(1) counts in x alone. Take x, y = cuda.grid(2).")
def x_alone(rgb: Image, gray: Plane) -> None:
    i = cuda.grid(1)
    if i < gray.size:
        y, x = i // gray.shape[1], i % gray.shape[1]
        gray[y, x] = RED * rgb[y, x, 0] + GREEN * rgb[y, x, 1] + BLUE * rgb[y, x, 2]


@answers.wrong(NO_FLOAT64)
def in_float64(rgb: Image, gray: Plane) -> None:
    x, y = cuda.grid(2)
    if x < gray.shape[1] and y < gray.shape[0]:
        gray[y, x] = 0.299 * rgb[y, x, 0] + 0.587 * rgb[y, x, 1] + 0.114 * rgb[y, x, 2]


@answers.wrong(ONE_EACH)
def every_thread_does_all(rgb: Image, gray: Plane) -> None:
    for y in range(gray.shape[0]):
        for x in range(gray.shape[1]):
            gray[y, x] = RED * rgb[y, x, 0] + GREEN * rgb[y, x, 1] + BLUE * rgb[y, x, 2]


@answers.right
def written_out(rgb: Image, gray: Plane) -> None:
    column = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    row = cuda.blockIdx.y * cuda.blockDim.y + cuda.threadIdx.y
    if row >= rgb.shape[0]:
        return
    if column < rgb.shape[1]:
        red, green, blue = rgb[row, column, 0], rgb[row, column, 1], rgb[row, column, 2]
        gray[row, column] = BLUE * blue + GREEN * green + RED * red


@answers.right
def in_strides(rgb: Image, gray: Plane) -> None:
    first_x, first_y = cuda.grid(2)
    step_x, step_y = cuda.gridsize(2)
    for y in range(first_y, gray.shape[0], step_y):
        for x in range(first_x, gray.shape[1], step_x):
            gray[y, x] = RED * rgb[y, x, 0] + GREEN * rgb[y, x, 1] + BLUE * rgb[y, x, 2]


@answers.right
def a_row_at_a_time(rgb: Image, gray: Plane) -> None:
    x, y = cuda.grid(2)
    if y < gray.shape[0] and x < gray.shape[1]:
        pixel = rgb[y, x]
        total = np.float32(0)
        total += RED * pixel[0]
        total += GREEN * pixel[1]
        total += BLUE * pixel[2]
        gray[y, x] = total


EXERCISE = kernel_exercise(
    name="rgb_to_gray",
    notebook="03_threads_blocks_grids",
    task="Write the kernel that turns a picture to grey, a thread for each pixel.",
    reference=rgb_to_gray,
    cases=cases,
    expect=expect,
    answers=answers,
    budgets=(
        budgets.float64(advice=NO_FLOAT64),
        budgets.operations(lambda launch: 10 * launch.args[1].size, advice=ONE_EACH),
    ),
)
