"""A blur that takes one neighbour twice, to be mended."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpulearn import cuda
from gpulearn.judge import budgets
from gpulearn.judge.answers import Answers
from gpulearn.judge.kernel_exercise import Launch, kernel_exercise
from gpulearn_lessons.broken_tutorials.blur import BLUR, case_blur

answers = Answers(case_blur)

# what stands in the solution
ACROSS = "left, right = max(x - 1, 0), min(x + 1, width - 1)"
DOWN = "above, below = max(y - 1, 0), min(y + 1, height - 1)"
ROW = "image[y, x] + image[y, left] + image[y, right]"
COLUMN = "image[above, x] + image[below, x]"
FIFTH = "total * np.float32(0.2)"
TWICE = {COLUMN: "image[above, x] + image[above, x]"}
WRAPS = {ACROSS: "left, right = x - 1, min(x + 1, width - 1)"}

answers.give(TWICE | WRAPS)


def cases() -> list[Launch]:
    """A single bright pixel, noise, sides that no block divides, one row, one column."""
    rng = np.random.default_rng(22)
    impulse = np.zeros((7, 9), np.float32)
    impulse[3, 4] = 1
    pictures = {
        "one bright pixel in 7 × 9": (impulse, (8, 4)),
        "noise of 33 × 50": (rng.random((33, 50), np.float32), (16, 16)),
        "one row of 40": (rng.random((1, 40), np.float32), (32, 1)),
        "one column of 40": (rng.random((40, 1), np.float32), (4, 16)),
        "noise of 64 × 64": (rng.random((64, 64), np.float32), (32, 8)),
    }
    return [
        Launch.of(BLUR, label, image, np.empty_like(image), block=block, measured="64" in label)
        for label, (image, block) in pictures.items()
    ]


DOUBLE = "one neighbour counts twice and one not at all: blur a single bright pixel and look."
OTHER_SIDE = (
    "at the left edge the neighbour is taken from the other side of the picture: an index of −1 "
    "is the last column. The pixel itself stands in for it."
)

answers.edit(TWICE | WRAPS, f"two things are wrong: {DOUBLE}")
answers.edit(TWICE, f"the edges are right; above and below are not: {DOUBLE}")
answers.edit(
    {COLUMN: "image[below, x] + image[below, x]"}, f"below is taken for above too: {DOUBLE}"
)
answers.edit({ROW: "image[y, x] + image[y, left] + image[y, left]"}, f"left and right: {DOUBLE}")
answers.edit(WRAPS, OTHER_SIDE)
answers.edit(
    {FIFTH: "total * np.float32(0.25)"},
    "five numbers are added up and divided by four: the picture becomes brighter.",
)
answers.edit(
    {ROW: "image[y, left] + image[y, right]", FIFTH: "total * np.float32(0.25)"},
    "the pixel itself is left out: the mean is of five numbers.",
)
answers.edit(
    {
        "        left, right": "        if x == 0 or y == 0 or x == width - 1 or y == height - 1:\n"
        "            return\n        left, right",
    },
    "the pixels at the edge are never written: there the pixel itself stands in for the neighbour.",
)
answers.edit(
    {ACROSS: "left, right = max(x - 1, 0), x + 1"},
    "at the right edge it reads beyond the row: the pixel itself stands in for that neighbour.",
)
answers.edit(
    {DOWN: "above, below = y - 1, min(y + 1, height - 1)"},
    "at the upper edge the neighbour is taken from the other end of the column: an index of −1 is "
    "the last row.",
)
answers.edit(
    {COLUMN: "image[left, x] + image[right, x]"},
    "left and right are columns, and stand here as rows.",
)
answers.edit(
    {"x, y = cuda.grid(2)": "y, x = cuda.grid(2)"},
    "the results are right where the grid covers the picture so, but x counts rows: neighbouring "
    "threads have to read neighbouring pixels.",
)
answers.edit(
    {FIFTH: "total / 5.0"},
    "float32 with a plain 0.2, 5 or 5.0 gives float64: write np.float32(0.2), or np.float32(5).",
)


@answers.right
def by_a_loop(image: Any, out: Any) -> None:
    column, row = cuda.grid(2)
    if row >= out.shape[0] or column >= out.shape[1]:
        return
    total = image[row, column]
    for step in (-1, 1):
        r = min(max(row + step, 0), image.shape[0] - 1)
        c = min(max(column + step, 0), image.shape[1] - 1)
        total += image[r, column] + image[row, c]
    out[row, column] = total / np.float32(5)


@answers.right
def by_branches(image: Any, out: Any) -> None:
    x = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    y = cuda.blockIdx.y * cuda.blockDim.y + cuda.threadIdx.y
    h, w = image.shape
    if x < w and y < h:
        here = image[y, x]
        total = here
        total += image[y, x - 1] if x > 0 else here
        total += image[y, x + 1] if x < w - 1 else here
        total += image[y - 1, x] if y > 0 else here
        total += image[y + 1, x] if y < h - 1 else here
        out[y, x] = total * np.float32(0.2)


EXERCISE = kernel_exercise(
    BLUR,
    task="Mend the blur: each pixel becomes the mean of itself and its four neighbours.",
    cases=cases,
    answers=answers,
    budgets=[
        budgets.float64(advice=answers.wrongs[-1].hint),
        budgets.sectors_per_request(8, advice=answers.wrongs[-2].hint),
    ],
)
