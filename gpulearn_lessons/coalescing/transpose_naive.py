"""The transpose that reads along rows and pays when it writes."""

import numpy as np

from gpulearn.judge import budgets
from gpulearn.judge.kernel_exercise import Launch, kernel_exercise
from gpulearn.kernels.transpose import TRANSPOSE_NAIVE

READ_ALONG_ROWS = (
    "Let x be the column of image and y its row: then the lanes of a warp read along a row, and "
    "the writes are scattered."
)
ONE_EACH = "Let each thread move one pixel, its own, and move each pixel once."


def cases() -> list[Launch]:
    """Wide, tall, square; blocks of several shapes, with threads enough for the longer side."""
    rng = np.random.default_rng(4)

    def launch(rows: int, columns: int, block: tuple[int, int]) -> Launch:
        image = rng.random((rows, columns), dtype=np.float32)
        label = f"a picture of shape ({rows}, {columns}) in blocks of {block}"
        longer, args = max(rows, columns), (image, np.empty((columns, rows), np.float32))
        grid = tuple(-(-longer // side) for side in block)
        measured = columns == 96
        return Launch.of(TRANSPOSE_NAIVE, label, *args, grid=grid, block=block, measured=measured)

    shapes = (
        *((37, 70, (32, 8)), (70, 37, (32, 8)), (40, 40, (32, 8)), (1, 9, (32, 8))),
        *((31, 50, (16, 16)), (50, 31, (24, 4)), (64, 96, (32, 8))),
    )
    return [launch(*shape) for shape in shapes]


EXERCISE = kernel_exercise(
    TRANSPOSE_NAIVE,
    task="Transpose image into out with 4 sectors per load request; the writes may be scattered.",
    cases=cases,
    budgets=(
        budgets.sectors_per_request(4, only="load", advice=READ_ALONG_ROWS),
        # reads move whole sectors; each number that is written moves one of its own
        budgets.bytes_moved(lambda launch: 4 * 9 * launch.args[0].size, advice=ONE_EACH),
    ),
)
