"""Rounds in shared memory that are given with two mistakes, to be fixed from their report."""

import numpy as np

from gpulearn.judge import budgets
from gpulearn.judge.kernel_exercise import Launch, kernel_exercise
from gpulearn.kernels.blocks import BLOCK, SMOOTH_BLOCK, TIMES
from gpulearn.kernels.specification import blocks_along

SINGLE = "In Numba, a float32 divided by a plain 3 or 3.0 gives a float64: divide by np.float32(3)."
ONCE = (
    "Read each element of a once, before the rounds, and write each element of out once, after "
    "them: the rounds take place in shared memory."
)
TWO = "Two barriers per round are enough: before its reads, and between its reads and its writes."
ALONE = "Let each thread smooth one element, its own."


def cases() -> list[Launch]:
    """Vectors of full blocks, of odd sizes, of one element, and one block too many."""
    rng = np.random.default_rng(10)

    def launch(n: int, label: str, spare: int = 0) -> Launch:
        a = rng.normal(size=n).astype(np.float32)
        grid = blocks_along(n, BLOCK) + spare
        label = f"{n} element{'s' * (n > 1)} in {label}"
        return Launch.of(
            SMOOTH_BLOCK, label, a, np.empty_like(a), grid=grid, measured=n > 3 * BLOCK
        )

    return [
        launch(4 * BLOCK, "4 full blocks"),
        launch(2 * BLOCK + 37, "3 blocks, the last of them with 37 elements"),
        launch(BLOCK + 1, "2 blocks, the last of them with one element"),
        launch(1, "one block"),
        launch(BLOCK - 1, "2 blocks, the second of them with nothing to do", spare=1),
    ]


EXERCISE = kernel_exercise(
    SMOOTH_BLOCK,
    task="Fix the kernel so that each block smooths its stretch TIMES times without a race.",
    cases=cases,
    alone=ALONE,
    budgets=(
        budgets.float64(advice=SINGLE),
        budgets.bytes_moved(lambda launch: 2 * launch.args[0].nbytes, advice=ONCE),
        # one more than needed, for those who wait once after filling and once after each write
        budgets.barriers(2 * TIMES + 1, advice=TWO),
    ),
)
