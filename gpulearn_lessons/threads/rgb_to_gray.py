"""The luma of a colour picture, a thread for each pixel."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpulearn import cuda
from gpulearn.judge import budgets
from gpulearn.judge.answers import Answers
from gpulearn.judge.kernel_exercise import Launch, kernel_exercise
from gpulearn_lessons.threads.images import BLUE, GREEN, RED, RGB_TO_GRAY, rgb_to_gray

NO_FLOAT64 = (
    "A number with a point, such as 0.299 or 0.0, is a float64 in a kernel, and so is what is "
    "computed with it: RED, GREEN and BLUE are float32, and np.float32(0) is a sum's beginning."
)
ONE_EACH = (
    "A thread does one pixel, its own, and threads outside the picture do none: there is no need "
    "for a loop over all of them."
)
GUARD = "x < gray.shape[1] and y < gray.shape[0]"
SUM = "RED * rgb[y, x, 0] + GREEN * rgb[y, x, 1] + BLUE * rgb[y, x, 2]"

Image = np.ndarray[tuple[int, int, int], Any]
Plane = np.ndarray[tuple[int, int], Any]
answers = Answers(rgb_to_gray)


def cases() -> list[Launch]:
    """Wide, tall and square; ends inside a block in both axes, one or none; a single column.

    The largest launch has four blocks across and down, so that one row of them stands out.
    """
    rng = np.random.default_rng(5)

    def launch(h: int, w: int, block: tuple[int, int]) -> Launch:
        rgb = rng.integers(0, 256, size=(h, w, 3), dtype=np.uint8)
        label = f"a picture of {h} rows and {w} columns in blocks of {block}"
        return Launch.of(RGB_TO_GRAY, label, rgb, np.empty((h, w), np.float32), block=block)

    shapes = (
        *((23, 37, (16, 8)), (37, 23, (16, 8)), (32, 32, (16, 16)), (1, 50, (32, 2))),
        *((50, 1, (2, 32)), (16, 31, (9, 8)), (19, 27, (9, 8)), (31, 58, (16, 8))),
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
    {"x, y =": "y, x ="},
    "x and y are swapped: cuda.grid(2) gives x first, x counts columns, and the grid is wide "
    "enough for that only.",
)
answers.edit(
    {f"gray[y, x] = {SUM}": f"gray[x, y] = {SUM.replace('y, x', 'x, y')}"},
    "the first number of cuda.grid(2), x, is held against the columns, but then stands where the "
    "row belongs: x, y = cuda.grid(2) and [y, x]. It is right on square pictures only.",
)
answers.edit(
    {SUM: SUM.replace("y, x", "x, y")},
    "the picture is read transposed: rgb wants [y, x, colour] as gray wants [y, x].",
)
answers.edit(
    {GUARD: "x < gray.shape[0] and y < gray.shape[1]"},
    "the guard is swapped: shape[0] counts rows, so y < shape[0] and x < shape[1].",
)
answers.edit(
    {f"if {GUARD}:\n        ": ""},
    "threads outside the picture are not kept from acting: a guard must let them do nothing.",
)
answers.edit(
    {" and y < gray.shape[0]": ""},
    "the columns have their guard, the rows have none: y < shape[0] is missing.",
)
answers.edit(
    {"x <": "x <=", "y <": "y <="},
    "the guard lets one too many in: the last row is shape[0] − 1, so < and not <=.",
)


@answers.wrong(
    "nothing arrives in gray: does gray[y, x] = … stand in the kernel, with = and not with +=?"
)
def empty(rgb: Image, gray: Plane) -> None:
    pass


answers.edit(
    {SUM: SUM.replace("y, x", "0, 0")},
    "every pixel is as grey as the one in the corner: read rgb[y, x, 0] and so on.",
)
answers.edit(
    {"RED": "BLUE", "BLUE": "RED"},
    "red and blue are swapped: rgb[y, x, 0] is red, and blue counts least.",
)
answers.edit(
    {"RED": "GREEN", "GREEN": "RED"},
    "red and green are swapped: rgb[y, x, 0] is red and rgb[y, x, 1] is green.",
)
answers.edit(
    {"GREEN": "BLUE", "BLUE": "GREEN"},
    "green and blue are swapped: rgb[y, x, 1] is green and rgb[y, x, 2] is blue.",
)
answers.edit({" + BLUE * rgb[y, x, 2]": ""}, "blue is missing: three colours count, 0, 1 and 2.")
answers.edit(
    {"+ GREEN": "\n        gray[y, x] = GREEN", "+ BLUE": "\n        gray[y, x] = BLUE"},
    "each assignment overwrites the one before, and blue alone is left: add the three up.",
)
answers.edit(
    {SUM: "rgb[y, x, 1]"},
    "that is green as it stands: weigh all three with RED, GREEN and BLUE.",
)
answers.edit(
    {SUM: "(rgb[y, x, 0] + rgb[y, x, 1] + rgb[y, x, 2]) / np.float32(3)"},
    "that is the plain mean of the three: weigh them with RED, GREEN and BLUE.",
)
answers.edit(
    {SUM: "rgb[y, x, 0] + rgb[y, x, 1] + rgb[y, x, 2]"},
    "that is the sum of the three: weigh them with RED, GREEN and BLUE.",
)
answers.edit({SUM: "RED * rgb[y, x, 0]"}, "only red counts: green and blue are missing.")


@answers.wrong("one index for a picture: cuda.grid(1) counts in x alone. Take x, y = cuda.grid(2).")
def x_alone(rgb: Image, gray: Plane) -> None:
    i = cuda.grid(1)
    if i < gray.size:
        y, x = i // gray.shape[1], i % gray.shape[1]
        gray[y, x] = RED * rgb[y, x, 0] + GREEN * rgb[y, x, 1] + BLUE * rgb[y, x, 2]


answers.edit({"RED": "0.299", "GREEN": "0.587", "BLUE": "0.114"}, NO_FLOAT64)


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
    RGB_TO_GRAY,
    task="Write the kernel that turns a picture to grey, a thread for each pixel.",
    cases=cases,
    answers=answers,
    budgets=(
        budgets.float64(advice=NO_FLOAT64),
        budgets.operations(lambda launch: 10 * launch.args[1].size, advice=ONE_EACH),
    ),
)
