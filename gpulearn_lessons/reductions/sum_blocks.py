"""The sum of each block's values, by a tree in shared memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpulearn import cuda
from gpulearn.judge import budgets
from gpulearn.judge.answers import Answers
from gpulearn.judge.kernel_exercise import Launch, kernel_exercise
from gpulearn.kernels.reduction import FULL_WARP, SUM_BLOCKS, THREADS, sum_blocks

FLOAT32 = "A literal such as 0.0 is float64: start the sum with np.float32(0)."
TREE = "Halve the number of sums in each round, with a thread for each pair, until one is left."
WHOLE_WARPS = (
    "Give the additions of a round to neighbouring threads, the first half of those that are "
    "left, so that whole warps are active or idle."
)
BANKS = (
    "Let neighbouring threads use neighbouring words: s[t] and s[t + step], with a step that is "
    "halved from round to round."
)
OWN = (
    "Each value is needed once, by one thread: let each add up its own, those one grid apart, "
    "and bring the threads' sums together in a tree."
)
QUEUE = "Threads that add to one place take turns: let them add up pairs, in rounds."

answers = Answers(sum_blocks)

# what stands in the solution
FIRST_STEP = "    step = cuda.blockDim.x // 2\n"
ROUND = """        if t < step:
            s[t] += s[t + step]
"""
BARRIER_IN_THE_ROUND = "        cuda.syncthreads()\n"
HALVED = "step //= 2"
TREE_OF_ROUNDS = f"""{FIRST_STEP}    while step > 0:
{ROUND}{BARRIER_IN_THE_ROUND}        {HALVED}
"""
STORE = """    if t == 0:
        sums[cuda.blockIdx.x] = s[0]"""


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


answers.edit(
    {
        "for i in range(cuda.grid(1), values.size, cuda.gridsize(1)):": (
            "i = cuda.grid(1)\n    if i < values.size:"
        )
    },
    "that sums one value for each thread. There are more values than threads: let each thread "
    "first add up those that lie one grid, cuda.gridsize(1), apart.",
)
answers.edit(
    {f"    cuda.syncthreads()\n{FIRST_STEP}": FIRST_STEP},
    "A thread adds a sum that its neighbour has not stored yet: a barrier belongs between "
    "`s[t] = …` and the first round.",
)
answers.edit(
    {BARRIER_IN_THE_ROUND: ""},
    "A round begins while another warp is still in the last one: end each round with a barrier.",
)
answers.edit(
    {BARRIER_IN_THE_ROUND: f"    {BARRIER_IN_THE_ROUND}"},
    "The barrier stands under the condition, and only some threads reach it: the condition "
    "guards the addition, every thread needs the barrier.",
)
answers.edit(
    {"while step > 0": "while step > 1"},
    "the last round is missing: the loop must still run with step 1.",
)
answers.edit(
    {"cuda.blockDim.x // 2": "cuda.blockDim.x"},
    "The first round must reach half a block far: a step of blockDim.x leaves the block's part "
    "of s.",
)
answers.edit(
    {STORE: "    sums[cuda.blockIdx.x] = s[t]"},
    "All threads write to one place at once: only thread 0 holds the block's sum.",
)
answers.edit(
    {"sums[cuda.blockIdx.x]": "sums[0]"},
    "All blocks write to sums[0]: block b's sum belongs at sums[cuda.blockIdx.x].",
)
answers.edit(
    {"values.size": "values.size + 1"},
    "The last value has the index values.size - 1: the range ends one too late.",
)
answers.edit(
    {"cuda.grid(1), values.size, cuda.gridsize(1)": "t, values.size, cuda.blockDim.x"},
    "every block sums all the values: start at cuda.grid(1) and go on by cuda.gridsize(1), which "
    "tell the blocks apart.",
)
answers.edit(
    {"t < step": "t + step < cuda.blockDim.x"},
    "In a round every thread adds, those of the second half too, and reads what others are "
    "writing: only threads with t < step add.",
)
answers.edit(
    {TREE_OF_ROUNDS: ""},
    "that is thread 0's own part: the sums of the other threads are never added.",
)
answers.edit(
    {"cuda.gridsize(1)": "cuda.blockDim.x"},
    "a thread goes on by the size of its block, and adds up values of the blocks behind it as "
    "well: its next value lies one grid on, cuda.gridsize(1).",
)
answers.edit({"np.float32(0)": "0.0"}, FLOAT32)
answers.edit(
    {
        TREE_OF_ROUNDS: "",
        STORE: """    if t == 0:
        for k in range(1, cuda.blockDim.x):
            total += s[k]
        sums[cuda.blockIdx.x] = total""",
    },
    TREE,
)


answers.edit({"total += values[i]": "total += (values[i] + values[i]) / np.float32(2)"}, OWN)


@answers.wrong(OWN)
def every_thread_sums_the_block(values: Any, sums: Any) -> None:
    total = np.float32(0)
    for first in range(cuda.blockIdx.x * THREADS, values.size, cuda.gridsize(1)):
        for i in range(first, min(first + THREADS, values.size)):
            total += values[i]
    if cuda.threadIdx.x == 0:
        sums[cuda.blockIdx.x] = total


answers.edit(
    {"total += values[i]": "total = values[i]"},
    "each value replaces the one before: a thread has to add up its values, total += values[i].",
)
answers.edit(
    {
        FIRST_STEP: "    step = 1\n",
        "step > 0": "step < cuda.blockDim.x",
        "t < step": "t % (2 * step) == 0",
        HALVED: "step *= 2",
    },
    WHOLE_WARPS,
)
answers.edit(
    {
        FIRST_STEP: "    step = 1\n",
        "step > 0": "step < cuda.blockDim.x",
        ROUND: """        place = 2 * step * t
        if place < cuda.blockDim.x:
            s[place] += s[place + step]
