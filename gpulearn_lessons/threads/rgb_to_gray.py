"""The luma of a color picture, one thread per pixel."""

from __future__ import annotations

import numpy as np

from gpulearn.judge import budgets
from gpulearn.judge.kernel_exercise import Launch, kernel_exercise
from gpulearn_lessons.threads.images import RGB_TO_GRAY

NO_FLOAT64 = (
    "A number with a decimal point, such as 0.299 or 0.0, is a float64 in a kernel, and so is any "
    "result computed with it: use RED, GREEN and BLUE, and start a sum at np.float32(0)."
)
ONE_EACH = (
    "Each thread computes one pixel, its own, once. Threads outside the picture compute none."
)


def cases() -> list[Launch]:
    """Wide, tall and square; ends inside a block in both axes, one or none; a single column.

    The largest launch has four blocks across and down, so that one row of them stands out.
    """
    rng = np.random.default_rng(5)

    def launch(h: int, w: int, block: tuple[int, int]) -> Launch:
        rgb = rng.integers(0, 256, size=(h, w, 3), dtype=np.uint8)
        rgb[-1, -1] = 255
        label = f"a picture of {h} rows and {w} columns in blocks of {block}"
        return Launch.of(RGB_TO_GRAY, label, rgb, np.empty((h, w), np.float32), block=block)

    shapes = (
        *((23, 37, (16, 8)), (37, 23, (16, 8)), (32, 32, (16, 16)), (1, 50, (32, 2))),
        *((50, 1, (2, 32)), (16, 31, (9, 8)), (19, 27, (9, 8)), (31, 58, (16, 8))),
    )
    return [launch(*shape) for shape in shapes]


EXERCISE = kernel_exercise(
    RGB_TO_GRAY,
    task="Write the kernel that converts a picture to gray, one thread per pixel.",
    cases=cases,
    budgets=(
        budgets.float64(advice=NO_FLOAT64),
        budgets.operations(lambda launch: 10 * launch.args[1].size, advice=ONE_EACH),
    ),
)
