"""Compaction within each warp: given right but slow, to bring within its budget by a vote."""

import numpy as np

from gpulearn.judge import budgets
from gpulearn.judge.kernel_exercise import Launch, kernel_exercise
from gpulearn.kernels.reduction import WARP
from gpulearn_lessons.reductions.scan import COMPACT_WARPS

VOTE = (
    "Let each lane read only its own value, and let the lanes vote: cuda.ballot_sync returns the "
    "32 votes as the bits of one number, and cuda.popc counts them."
)
REGISTERS = "The lanes of a warp can vote without shared memory and without a barrier."
QUEUE = (
    "The lanes queue for one counter: with a vote, each lane can count those before it by itself."
)


def cases() -> list[Launch]:
    """A partial last warp, warps with nothing to do; all wanted, none, every second."""
    rng = np.random.default_rng(7)
    shapes = ((200, 128, 0.375, 0), (256, 64, 0.5, 0), (33, 32, -1.0, 1), (64, 96, 1.0, 0))
    launches = []
    for n, block, limit, spare in (*shapes, (1, 32, -1.0, 0)):
        values = (rng.integers(0, 9, n) / 8).astype(np.float32)  # some equal the limit
        counts = np.empty(-(-n // WARP), np.int32)
        args = (values, np.float32(limit), np.zeros(n, np.float32), counts)
        grid = -(-n // block) + spare
        label = f"{n} values in {grid} block{'s' * (grid > 1)} of {block}, limit {limit:g}"
        launches.append(
            Launch.of(COMPACT_WARPS, label, *args, grid=grid, block=block, measured=n == 256)
        )
    return launches


def requests(launch: Launch) -> int:
    """Of each warp: its values, perhaps once more for those that are kept, and two stores."""
    return 5 * -(-int(launch.args[0].size) // WARP)


EXERCISE = kernel_exercise(
    COMPACT_WARPS,
    task="Bring the kernel within its budget: each warp reads its values once, and votes.",
    cases=cases,
    alone=VOTE,
    budgets=(
        budgets.atomics(lambda launch: 0, of=3, advice=QUEUE),
        budgets.shared_passes(0, advice=REGISTERS),
        budgets.barriers(0, advice=REGISTERS),
        budgets.requests(requests, advice=VOTE),
        budgets.instructions(60, advice=VOTE),  # a scan by five shuffles takes 33
    ),
)
