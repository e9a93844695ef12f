"""The sum of each column, a thread for each."""

import numpy as np

from gpulearn.judge import budgets
from gpulearn.judge.kernel_exercise import Launch, kernel_exercise
from gpulearn_lessons.coalescing.columns import COLUMN_SUMS

NEIGHBORS = (
    "Let neighboring threads take neighboring columns: thread number i of the grid, cuda.grid(1), "
    "takes column i."
)
FLOAT32 = (
    "A sum that begins with a plain 0.0 or 0 is a float64, and so is every addition to it: begin "
    "with np.float32(0)."
)
OWN_VARIABLE = (
    "Read each element once and write each sum once: keep the running sum in a variable of the "
    "thread."
)


def allowed(launch: Launch) -> int:
    """Each element once, and some room for another way to begin and to end."""
    matrix, out = launch.args
    return int(matrix.nbytes + out.nbytes) * 11 // 10


def cases() -> list[Launch]:
    """Tall, wide, square, one row; blocks of several sizes, and one too many each time."""
    rng = np.random.default_rng(4)

    def launch(rows: int, columns: int, block: int) -> Launch:
        matrix = rng.uniform(-1, 2, (rows, columns)).astype(np.float32)
        label = f"a matrix of shape ({rows}, {columns}) in blocks of {block}"
        out, grid, measured = np.empty(columns, np.float32), -(-columns // block) + 1, rows == 24
        return Launch.of(COLUMN_SUMS, label, matrix, out, grid=grid, block=block, measured=measured)

    shapes = (
        *((70, 37, 32), (37, 70, 32), (40, 40, 32), (1, 5, 32), (30, 300, 48)),
        *((9, 260, 64), (24, 256, 32)),
    )
    return [launch(*shape) for shape in shapes]


EXERCISE = kernel_exercise(
    COLUMN_SUMS,
    task="Write the sum of each column of matrix to out, in float32, at 4 sectors per request.",
    cases=cases,
    budgets=(
        budgets.sectors_per_request(4, advice=NEIGHBORS),
        *budgets.float64_sums(advice=FLOAT32),
        budgets.bytes_moved(allowed, advice=OWN_VARIABLE),
        budgets.atomics(lambda launch: launch.args[1].size, of=1, advice=OWN_VARIABLE),
    ),
)
