"""The sum of each warp's values, with nothing but shuffles."""

import numpy as np

from gpulearn.judge import budgets
from gpulearn.judge.kernel_exercise import Launch, kernel_exercise
from gpulearn.kernels.reduction import WARP, WARP_SUM

FLOAT32 = "A plain 0 or 0.0 makes a sum a float64: start it with np.float32(0)."
REGISTERS = "The lanes can read each other's registers: use cuda.shfl_down_sync."
TOGETHER = "The lanes of a warp shuffle together and need no barrier."
ONCE = "Let each lane read only its own value, once, and get the rest by shuffles."

FIVE = "Shuffle the growing sum: five shuffles, by 16, 8, 4, 2 and 1 lanes, add up all 32 values."


def cases() -> list[Launch]:
    """A partial last warp, warps with nothing to do, one value, several blocks."""
    rng = np.random.default_rng(7)
    shapes = ((200, 2, 128), (512, 4, 128), (33, 3, 32), (64, 1, 128), (1, 1, 32))
    return [
        Launch.of(
            WARP_SUM,
            f"{n} values in {grid} block{'s' * (grid > 1)} of {block}",
            (rng.integers(-200, 200, n) / 4).astype(np.float32),
            np.empty(-(-n // WARP), np.float32),
            grid=grid,
            block=block,
            measured=n == 512,
        )
        for n, grid, block in shapes
    ]


EXERCISE = kernel_exercise(
    WARP_SUM,
    task="Let each warp sum its 32 values by shuffles.",
    cases=cases,
    alone=ONCE,
    budgets=(
        *budgets.float64_sums(advice=FLOAT32),
        budgets.shared_passes(0, advice=REGISTERS),
        budgets.atomics(lambda launch: 0, of=1, advice=REGISTERS),
        budgets.barriers(0, advice=TOGETHER),
        budgets.instructions(40, advice=FIVE),  # five rounds of a while loop take 23
        budgets.bytes_moved(
            lambda launch: 32 * (-(-launch.args[0].size // 8) + launch.args[1].size), advice=ONCE
        ),
    ),
)
