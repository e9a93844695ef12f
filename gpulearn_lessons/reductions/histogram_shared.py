"""A histogram with a private copy of the bins for each block."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gpulearn import cuda
from gpulearn.judge import budgets
from gpulearn.judge.answers import Answers
from gpulearn.judge.kernel_exercise import SHARE, Launch, kernel_exercise
from gpulearn.kernels.histogram import BINS, HISTOGRAM_SHARED, histogram_shared

FEW_GLOBAL = (
    "Count in shared memory first, and let each block add each of its bins to the global counts "
    "once."
)

ONCE = (
    "Let the grid read each value once: a thread takes its own values, those one grid apart, "
    "whatever their bins are, and keeps one in a variable while it needs it."
)

answers = Answers(histogram_shared)

# what stands in the solution
CLEAR = """    for b in range(first, counts.size, cuda.blockDim.x):
        private[b] = 0
"""
BARRIER = "    cuda.syncthreads()\n"
COUNT = """    for i in range(cuda.grid(1), values.size, cuda.gridsize(1)):
        cuda.atomic.add(private, values[i], 1)
"""
ADDED = "cuda.atomic.add(counts, b, private[b])"
MERGE = f"""    for b in range(first, counts.size, cuda.blockDim.x):
        {ADDED}"""


def cases() -> list[Launch]:
    """Fewer bins than threads and more, fewer values than threads and more, one value only."""
    rng = np.random.default_rng(7)
    shapes = (
        ("3,001 values, 200 bins, 4 blocks of 96", 3001, 200, 4, 96),
        ("1,000 values, 16 bins, 3 blocks of 32", 1000, 16, 3, 32),
        ("100 values, 10 bins, one block of 128", 100, 10, 1, 128),
        ("700 equal values, 5 bins, 2 blocks of 64", 700, 5, 2, 64),
    )
    return [
        Launch.of(
            HISTOGRAM_SHARED,
            label,
            np.full(n, 3, np.int32) if "equal" in label else rng.integers(0, bins, n, np.int32),
            np.zeros(bins, np.int32),
            grid=grid,
            block=block,
            measured=n == 3001,
        )
        for label, n, bins, grid, block in shapes
    ]


answers.edit(
    {"cuda.atomic.add(private, values[i], 1)": "private[values[i]] += 1"},
    "Updates get lost in the private copy: two threads of the block read the same count and both "
    "write one more. Use cuda.atomic.add in shared memory too.",
)


answers.edit(
    {
        "        cuda.atomic.add(private, values[i], 1)": (
            "        if values[i] >= 0:\n            cuda.atomic.add(private, values[i], 1)"
        )
    },
    ONCE,
)


@answers.wrong(FEW_GLOBAL)
def global_atomics(values: Any, counts: Any) -> None:
    for i in range(cuda.grid(1), values.size, cuda.gridsize(1)):
        cuda.atomic.add(counts, values[i], 1)


answers.edit(
    {CLEAR: ""},
    "Shared memory holds garbage at first: set the private bins to 0 before you count, and merge "
    "no others than those, counts.size of them.",
)
answers.edit(
    {CLEAR: "    if first < counts.size:\n        private[first] = 0\n"},
    "Only as many bins are set to 0 as the block has threads: with more bins than threads, "
    "each thread has several to clear.",
)
answers.edit(
    {CLEAR + BARRIER: CLEAR},
    "Some threads count while others still clear: a barrier belongs between setting the bins to "
    "0 and the first count.",
)
answers.edit(
    {COUNT + BARRIER: COUNT},
    "Some threads merge bins that others still count in: a barrier belongs between the last "
    "count and the merge.",
)
answers.edit(
    {ADDED: "counts[b] += private[b]"},
    "Two blocks merge the same bin at once, and one of their sums is lost: the merge needs "
    "cuda.atomic.add as well.",
)
answers.edit(
    {
        "for i in range(cuda.grid(1), values.size, cuda.gridsize(1)):": (
            "i = cuda.grid(1)\n    if i < values.size:"
        )
    },
    "that counts one value for each thread. There are more values than threads: go on one grid "
    "further, cuda.gridsize(1), until they end.",
)
answers.edit(
    {"cuda.grid(1), values.size, cuda.gridsize(1)": "first, values.size, cuda.blockDim.x"},
    "every block counts all the values: the block index is never used, so each count is too "
    "large by the number of blocks.",
)
answers.edit(
    {"values.size": "values.size + 1"},
    "The last value has the index values.size - 1: the range ends one too late.",
)
answers.edit(
    {COUNT + BARRIER: f"{COUNT}    {BARRIER}"},
    "The threads of a block go through the loop unequally often, so a barrier inside it waits for "
    "threads that never come: put it after the loop.",
)
answers.edit(
    {
        MERGE: """    if first < counts.size:
        cuda.atomic.add(counts, first, private[first])"""
    },
    "only as many bins are merged as the block has threads: with more bins than threads, each "
    "thread has several to merge.",
)
answers.edit(
    {ADDED: f"if cuda.blockIdx.x == 0:\n            {ADDED}"},
    "only one block merges its counts: each block has counted other values.",
)


@answers.wrong(ONCE)
def a_thread_for_each_bin(values: Any, counts: Any) -> None:
    private = cuda.shared.array(BINS, np.int32)
    for b in range(cuda.grid(1), counts.size, cuda.gridsize(1)):
        private[b] = 0
        for i in range(values.size):
            if values[i] == b:
                private[b] += 1
        counts[b] = private[b]


answers.edit(
    {BARRIER + MERGE: ""},
    "the private counts are never added to `counts`: shared memory is gone when the block ends.",
)


@answers.right
def bins_by_while(data: Any, histogram: Any) -> None:
    bins = histogram.shape[0]
    mine = cuda.shared.array(256, np.int32)
    b = cuda.threadIdx.x
    while b < bins:
        mine[b] = 0
        b += cuda.blockDim.x
    cuda.syncthreads()
    i = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    while i < data.shape[0]:
        cuda.atomic.add(mine, data[i], 1)
        i += cuda.blockDim.x * cuda.gridDim.x
    cuda.syncthreads()
    b = cuda.threadIdx.x
    while b < bins:
        if mine[b] > 0:
            cuda.atomic.add(histogram, b, mine[b])
        b += cuda.blockDim.x


@answers.right
def contiguous_parts(values: Any, counts: Any) -> None:
    private = cuda.shared.array(BINS, np.int32)
    t = cuda.threadIdx.x
    for b in range(t, BINS, cuda.blockDim.x):
        private[b] = 0
    cuda.syncthreads()
    part = math.ceil(values.size / cuda.gridDim.x)
    first = cuda.blockIdx.x * part
    for i in range(first + t, min(first + part, values.size), cuda.blockDim.x):
        cuda.atomic.add(private, values[i], 1)
    cuda.syncthreads()
    for b in range(t, counts.size, cuda.blockDim.x):
        cuda.atomic.add(counts, b, private[b])


answers.edit(
    {
        "for b in range(t, BINS, cuda.blockDim.x):": "for b in range(BINS * (t == 0)):",
        "for b in range(t, counts.size, cuda.blockDim.x):": (
            "for b in range(counts.size * (t == 0)):"
        ),
    },
    SHARE,
    of=contiguous_parts,
)

EXERCISE = kernel_exercise(
    HISTOGRAM_SHARED,
    task="Count the values in a private copy of the bins for each block, and merge the copies.",
    cases=cases,
    answers=answers,
    budgets=(
        budgets.shared_memory(advice=FEW_GLOBAL),
        budgets.atomics(
            lambda launch: launch.args[1].size * int(launch.grid),  # type: ignore[arg-type]
            of=1,
            advice=FEW_GLOBAL,
        ),
        budgets.accesses(lambda launch: launch.args[0].size, of=0, advice=ONCE),
        budgets.bytes_moved(lambda launch: 16 * sum(a.nbytes for a in launch.args), advice=ONCE),
    ),
)
