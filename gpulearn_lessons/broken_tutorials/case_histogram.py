"""A histogram that is right where threads take turns, to be mended."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpulearn import cuda
from gpulearn.judge import budgets
from gpulearn.judge.answers import Answers
from gpulearn.judge.kernel_exercise import Launch, kernel_exercise
from gpulearn_lessons.broken_tutorials.brightness import BRIGHTNESS, LEVELS, case_histogram

answers = Answers(case_histogram)

# what stands in the solution
CLEAR = "    if t < 16:\n        own[t] = 0\n    cuda.syncthreads()\n"
COUNT = "        cuda.atomic.add(own, level, 1)\n"
WAIT = f"{COUNT}    cuda.syncthreads()\n"
MERGE = "cuda.atomic.add(counts, t, own[t])"
LEVEL = "min(int(values[i] * np.float32(16)), 15)"

PLAIN_COUNT = {"cuda.atomic.add(own, level, 1)": "own[level] += 1"}
PLAIN_MERGE = {MERGE: "counts[t] += own[t]"}

answers.give(PLAIN_COUNT | PLAIN_MERGE)


def cases() -> list[Launch]:
    """A dark picture, all levels alike, the brightest value, few values, several blocks."""
    rng = np.random.default_rng(22)
    shapes = (
        ("3,000 values, mostly dark, 4 blocks of 96", rng.random(3000) ** 3, 4, 96),
        ("500 values, 0 and 1 among them, 3 blocks of 32", np.linspace(0, 1, 500), 3, 32),
        ("700 values that are all 1, 2 blocks of 64", np.ones(700), 2, 64),
        ("20 values, one block of 128", rng.random(20), 1, 128),
    )
    return [
        Launch.of(
            BRIGHTNESS,
            label,
            values.astype(np.float32),
            np.zeros(LEVELS, np.int32),
            grid=grid,
            block=block,
            measured="3,000" in label,
        )
        for label, values, grid, block in shapes
    ]


IN_A_BLOCK = (
    "two threads of a block read the same count, both add one and both write: one of the two is "
    "lost. Let the hardware do it in one piece, cuda.atomic.add."
)
OF_TWO_BLOCKS = (
    "two blocks add to the same count at once, and what one of them adds is lost: each block "
    "needs cuda.atomic.add for that as well."
)

answers.edit(PLAIN_COUNT | PLAIN_MERGE, f"two places race. First, {IN_A_BLOCK}")
answers.edit(PLAIN_COUNT, IN_A_BLOCK)
answers.edit(PLAIN_MERGE, OF_TWO_BLOCKS)
answers.edit(
    {CLEAR: "    if t < 16:\n        own[t] = 0\n"},
    "some threads count while others have not cleared yet: a barrier belongs in between.",
)
answers.edit(
    {CLEAR: ""},
    "shared memory holds garbage at first: set the block's own counts to 0, and wait.",
)
answers.edit(
    {WAIT: COUNT},
    "some threads add up counts in which others still count: a barrier belongs in between.",
)
answers.edit(
    {LEVEL: "int(values[i] * np.float32(16))"},
    "the value 1 has no level: 16 · 1 is 16, one beyond the last.",
)
answers.edit(
    {MERGE: "counts[t] = own[t]"},
    "each block writes its own counts over those of the others: add them, in one piece.",
)
answers.edit(
    {MERGE: f"if cuda.blockIdx.x == 0:\n            {MERGE}"},
    "one block alone adds its counts, and the others have counted too.",
)
answers.edit(
    {WAIT: f"{COUNT}        cuda.syncthreads()\n"},
    "the threads of a block go through the loop unequally often, so that a barrier inside it waits "
    "for threads that never come: put it after the loop.",
)


@answers.wrong(
    "Count in shared memory, and let each block add its counts to global memory once: that is "
    "what they are there for."
)
def without_own_counts(values: Any, counts: Any) -> None:
    for i in range(cuda.grid(1), values.size, cuda.gridsize(1)):
        cuda.atomic.add(counts, min(int(values[i] * np.float32(16)), 15), 1)


@answers.right
def by_while(values: Any, counts: Any) -> None:
    own = cuda.shared.array(16, np.int32)
    t = cuda.threadIdx.x
    if t < 16:
        own[t] = 0
    cuda.syncthreads()
    i = cuda.blockIdx.x * cuda.blockDim.x + t
    while i < values.shape[0]:
        level = int(values[i] * np.float32(16))
        if level > 15:
            level = 15
        cuda.atomic.add(own, level, 1)
        i += cuda.blockDim.x * cuda.gridDim.x
    cuda.syncthreads()
    if t < 16 and own[t] > 0:
        cuda.atomic.add(counts, t, own[t])


answers.variant({CLEAR: CLEAR.replace("if t < 16:", "if t < counts.size:")})

EXERCISE = kernel_exercise(
    BRIGHTNESS,
    task="Mend the histogram, so that no count is lost whatever order threads run in.",
    cases=cases,
    answers=answers,
    budgets=[
        budgets.shared_memory(advice=answers.wrongs[-1].hint),
        budgets.atomics(
            lambda launch: LEVELS * int(launch.grid),  # type: ignore[arg-type]
            of=1,
            advice=answers.wrongs[-1].hint,
        ),
    ],
)
