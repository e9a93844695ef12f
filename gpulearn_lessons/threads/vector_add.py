"""The sum of two vectors, one thread per element."""

import numpy as np

from gpulearn.judge import budgets
from gpulearn.judge.kernel_exercise import Launch, kernel_exercise
from gpulearn.kernels.vectors import VECTOR_ADD

NO_FLOAT64 = "Add the elements as they are: with a float64, such as 0.0, the sum becomes one."
ONE_EACH = "Each thread computes one element, its own, once. Threads past the end compute none."


def cases() -> list[Launch]:
    """Several blocks, an end inside a block, whole blocks beyond the end, and no guard needed."""
    rng = np.random.default_rng(3)

    def launch(n: int, grid: int, block: int) -> Launch:
        a, b = rng.normal(size=(2, n)).astype(np.float32)
        label = f"{n} element{'s' * (n > 1)} in {grid} block{'s' * (grid > 1)} of {block}"
        args, measured = (a, b, np.empty_like(a)), n in (70, 1000)
        return Launch.of(VECTOR_ADD, label, *args, grid=grid, block=block, measured=measured)

    shapes = ((97, 4, 32), (1, 1, 64), (256, 2, 128), (70, 5, 32), (50, 3, 20), (1000, 8, 128))
    return [launch(*shape) for shape in shapes]


EXERCISE = kernel_exercise(
    VECTOR_ADD,
    task="Write the kernel out = a + b, one thread per element.",
    cases=cases,
    budgets=(
        budgets.float64(advice=NO_FLOAT64),
        budgets.operations(lambda launch: 5 * launch.args[0].size // 4, advice=ONE_EACH),
    ),
)
