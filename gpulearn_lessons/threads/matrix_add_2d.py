"""The sum of two matrices, one thread per element, x over columns and y over rows."""

import numpy as np

from gpulearn.judge import budgets
from gpulearn.judge.kernel_exercise import Launch, kernel_exercise
from gpulearn_lessons.threads.images import MATRIX_ADD_2D

NO_FLOAT64 = "Add the elements as they are: with a float64, such as 0.0, the sum becomes one."
ONE_EACH = (
    "Each thread computes one element, its own, once. Threads outside the matrix compute none."
)


def cases() -> list[Launch]:
    """Wide, tall and square; ends inside a block in both axes, one or none; a single row."""
    rng = np.random.default_rng(4)

    def launch(m: int, n: int, block: tuple[int, int]) -> Launch:
        a, b = rng.normal(size=(2, m, n)).astype(np.float32)
        label = f"matrices of shape ({m}, {n}) in blocks of {block}"
        return Launch.of(MATRIX_ADD_2D, label, a, b, np.empty_like(a), block=block)

    shapes = (
        *((29, 43, (16, 8)), (43, 29, (16, 8)), (32, 32, (8, 8)), (1, 70, (32, 4))),
        *((70, 1, (4, 32)), (24, 33, (10, 8)), (27, 30, (10, 8))),
    )
    return [launch(*shape) for shape in shapes]


EXERCISE = kernel_exercise(
    MATRIX_ADD_2D,
    task="Write the kernel out = a + b for matrices, one thread per element.",
    cases=cases,
    budgets=(
        budgets.float64(advice=NO_FLOAT64),
        budgets.operations(lambda launch: 5 * launch.args[0].size // 4, advice=ONE_EACH),
    ),
)
