"""The softmax of each row, with one warp per row."""

from typing import Any

import numpy as np

from gpulearn.judge import budgets
from gpulearn.judge.kernel_exercise import Launch, kernel_exercise
from gpulearn.kernels.softmax import SOFTMAX_ROWS

FLOAT32 = "A plain 0 or 0.0 makes a sum a float64, and math.inf is one: use np.float32(…)."
SHARE_OUT = (
    "Let each lane take every 32nd score of the row, and combine the lanes' results by shuffles."
)
NEIGHBORS = "Let the 32 lanes of a warp take 32 neighboring columns of one row."


def cases() -> list[Launch]:
    """Rows longer than a warp and shorter, scores far up, far down, far apart, warps too many."""
    rng = np.random.default_rng(7)
    shapes = (
        ("7 rows of 70 scores, 2 blocks of 128", 7, 70, 0.0, 128),
        ("16 rows of 96 scores, 4 blocks of 128", 16, 96, 0.0, 128),
        ("4 rows of 40 scores above 800, one block of 128", 4, 40, 800.0, 128),
        ("4 rows of 40 scores near −1,000,000, one block of 128", 4, 40, -1e6, 128),
        ("3 rows of 5 scores, 3 blocks of 32", 3, 5, 0.0, 32),
        ("1 row of 1 score, one block of 32", 1, 1, 0.0, 32),
    )

    def launch(label: str, scores: Any, block: int) -> Launch:
        args = scores.astype(np.float32), np.empty(scores.shape, np.float32)
        return Launch.of(SOFTMAX_ROWS, label, *args, block=block, measured=scores.shape[1] == 96)

    launches = [
        launch(label, middle + rng.uniform(-3, 3, (m, n)), block)
        for label, m, n, middle, block in shapes
    ]
    # neither another score of the row nor the largest of another row will do for its maximum
    far_apart = 400 * np.arange(-2, 3)[:, None] + rng.uniform(-150, 150, (5, 40))
    lowest = -1e35 * rng.integers(1, 4, (3, 40))
    launches.append(launch("3 rows of 40 scores below −1e35, one block of 96", lowest, 96))
    launches.append(launch("5 rows of 40 scores from −950 to 950, 2 blocks of 96", far_apart, 96))
    # the largest score is the last, or the first, of more than a warp has lanes
    in_order = np.sort(rng.uniform(-200, 200, (4, 70)))
    in_order[1::2] = in_order[1::2, ::-1]
    return [*launches, launch("4 rows of 70 scores in order, 2 blocks of 64", in_order, 64)]


EXERCISE = kernel_exercise(
    SOFTMAX_ROWS,
    task="Write the softmax of each row, for scores of any size, with one warp per row.",
    cases=cases,
    budgets=(
        budgets.float64(advice=FLOAT32),
        budgets.sectors_per_request(4, advice=NEIGHBORS),
        budgets.bytes_moved(lambda launch: 8 * launch.args[0].nbytes, advice=SHARE_OUT),
    ),
    # of another right kernel, which is less even, or makes more accesses
    busiest={"thread": (19, 1.0), "warp": (19, 1.0), "block": (2432, 1.0)},
)
