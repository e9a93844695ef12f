"""Layer normalisation in one kernel that reads each number once."""

from __future__ import annotations

import numpy as np

from gpulearn.judge import budgets
from gpulearn.judge.kernel_exercise import Launch, kernel_exercise
from gpulearn_lessons.between_kernels.normalisation import FUSED_NORMALISE, normalise_bytes

FLOAT32 = (
    "A literal such as 0.0 is a float64, and so, by its type, is a float32 over a whole number: "
    "write np.float32(…) around it."
)
KEEP = (
    "Read each number of x from global memory once, keep it in shared memory, and take it from "
    "there for the variance and for the result."
)
NEIGHBOURS = "Let the 32 lanes of a warp take 32 neighbouring columns of one row."


def cases() -> list[Launch]:
    """Rows of up to 256 numbers; around 0 and far from it, hardly spread, all equal."""
    rng = np.random.default_rng(7)
    shapes = (
        ("16 rows of 96 numbers, 4 blocks of 128", 16, 96, 0.0, 2.0, 128),
        ("7 rows of 70 numbers, 2 blocks of 128", 7, 70, 5.0, 2.0, 128),
        ("4 rows of 256 numbers near 100, 2 blocks of 64", 4, 256, 100.0, 0.5, 64),
        ("5 rows of 40 numbers that differ by thousandths, 2 blocks of 96", 5, 40, 0.0, 2e-3, 96),
        ("3 rows of 20 equal numbers, 3 blocks of 32", 3, 20, 2.0, 0.0, 32),
        ("2 rows of 1 number, one block of 128", 2, 1, 3.0, 0.0, 128),
    )
    launches = []
    for label, m, n, middle, spread, block in shapes:
        x = (middle + rng.normal(0, 1, (m, n)) * spread).astype(np.float32)
        args = x, np.empty_like(x)
        launches.append(Launch.of(FUSED_NORMALISE, label, *args, block=block, measured=n == 96))
    return launches


EXERCISE = kernel_exercise(
    FUSED_NORMALISE,
    task="Normalise each row in one kernel that reads each number from global memory once.",
    cases=cases,
    budgets=(
        budgets.float64(advice=FLOAT32),
        budgets.sectors_per_request(4, advice=NEIGHBOURS),
        budgets.bytes_moved(
            lambda launch: normalise_bytes(*launch.args[0].shape, fused=True), advice=KEEP
        ),
    ),
    # of another right kernel, which is less even, or makes more accesses
    busiest={"thread": (300, 1.0), "warp": (300, 1.0), "block": (38400, 1.0)},
)
