"""A kernel that is given with two mistakes, to be mended from its report."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gpulearn import cuda
from gpulearn.judge import budgets
from gpulearn.judge.answers import Answers
from gpulearn.judge.kernel_exercise import Launch, kernel_exercise
from gpulearn_lessons.threads.images import MIRROR, mirror

GUARD = "x < columns and y < rows"
ONE_EACH = (
    "A thread does one pixel, its own, and threads outside the picture do none: there is no need "
    "for a loop over all of them."
)
SWAPPED = (
    "the guard holds x against the rows and y against the columns: x counts columns. Pictures that "
    "are not square show it."
)
LAST = "the last column is columns − 1, so that pixel 0 belongs into column columns − 1 − 0."

Plane = np.ndarray[tuple[int, int], Any]
answers = Answers(mirror)
answers.give({GUARD: "x < rows and y < columns", "columns - 1 - x": "columns - x"})


def allowed(launch: Launch) -> int:
    """A load and a store by each warp, and some room for another way to do it.

    Half of the threads may let two pixels each change places; a single column is both of them.
    """
    assert isinstance(launch.grid, tuple)
    assert isinstance(launch.block, tuple)
    each = 4 if launch.args[0].shape[1] == 1 else 3
    return each * math.prod(launch.grid) * -(-math.prod(launch.block) // 32)


def cases() -> list[Launch]:
    """Wide, tall and square; ends inside a block in both axes, one or none; a single column.

    The largest launch has six blocks across and down, so that one row of them stands out beside
    answers in which half of the blocks do all.
    """
    rng = np.random.default_rng(7)

    def launch(h: int, w: int, block: tuple[int, int]) -> Launch:
        picture = rng.integers(1, 256, size=(h, w), dtype=np.uint8)
        label = f"a picture of {h} rows and {w} columns in blocks of {block}"
        return Launch.of(MIRROR, label, picture, np.empty_like(picture), block=block)

    shapes = (
        *((32, 32, (16, 16)), (23, 37, (16, 8)), (37, 23, (16, 8)), (1, 50, (32, 2))),
        *((50, 1, (2, 32)), (19, 27, (9, 8)), (47, 90, (16, 8))),
    )
    return [launch(*shape) for shape in shapes]


answers.edit({"columns - 1 - x": "columns - x"}, LAST)
answers.edit({GUARD: "x < rows and y < columns"}, SWAPPED)
answers.edit(
    {GUARD: "0 < x < columns and y < rows", "columns - 1 - x": "columns - x"},
    "column 0 of the picture is left out, and so column 0 of out is mirrored from nowhere: begin "
    "at x = 0, and write to columns − 1 − x.",
)
answers.edit(
    {"x <": "x <=", "y <": "y <="},
    "the guard lets one too many in: the last column is columns − 1, so < and not <=.",
)
answers.edit(
    {f"if {GUARD}:\n        ": ""},
    "threads outside the picture are not kept from acting: a guard must let them do nothing.",
)
answers.edit({"columns - 1 - x": "x"}, "out is the picture as it was: nothing is mirrored.")
answers.edit(
    {"out[y, columns - 1 - x]": "out[rows - 1 - y, x]"},
    "top and bottom have changed places, not left and right: it is x that is mirrored.",
)
answers.edit(
    {"out[y, columns - 1 - x]": "out[rows - 1 - y, columns - 1 - x]"},
    "the picture is turned upside down as well: y stays y.",
)
answers.edit(
    {"cuda.grid(2)": "cuda.threadIdx.x, cuda.threadIdx.y"},
    "only block (0, 0) is right: the block index is never used.",
)
answers.edit(
    {
        f"if {GUARD}:\n        out[y, columns - 1 - x] = picture[y, x]": (
            "for i in range(columns * (y < rows) * (x == 0)):\n"
            "        out[y, columns - 1 - i] = picture[y, i]"
        )
    },
    ONE_EACH,
)


answers.edit(
    {
        "out[y, columns - 1 - x] = picture[y, x]": (
            "out[y, columns - 1 - x] = picture[y, x]\n"
            "        out[y, x] = picture[y, columns - 1 - x]"
        )
    },
    ONE_EACH,
)


@answers.wrong(
    "nothing arrives in out: does out[y, …] = … stand in the kernel, with = and not with +=?"
)
def empty(picture: Plane, out: Plane) -> None:
    pass


answers.variant(
    {"picture[y, x]": "picture[y, columns - 1 - x]", "out[y, columns - 1 - x]": "out[y, x]"}
)
answers.variant({"columns - 1 - x": "-x - 1"})


@answers.right
def two_change_places(picture: Plane, out: Plane) -> None:
    rows, columns = picture.shape
    x, y = cuda.grid(2)
    if x < (columns + 1) // 2 and y < rows:
        other = columns - 1 - x
        out[y, other] = picture[y, x]
        out[y, x] = picture[y, other]


EXERCISE = kernel_exercise(
    MIRROR,
    task="Mend the kernel, so that it mirrors a picture of any shape.",
    cases=cases,
    answers=answers,
    budgets=(
        budgets.operations(lambda launch: 0, advice=ONE_EACH),
        budgets.requests(allowed, advice=ONE_EACH),
    ),
    alone=ONE_EACH,
)
