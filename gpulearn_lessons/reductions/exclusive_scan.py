"""The exclusive scan of one block: running sums, each without its own value."""

from typing import Any

import numpy as np

from gpulearn.judge import budgets
from gpulearn.judge.kernel_exercise import Launch, kernel_exercise
from gpulearn_lessons.reductions.scan import EXCLUSIVE_SCAN

ONE_BY_ONE = (
    "Let all threads add at the same time, in rounds with a step that doubles: then each round "
    "needs few passes over shared memory."
)
READ_ONCE = (
    "Read each value once, into shared memory, and let the threads use each other's sums in rounds."
)
WRITE_ONCE = (
    "Let each thread write one sum, once, when it is complete, so that a warp writes 32 neighbors "
    "at a time."
)
FEW_ROUNDS = (
    "With a step that doubles from round to round, 256 values need 8 rounds, and two barriers per "
    "round are enough."
)


def cases() -> list[Launch]:
    """A full block, too many threads, one value, none; sums that need all bits of an int32."""
    rng = np.random.default_rng(7)

    def values(n: int) -> Any:
        most = 9_999_999 if n == 33 else 50
        return rng.integers(-most, most, n).astype(np.int32)

    shapes = ((200, 256), (256, 256), (33, 64), (64, 64), (1, 32), (0, 32))
    return [
        Launch.of(
            EXCLUSIVE_SCAN,
            f"{n} value{'s' * (n != 1)} in a block of {threads}",
            values(n),
            np.empty(n, np.int32),
            block=threads,
            measured=(n, threads) == (256, 256),
        )
        for n, threads in shapes
    ]


EXERCISE = kernel_exercise(
    EXCLUSIVE_SCAN,
    task="Scan the values of one block exclusively: out[i] is the sum of all values before i.",
    cases=cases,
    alone=ONE_BY_ONE,
    budgets=(
        budgets.barriers(20, advice=FEW_ROUNDS),
        budgets.bytes_moved(lambda launch: 4 * 256 + 320, of=0, advice=READ_ONCE),
        budgets.bytes_moved(lambda launch: 4 * 256 + 320, of=1, advice=WRITE_ONCE),
        budgets.shared_passes(450, advice=ONE_BY_ONE),
    ),
    # of another right kernel, which is less even, or makes more accesses
    busiest={"thread": (69, 5.763), "warp": (69, 4.279), "block": (6913, 1.0)},
)
