"""alpha·x + y by a grid-stride loop, in a launch of any size."""

import numpy as np

from gpulearn.judge import budgets
from gpulearn.judge.kernel_exercise import Launch, kernel_exercise
from gpulearn.kernels.vectors import SAXPY_GRID_STRIDE

NO_FLOAT64 = (
    "Compute in float32, like alpha, x and y: with a float64, such as 0.0, the result is a float64."
)
ONCE_EACH = (
    "Several threads compute the same elements: begin at the thread's index in the grid, "
    "cuda.grid(1), and step by the number of threads in the grid, cuda.gridsize(1)."
)


def cases() -> list[Launch]:
    """Grids that are too small, just right and too large; a single thread; ends anywhere."""
    rng = np.random.default_rng(6)

    def launch(alpha: float, n: int, grid: int, block: int) -> Launch:
        x, y = rng.normal(size=(2, n)).astype(np.float32)
        label = f"{n} elements, {grid} block{'s' * (grid > 1)} of {block} and alpha = {alpha:g}"
        args, measured = (np.float32(alpha), x, y, np.empty_like(x)), n == 1000
        return Launch.of(SAXPY_GRID_STRIDE, label, *args, grid=grid, block=block, measured=measured)

    return [
        launch(2.5, 300, 3, 32),
        launch(-0.75, 1000, 8, 16),
        launch(3.0, 20, 2, 32),
        launch(1.5, 41, 1, 1),
        launch(0.0, 128, 2, 64),
    ]


EXERCISE = kernel_exercise(
    SAXPY_GRID_STRIDE,
    task="Write the kernel out = alpha·x + y for a launch of any size.",
    cases=cases,
    budgets=(
        budgets.float64(advice=NO_FLOAT64),
        budgets.operations(lambda launch: 2 * launch.args[1].size, advice=ONCE_EACH),
    ),
)
