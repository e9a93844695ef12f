"""The exclusive scan of one block: running sums, each without its own value."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpulearn import cuda
from gpulearn.judge import budgets
from gpulearn.judge.answers import Answers
from gpulearn.judge.kernel_exercise import Launch, kernel_exercise
from gpulearn_lessons.reductions.scan import EXCLUSIVE_SCAN, SCAN_THREADS, exclusive_scan

ONE_BY_ONE = (
    "Let all threads add at once, in rounds with a step that doubles: each round needs few passes "
    "over shared memory."
)
READ_ONCE = (
    "Read each value once, into shared memory, and let the threads use each other's sums in rounds."
)
WRITE_ONCE = (
    "Let each thread write the sum of its own value, once, when it is complete, so that a warp "
    "writes 32 neighbours at a time."
)
FEW_ROUNDS = (
    "With a step that doubles from round to round 256 values need 8 rounds, and two barriers for "
    "each are enough."
)

answers = Answers(exclusive_scan)

# what stands in the solution
LOAD = "s[t] = values[t - 1] if 0 < t <= values.size else 0"
OWN_VALUE = "s[t] = values[t] if t < values.size else 0"
BEFORE = "s[t - step] if t >= step else 0"
ADD = f"""        before = {BEFORE}
        cuda.syncthreads()
        s[t] += before
"""
ROUNDS = f"""    step = 1
    while step < cuda.blockDim.x:
{ADD}        cuda.syncthreads()
        step *= 2
"""


def cases() -> list[Launch]:
    """A full block, threads too many, one value, none; sums that need all bits of an int32."""
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


answers.edit(
    {LOAD: OWN_VALUE},
    "that is the inclusive scan: out[i] contains values[i] itself. Leave it out, so that out[0] "
    "is 0.",
)
answers.edit(
    {ADD: "        if t >= step:\n            s[t] += s[t - step]\n"},
    "In one round a thread reads what another is writing: read first, then a barrier, then add, "
    "then another barrier.",
)
answers.edit(
    {"    cuda.syncthreads()\n    step": "    step"},
    "A barrier is missing between `s[t] = …` and the first round: a warp reads what another has "
    "not stored yet.",
)
answers.edit(
    {"        cuda.syncthreads()\n        step": "        step"},
    "A barrier is missing at the end of the round: the next one reads sums that are not there yet.",
)
answers.edit(
    {
        f"{ADD}        cuda.syncthreads()\n": """        if t >= step:
            before = s[t - step]
            cuda.syncthreads()
            s[t] += before
            cuda.syncthreads()
"""
    },
    "The barriers stand under the condition, and the first threads never reach them: every thread "
    "needs the barrier, with something to add or without.",
)
answers.edit(
    {"if 0 < t <= values.size": "if t > 0"},
    "Threads beyond the last value read it all the same: a block may have more threads than there "
    "are values. Let those bring a 0.",
)
answers.edit(
    {"t < out.size": "t <= out.size"},
    "The last element of `out` has the index out.size - 1: one thread too many stores.",
)
answers.edit(
    {BEFORE: "s[t - step]"},
    "t - step is negative for the first threads, and s[-1] is the *last* word of s: only threads "
    "with t >= step have a sum to add.",
)
answers.edit(
    {"np.int32": "np.float32"},
    "the shared array has too few bits for large sums, and rounds them or overflows: np.int32, as "
    "values and out have.",
)
answers.edit(
    {"while step <": "while 2 * step <"},
    "the last round is missing: the step must reach half the block.",
)
answers.edit(
    {"step *= 2": "step += 1"},
    "after the first round the step stays or grows by one: double it, since each sum covers twice "
    "as many values after each round.",
)
answers.edit(
    {ROUNDS: ""}, "that shifts the values by one and never adds them: the rounds are missing."
)
answers.edit(
    {LOAD: OWN_VALUE, "if t < out.size": "if 0 < t < out.size", "= s[t]": "= s[t - 1]"},
    "out[0] is never written: before the first value there is nothing, and that is a 0.",
)
answers.edit(
    {
        LOAD: OWN_VALUE,
        BEFORE: "s[t + step] if t + step < cuda.blockDim.x else 0",
        "= s[t]": "= s[t] - values[t]",
    },
    "that is shifted to the wrong side: out[i] is to hold the sum of what comes *before* value i.",
)


@answers.wrong(READ_ONCE)
def each_thread_from_the_start(values: Any, out: Any) -> None:
    t = cuda.threadIdx.x
    if t < out.size:
        total = 0
        for k in range(t):
            total += values[k]
        out[t] = total


answers.edit(
    {
        LOAD: OWN_VALUE,
        ROUNDS: """    if t == 0:
        total = 0
        for k in range(values.size):
            mine = s[k]
            s[k] = total
            total += mine
    cuda.syncthreads()
""",
    },
    ONE_BY_ONE,
)
answers.edit(
    {
        LOAD: OWN_VALUE,
        ROUNDS: """    total = 0
    for k in range(cuda.blockDim.x):
        if k < t:
            total += s[k]
        cuda.syncthreads()
""",
        "= s[t]": "= total",
    },
    FEW_ROUNDS,
)


@answers.right
def up_and_down_a_tree(values: Any, out: Any) -> None:
    s = cuda.shared.array(SCAN_THREADS, np.int32)
    t = cuda.threadIdx.x
    n = cuda.blockDim.x
    s[t] = values[t] if t < values.size else 0
    cuda.syncthreads()
    step = 1
    while step < n:
        right = 2 * step * (t + 1) - 1
        if right < n:
            s[right] += s[right - step]
        cuda.syncthreads()
        step *= 2
    if t == 0:
        s[n - 1] = 0
    cuda.syncthreads()
    while step > 1:
        step //= 2
        right = 2 * step * (t + 1) - 1
        if right < n:
            left = s[right - step]
            s[right - step] = s[right]
            s[right] += left
        cuda.syncthreads()
    if t < out.size:
        out[t] = s[t]


@answers.right
def two_buffers(data: Any, result: Any) -> None:
    buffers = cuda.shared.array((2, 256), np.int32)
    me = cuda.threadIdx.x
    mine = 0
    if me < len(data):
        mine = data[me]
    buffers[0, me] = mine
    now = 0
    distance = 1
    while distance < cuda.blockDim.x:
        cuda.syncthreads()
        total = buffers[now, me]
        if me >= distance:
            total += buffers[now, me - distance]
        now = 1 - now
        buffers[now, me] = total
        distance = 2 * distance
    if me < len(data):
        result[me] = buffers[now, me] - mine


EXERCISE = kernel_exercise(
    EXCLUSIVE_SCAN,
    task="Scan the values of one block exclusively: out[i] is the sum of all values before i.",
    cases=cases,
    answers=answers,
    alone=ONE_BY_ONE,
    budgets=(
        budgets.barriers(20, advice=FEW_ROUNDS),
        budgets.bytes_moved(lambda launch: 4 * 256 + 320, of=0, advice=READ_ONCE),
        budgets.bytes_moved(lambda launch: 4 * 256 + 320, of=1, advice=WRITE_ONCE),
        budgets.shared_passes(450, advice=ONE_BY_ONE),
    ),
)
