"""The sum of each block's values, by a tree in shared memory."""

import numpy as np

from gpulearn.judge import budgets
from gpulearn.judge.kernel_exercise import Launch, kernel_exercise
from gpulearn.kernels.reduction import SUM_BLOCKS, THREADS

FLOAT32 = "A plain 0 or 0.0 makes a sum a float64: start it with np.float32(0)."
TREE = "Halve the number of sums in each round, with one thread per pair, until one is left."
WHOLE_WARPS = (
    "Give the additions of a round to neighboring threads, the first half of those that are left, "
    "so that whole warps are active or idle."
)
BANKS = (
    "Let neighboring threads use neighboring words: s[t] and s[t + step], with a step that halves "
    "from round to round."
)
OWN = (
    "Each value is needed by one thread, once: let each thread add up the values one grid apart, "
    "and combine the threads' sums in a tree."
)
QUEUE = "Threads that add to one word take turns: let them add up pairs, in rounds."


def cases() -> list[Launch]:
    """More values than threads, fewer, none; quarters, whose sums are exact."""
    rng = np.random.default_rng(7)
    shapes = ((2_000, 3), (1_024, 4), (100, 1), (70, 2), (0, 1))
    return [
        Launch.of(
            SUM_BLOCKS,
            f"{n:,} values in {grid} block{'s' * (grid > 1)} of {THREADS}",
            (rng.integers(-200, 200, n) / 4).astype(np.float32),
            np.empty(grid, np.float32),
            measured=n == 1_024,
        )
        for n, grid in shapes
    ]


EXERCISE = kernel_exercise(
    SUM_BLOCKS,
    task="Let each block sum its share of the values: a loop in each thread, then a tree.",
    cases=cases,
    alone=TREE,
    budgets=(
        *budgets.float64_sums(advice=FLOAT32),
        budgets.contention(1, advice=QUEUE),
        # an eighth more, where a warp's values begin within a sector
        budgets.bytes_moved(lambda launch: launch.args[0].nbytes * 9 // 8, of=0, advice=OWN),
        budgets.bank_conflicts(0, advice=BANKS),
        budgets.divergence(lambda launch: 16 * launch.args[1].size, advice=WHOLE_WARPS),
        budgets.shared_passes(80, advice=TREE),
    ),
    # of another right kernel, which is less even, or makes more accesses
    busiest={"block": (1729, 1.0)},
)
