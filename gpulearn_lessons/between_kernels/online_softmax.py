"""The softmax of each row, whose maximum and sum come from one pass."""

from typing import Any

import numpy as np

from gpulearn.judge import budgets
from gpulearn.judge.kernel_exercise import Launch, kernel_exercise
from gpulearn_lessons.between_kernels.softmax_fused import ONLINE_SOFTMAX
from simt.observers.traffic import SECTOR

FLOAT32 = "A plain 0 or 0.0 makes a sum a float64, and math.inf is one: use np.float32(…)."
ONE_PASS = (
    "The budget allows two reads of each score and one write of each result, and every "
    "`scores[row, j]` in the code is a read, as is every `out[row, j]` on the right of an equals "
    "sign. One read per score has to serve both the maximum and the sum: load it into a variable, "
    "and rescale the sum when the maximum grows."
)
NEIGHBORS = "Let the 32 lanes of a warp take 32 neighboring columns of one row."


def cases() -> list[Launch]:
    """Rows longer than a warp and shorter; scores that rise along a row; far up, down, apart."""
    rng = np.random.default_rng(7)

    def launch(label: str, scores: Any, block: int, measured: bool = False) -> Launch:
        args = scores.astype(np.float32), np.empty(scores.shape, np.float32)
        return Launch.of(ONLINE_SOFTMAX, label, *args, block=block, measured=measured)

    shapes = (
        ("7 rows of 70 scores, 2 blocks of 128", 7, 70, 0.0, 128),
        ("4 rows of 40 scores above 800, one block of 128", 4, 40, 800.0, 128),
        ("4 rows of 40 scores near −1,000,000, one block of 128", 4, 40, -1e6, 128),
        ("3 rows of 5 scores, 3 blocks of 32", 3, 5, 0.0, 32),
        ("1 row of 1 score, one block of 32", 1, 1, 0.0, 32),
        ("2 rows of 1,100 scores, 2 blocks of 32", 2, 1100, 0.0, 32),
    )
    launches = [
        launch(label, middle + rng.uniform(-3, 3, (m, n)), block)
        for label, m, n, middle, block in shapes
    ]
    rising = np.linspace(-200, 200, 96) + rng.uniform(-1, 1, (16, 96))
    launches.insert(0, launch("16 rows of 96 scores, 4 blocks of 128", rng.uniform(-3, 3, (16, 96)),
                          128, measured=True))  # fmt: skip
    launches.append(launch("16 rows of 96 scores that rise, 4 blocks of 128", rising, 128))
    lowest = -1e35 * rng.integers(1, 4, (3, 40))
    return [*launches, launch("3 rows of 40 scores below −1e35, one block of 96", lowest, 96)]


def allowed(launch: Launch) -> int:
    """The solution's, plus a sector per row for those who start with its first score."""
    m, n = launch.args[0].shape
    return 12 * int(m * n) + SECTOR * int(m)


EXERCISE = kernel_exercise(
    ONLINE_SOFTMAX,
    task="Write the softmax of each row, with its maximum and its sum from one pass.",
    cases=cases,
    budgets=(
        budgets.float64(advice=FLOAT32),
        budgets.sectors_per_request(4, advice=NEIGHBORS),
        budgets.bytes_moved(allowed, advice=ONE_PASS),
    ),
)
