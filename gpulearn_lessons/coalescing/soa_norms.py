"""The distance of points from the origin, from a struct of arrays."""

from __future__ import annotations

import numpy as np

from gpulearn.judge import budgets
from gpulearn.judge.kernel_exercise import Launch, kernel_exercise
from gpulearn_lessons.coalescing.points import SOA_NORMS

NEIGHBORS = (
    "Let neighboring threads take neighboring points: thread number i of the grid, cuda.grid(1), "
    "takes point i."
)
FLOAT32 = (
    "Numbers with a decimal point, such as 0.5 or 0.0, are float64 in a kernel, and so is what is "
    "computed from them: math.sqrt and products of x, y, z stay in float32."
)
ONCE = (
    "Write each distance once, when it is complete, and keep intermediate results in variables of "
    "the thread."
)
ONE_EACH = "Let each thread compute one point, its own, once: the root of the sum of three squares."


def cases() -> list[Launch]:
    """Sizes that no block divides, blocks of several sizes, and one too many each time."""
    rng = np.random.default_rng(4)

    def launch(n: int, block: int) -> Launch:
        points = rng.normal(size=(3, n)).astype(np.float32)
        points[:, 17:18] = 0  # one at the origin, where there are so many
        args = (*points, np.empty(n, np.float32))
        label, grid = f"{n} point{'s' * (n > 1)} in blocks of {block}", -(-n // block) + 1
        return Launch.of(SOA_NORMS, label, *args, grid=grid, block=block, measured=n == 512)

    return [
        launch(*shape) for shape in ((100, 32), (33, 32), (1, 32), (300, 64), (95, 40), (512, 32))
    ]


EXERCISE = kernel_exercise(
    SOA_NORMS,
    task="Write √(x² + y² + z²) of each point to out, in float32, at 4 sectors per request.",
    cases=cases,
    budgets=(
        budgets.sectors_per_request(4, advice=NEIGHBORS),
        budgets.float64(advice=FLOAT32),
        budgets.operations(lambda launch: 20 * launch.args[3].size, advice=ONE_EACH),
        # of out alone: how often x[i] is read depends on how its square is written
        budgets.bytes_moved(lambda launch: launch.args[3].nbytes, of=3, advice=ONCE),
    ),
)
