"""A kernel on an array of structs that is right and moves too much: to be fixed."""

import numpy as np

from gpulearn.judge import budgets
from gpulearn.judge.kernel_exercise import Launch, kernel_exercise
from gpulearn_lessons.coalescing.points import STRETCH_POINTS

NUMBERS = "Let the 32 lanes of a warp take 32 numbers that are side by side in memory."
READ_ONCE = "Read and write each number once, the lanes of a warp side by side."
ONCE = "Compute each number once: continue in steps of the number of threads in the whole grid."
FLOAT32 = "Points and factors are float32: multiply them as they are."


def cases() -> list[Launch]:
    """A thread for each point and some more, in blocks of several sizes; one point."""
    rng = np.random.default_rng(8)

    def launch(n: int, grid: int, block: int) -> Launch:
        points = rng.normal(size=(n, 3)).astype(np.float32)
        factors = rng.uniform(1, 9, 3).astype(np.float32)
        label = f"{n} point{'s' * (n > 1)}, {grid} × {block} threads"
        args, measured = (points, factors, np.empty_like(points)), n == 512
        return Launch.of(STRETCH_POINTS, label, *args, grid=grid, block=block, measured=measured)

    shapes = ((100, 4, 32), (77, 2, 40), (1, 1, 32), (300, 5, 64), (512, 4, 128))
    return [launch(*shape) for shape in shapes]


EXERCISE = kernel_exercise(
    STRETCH_POINTS,
    task="Fix the kernel: the same results at 4 sectors per request, from the same arrays.",
    cases=cases,
    budgets=(
        budgets.sectors_per_request(4, advice=NUMBERS),
        budgets.float64(advice=FLOAT32),
        budgets.operations(lambda launch: 6 * launch.args[0].size // 5, advice=ONCE),
        budgets.bytes_moved(lambda launch: launch.args[0].nbytes * 9 // 8, of=0, advice=READ_ONCE),
        budgets.bytes_moved(lambda launch: launch.args[2].nbytes * 9 // 8, of=2, advice=READ_ONCE),
    ),
)
