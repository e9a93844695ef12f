"""A coalesced copy of many elements by few threads, the lanes of a warp side by side."""

import numpy as np

from gpulearn.judge import budgets
from gpulearn.judge.kernel_exercise import Launch, kernel_exercise
from gpulearn.kernels.copies import COPY_COALESCED

SIDE_BY_SIDE = (
    "Let the 32 lanes of a warp copy 32 neighbors in each round: begin at the thread's own number, "
    "and continue in steps of the number of threads in the grid."
)
ONCE = (
    "Let one thread read and write each element, once: continue in steps of the number of threads "
    "in the whole grid."
)


def cases() -> list[Launch]:
    """Few threads, many threads, one element, no whole number of rounds or of warps.

    What is measured has a last round for a part of the threads, which one of them could take over.
    """
    rng = np.random.default_rng(4)

    def launch(n: int, grid: int, block: int) -> Launch:
        source = rng.normal(size=n).astype(np.float32)
        label = f"{n:,} element{'s' * (n > 1)}, {grid} × {block} threads"
        args, measured = (source, np.empty_like(source)), n == 3840
        return Launch.of(COPY_COALESCED, label, *args, grid=grid, block=block, measured=measured)

    shapes = (
        *((1700, 1, 64), (97, 1, 128), (5, 2, 32), (1, 1, 32), (500, 3, 40), (70, 7, 10)),
        (90, 1, 20),
        (3840, 4, 128),
    )
    return [launch(*shape) for shape in shapes]


EXERCISE = kernel_exercise(
    COPY_COALESCED,
    task="Copy source to target with fewer threads than elements, at 4 sectors per request.",
    cases=cases,
    budgets=(
        budgets.sectors_per_request(4, advice=SIDE_BY_SIDE),
        budgets.accesses(lambda launch: launch.args[0].size, of=0, advice=ONCE),
        budgets.accesses(lambda launch: launch.args[1].size, of=1, advice=ONCE),
    ),
)
