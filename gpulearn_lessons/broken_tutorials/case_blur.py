"""A blur that takes one neighbor twice, to be mended."""

from __future__ import annotations

import numpy as np

from gpulearn.judge import budgets
from gpulearn.judge.kernel_exercise import Launch, kernel_exercise
from gpulearn_lessons.broken_tutorials.blur import BLUR

IN_FLOAT32 = (
    "float32 with a plain 0.2, 5 or 5.0 gives float64: write np.float32(0.2), or np.float32(5)."
)
ROWS = (
    "the results are right where the grid covers the picture so, but x counts rows: neighboring "
    "threads have to read neighboring pixels."
)


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


EXERCISE = kernel_exercise(
    BLUR,
    task="Mend the blur: each pixel becomes the mean of itself and its four neighbors.",
    cases=cases,
    budgets=[
        budgets.float64(advice=IN_FLOAT32),
        budgets.sectors_per_request(8, advice=ROWS),
    ],
)
