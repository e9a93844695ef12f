"""Layer normalization in one kernel that reads each number once."""

import numpy as np

from gpulearn.judge import budgets
from gpulearn.judge.kernel_exercise import Launch, kernel_exercise
from gpulearn_lessons.between_kernels.normalization import FUSED_NORMALIZE

FLOAT32 = (
    "A plain number such as 0 or 0.0 makes a sum a float64, and a float32 divided by an integer, "
    "such as x.shape[1], is one: convert both with np.float32(…)."
)
KEEP = (
    "Read each number of x from global memory once and keep it in shared memory: the variance and "
    "the result read it there. Write each result once."
)
NEIGHBORS = "Let the 32 lanes of a warp take 32 neighboring columns of one row."


def cases() -> list[Launch]:
    """Rows of up to 256 numbers: around 0 and far from it, close together, all equal."""
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
        launches.append(Launch.of(FUSED_NORMALIZE, label, *args, block=block, measured=n == 96))
    return launches


EXERCISE = kernel_exercise(
    FUSED_NORMALIZE,
    task="Normalize each row in one kernel that reads each number from global memory once.",
    cases=cases,
    budgets=(
        budgets.float64(advice=FLOAT32),
        budgets.sectors_per_request(4, advice=NEIGHBORS),
        budgets.bytes_moved(lambda launch: 8 * launch.args[0].size, advice=KEEP),
    ),
    # other right kernels are less even, or make more accesses
    busiest={"thread": (300, 1.0), "warp": (300, 1.0), "block": (38400, 1.0)},
)
