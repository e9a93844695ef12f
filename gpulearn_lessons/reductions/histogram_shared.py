"""A histogram with a private copy of the bins per block."""

import numpy as np

from gpulearn.judge import budgets
from gpulearn.judge.kernel_exercise import Launch, kernel_exercise
from gpulearn.kernels.histogram import HISTOGRAM_SHARED

FEW_GLOBAL = (
    "Count in shared memory first, and let each block add each of its bins to the global counts "
    "only once."
)

ONCE = (
    "Let the grid read each value once: a thread reads the values one grid apart, for all bins, "
    "and keeps a value that it needs twice in a variable."
)


def cases() -> list[Launch]:
    """Fewer bins than threads and more, fewer values than threads and more, one value only."""
    rng = np.random.default_rng(7)
    shapes = (
        ("3,001 values, 200 bins, 4 blocks of 96", 3001, 200, 4, 96),
        ("1,000 values, 16 bins, 3 blocks of 32", 1000, 16, 3, 32),
        ("100 values, 10 bins, one block of 128", 100, 10, 1, 128),
        ("700 equal values, 5 bins, 2 blocks of 64", 700, 5, 2, 64),
    )
    return [
        Launch.of(
            HISTOGRAM_SHARED,
            label,
            np.full(n, 3, np.int32) if "equal" in label else rng.integers(0, bins, n, np.int32),
            np.zeros(bins, np.int32),
            grid=grid,
            block=block,
            measured=n == 3001,
        )
        for label, n, bins, grid, block in shapes
    ]


EXERCISE = kernel_exercise(
    HISTOGRAM_SHARED,
    task="Count the values in a private copy of the bins for each block, and merge the copies.",
    cases=cases,
    budgets=(
        budgets.shared_memory(advice=FEW_GLOBAL),
        budgets.atomics(
            lambda launch: launch.args[1].size * int(launch.grid),  # type: ignore[arg-type]
            of=1,
            advice=FEW_GLOBAL,
        ),
        budgets.accesses(lambda launch: launch.args[0].size, of=0, advice=ONCE),
        budgets.bytes_moved(lambda launch: 16 * sum(a.nbytes for a in launch.args), advice=ONCE),
    ),
)
