"""A histogram that is right where threads take turns, to be mended."""

from __future__ import annotations

import numpy as np

from gpulearn.judge import budgets
from gpulearn.judge.kernel_exercise import Launch, kernel_exercise
from gpulearn_lessons.broken_tutorials.brightness import BRIGHTNESS, LEVELS

OWN_COUNTS = (
    "Count in shared memory, and let each block add its counts to global memory once: that is what "
    "they are there for."
)


def cases() -> list[Launch]:
    """A dark picture, all levels alike, the brightest value, few values, several blocks."""
    rng = np.random.default_rng(22)
    shapes = (
        ("3,000 values, mostly dark, 4 blocks of 96", rng.random(3000) ** 3, 4, 96),
        ("500 values, 0 and 1 among them, 3 blocks of 32", np.linspace(0, 1, 500), 3, 32),
        ("700 values that are all 1, 2 blocks of 64", np.ones(700), 2, 64),
        ("20 values, one block of 128", rng.random(20), 1, 128),
    )
    return [
        Launch.of(
            BRIGHTNESS,
            label,
            values.astype(np.float32),
            np.zeros(LEVELS, np.int32),
            grid=grid,
            block=block,
            measured="3,000" in label,
        )
        for label, values, grid, block in shapes
    ]


EXERCISE = kernel_exercise(
    BRIGHTNESS,
    task="Mend the histogram, so that no count is lost whatever order threads run in.",
    cases=cases,
    budgets=[
        budgets.shared_memory(advice=OWN_COUNTS),
        budgets.atomics(
            lambda launch: LEVELS * int(launch.grid),  # type: ignore[arg-type]
            of=1,
            advice=OWN_COUNTS,
        ),
    ],
)
