"""A correct kernel that works in global memory, to bring under a budget."""

import numpy as np

from gpulearn.judge import budgets
from gpulearn.judge.kernel_exercise import Launch, kernel_exercise
from gpulearn.kernels.descent import (
    DESCEND_ON_GPU,
    MINIMA,
)

ONCE = (
    "Load each start once and store each end once, neighboring threads side by side, and use local "
    "variables in between."
)
NO_FLOAT64 = (
    "A plain number combined with a float32, or as a variable's first value, makes float64: use "
    "TWO, FOUR, SEVEN and ELEVEN, and start with what is loaded."
)
TWICE = "Several threads make the same descent, or steps are wasted: one thread per descent."
SECTOR = 32  # bytes
OPERATIONS = 18  # of one step


def cases() -> list[Launch]:
    """Blocks of several sizes, whole blocks beyond the end, no steps, one, and many."""
    rng = np.random.default_rng(11)

    def launch(n: int, grid: int, block: int, steps: int, rate: float) -> Launch:
        # near the minima, where different rounding stays close
        starts = np.array(MINIMA)[rng.integers(0, 4, n)] + rng.uniform(-0.6, 0.6, (n, 2))
        xs, ys = np.ascontiguousarray(starts.T.astype(np.float32))
        label = f"{n} start{'s' * (n > 1)}, {steps} step{'s' * (steps != 1)}"
        args = xs, ys, np.float32(rate), steps, np.empty_like(xs), np.empty_like(ys)
        return Launch.of(
            DESCEND_ON_GPU, label, *args,
            grid=grid, block=block, measured=n == 400,
        )  # fmt: skip

    shapes = (
        (97, 5, 32, 1, 0.01),
        (300, 2, 192, 2, 0.01),
        (1, 1, 64, 3, 0.005),
        (256, 2, 128, 0, 0.01),
    )
    more = ((150, 3, 50, 12, 0.008), (400, 4, 128, 20, 0.01))
    return [launch(*shape) for shape in shapes + more]


def least(launch: Launch) -> int:
    """The bytes of two loads and two stores for each start, in whole sectors."""
    return int(4 * SECTOR * -(-launch.args[0].nbytes // SECTOR))


def work(launch: Launch) -> int:
    """One and a half times the operations that the descents need."""
    descents, steps = launch.args[0].size, launch.args[3]
    return int(descents * steps * OPERATIONS * 3 // 2)


EXERCISE = kernel_exercise(
    DESCEND_ON_GPU,
    task="Bring the kernel under its budget: 16 bytes of global memory per descent, no float64.",
    cases=cases,
    budgets=(
        budgets.float64(advice=NO_FLOAT64),
        budgets.bytes_moved(least, advice=ONCE),
        budgets.operations(work, advice=TWICE),
    ),
)