""",
        HALVED: "step *= 2",
    },
    BANKS,
)


@answers.wrong(QUEUE)
def atomics_on_one_word(values: Any, sums: Any) -> None:
    s = cuda.shared.array(1, np.float32)
    if cuda.threadIdx.x == 0:
        s[0] = 0
    cuda.syncthreads()
    for i in range(cuda.grid(1), values.size, cuda.gridsize(1)):
        cuda.atomic.add(s, 0, values[i])
    cuda.syncthreads()
    if cuda.threadIdx.x == 0:
        sums[cuda.blockIdx.x] = s[0]


@answers.right
def by_shuffles(values: Any, sums: Any) -> None:
    warps = cuda.shared.array(32, np.float32)
    t = cuda.threadIdx.x
    total = np.float32(0)
    for i in range(cuda.grid(1), values.size, cuda.gridsize(1)):
        total += values[i]
    for step in (16, 8, 4, 2, 1):
        total += cuda.shfl_down_sync(FULL_WARP, total, step)
    if t % 32 == 0:
        warps[t // 32] = total
    cuda.syncthreads()
    if t < 32:
        total = warps[t] if t < cuda.blockDim.x // 32 else np.float32(0)
        for step in (4, 2, 1):
            total += cuda.shfl_down_sync(FULL_WARP, total, step)
        if t == 0:
            sums[cuda.blockIdx.x] = total


@answers.right
def last_warp_apart(data: Any, result: Any) -> None:
    parts = cuda.shared.array(256, np.float32)
    me = cuda.threadIdx.x
    parts[me] = np.float32(0)
    i = cuda.blockIdx.x * cuda.blockDim.x + me
    while i < len(data):
        parts[me] += data[i]
        i += cuda.blockDim.x * cuda.gridDim.x
    cuda.syncthreads()
    half = 128
    while half >= 32:
        if me < half:
            parts[me] = parts[me] + parts[me + half]
        cuda.syncthreads()
        half = half // 2
    if me < 32:
        mine = parts[me]
        for lane in (16, 8, 4, 2, 1):
            mine += cuda.shfl_xor_sync(FULL_WARP, mine, lane)
        if me == 0:
            result[cuda.blockIdx.x] = mine


EXERCISE = kernel_exercise(
    SUM_BLOCKS,
    task="Let each block sum its part of the values: a loop for each thread, then a tree.",
    cases=cases,
    answers=answers,
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
)
