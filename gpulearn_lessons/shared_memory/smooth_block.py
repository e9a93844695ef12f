"""Rounds in shared memory that are given with two mistakes, to be mended from their report."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpulearn import cuda
from gpulearn.judge import budgets
from gpulearn.judge.answers import Answers
from gpulearn.judge.kernel_exercise import Launch, kernel_exercise
from gpulearn.kernels.blocks import BLOCK, SMOOTH_BLOCK, TIMES, smooth_block
from gpulearn.kernels.specification import blocks_along

Vector = np.ndarray[tuple[int], Any]
answers = Answers(smooth_block)

SINGLE = (
    "A float32 that is divided by a plain 3 or 3.0 is a float64 by Numba's types: divide by "
    "np.float32(3)."
)
ONCE = (
    "Read each element of a once, before the rounds, and write each of out once, after them: the "
    "rounds take place in shared memory."
)
TWO = "Two barriers for each round are enough: before its reads, and between its reads and writes."
ALONE = "Let each thread smooth one element, its own."

# Text of the solution.
BODY = """\
    if t <= last:
        cells[t] = a[start + t]
    mean = np.float32(0)
    for _ in range(TIMES):
        cuda.syncthreads()
        if t <= last:
            left, right = cells[max(t - 1, 0)], cells[min(t + 1, last)]
            mean = (left + cells[t] + right) / np.float32(3)
        cuda.syncthreads()
        if t <= last:
            cells[t] = mean
    if t <= last:
        out[start + t] = mean"""
GIVEN = """\
    if t > last:
        return
    cells[t] = a[start + t]
    for _ in range(TIMES):
        cuda.syncthreads()
        left, right = cells[max(t - 1, 0)], cells[min(t + 1, last)]
        cells[t] = (left + cells[t] + right) / np.float32(3)
    out[start + t] = cells[t]"""
BEFORE_READS = "range(TIMES):\n        cuda.syncthreads()\n"
BEFORE_WRITES = "np.float32(3)\n        cuda.syncthreads()\n"
LEAVES = BODY.replace(
    "    if t <= last:\n", "    if t > last:\n        return\n    if t <= last:\n", 1
)

answers.give({BODY: GIVEN})


def cases() -> list[Launch]:
    """Vectors of full blocks, of odd sizes, of one element, and one block too many."""
    rng = np.random.default_rng(10)

    def launch(n: int, label: str, spare: int = 0) -> Launch:
        a = rng.normal(size=n).astype(np.float32)
        grid = blocks_along(n, BLOCK) + spare
        label = f"{n} element{'s' * (n > 1)} in {label}"
        return Launch.of(
            SMOOTH_BLOCK, label, a, np.empty_like(a), grid=grid, measured=n > 3 * BLOCK
        )

    return [
        launch(4 * BLOCK, "4 full blocks"),
        launch(2 * BLOCK + 37, "3 blocks, the last of them with 37 elements"),
        launch(BLOCK + 1, "2 blocks, the last of them with one element"),
        launch(1, "one block"),
        launch(BLOCK - 1, "2 blocks, the second of them with nothing to do", spare=1),
    ]


answers.edit(
    {BODY: GIVEN},
    "the cell is replaced while a neighbour still needs it: first all reads, then the writes.",
)
answers.edit(
    {BEFORE_WRITES: "np.float32(3)\n"},
    "a thread writes its new mean while a neighbour still needs the old one: a barrier belongs "
    "between the reads of a round and its writes.",
)
answers.edit(
    {BEFORE_READS: "range(TIMES):\n"},
    "a thread reads a cell that its neighbour may not have written yet: a barrier belongs before "
    "the reads of each round, the first one too.",
)
answers.edit(
    {BODY: LEAVES},
    "threads without an element leave before the barrier: let every thread stay to the end, and "
    "guard the lines that touch memory.",
)
answers.edit(
    {BEFORE_WRITES: "np.float32(3)\n            cuda.syncthreads()\n"},
    "the barrier stands under the condition, and threads without an element never reach it: the "
    "condition guards reads and writes, every thread needs the barrier.",
)
answers.edit(
    {
        BEFORE_READS: BEFORE_READS.replace("threads", "warp"),
        BEFORE_WRITES: BEFORE_WRITES.replace("threads", "warp"),
    },
    "syncwarp waits for the lanes of one warp, and at the ends of a warp the neighbours belong to "
    "another: the whole block has to wait.",
)
answers.edit(
    {"range(TIMES)": "range(1)"},
    "it is as if smoothed once: take TIMES rounds, and let each read what the round before wrote.",
)
answers.edit(
    {"range(TIMES)": "range(TIMES - 1)"}, "one round is missing: the loop takes TIMES rounds."
)
answers.edit(
    {"cells[max(t - 1, 0)]": "cells[t - 1]"},
    "thread 0 has no left neighbour, and cells[-1] is the last cell: let it take its own instead.",
)
answers.edit(
    {"min(t + 1, last)": "min(t + 1, BLOCK - 1)"},
    "the last stretch may be shorter: beyond its element `last` nobody has written a cell.",
)
answers.edit(
    {"out[start + t]": "out[t]"}, "every block writes to the first stretch of out: add start."
)
answers.edit(
    {"(left + cells[t] + right) / np.float32(3)": "(left + right) / np.float32(2)"},
    "the element itself is left out: the mean is that of three.",
)
answers.edit({" / np.float32(3)": ""}, "that is the sum of the three: divide it by 3.")


@answers.wrong("nothing is written: out is left as it was.")
def empty(a: Vector, out: Vector) -> None:
    pass


answers.edit({"np.float32(3)": "3"}, SINGLE)
answers.edit({"cells[t] = mean\n": "cells[t] = mean\n        cuda.syncthreads()\n"}, TWO)


@answers.wrong(ONCE)
def rounds_in_global_memory(a: Vector, out: Vector) -> None:
    i = cuda.grid(1)
    start = cuda.blockIdx.x * BLOCK
    last = min(start + BLOCK, a.size) - 1
    if i <= last:
        out[i] = a[i]
    mean = np.float32(0)
    for _ in range(TIMES):
        cuda.syncthreads()
        if i <= last:
            left, right = out[max(i - 1, start)], out[min(i + 1, last)]
            mean = (left + out[i] + right) / np.float32(3)
        cuda.syncthreads()
        if i <= last:
            out[i] = mean


@answers.wrong(ALONE)
def one_thread(a: Vector, out: Vector) -> None:
    cells = cuda.shared.array((2, BLOCK), np.float32)
    start = cuda.blockIdx.x * BLOCK
    last = min(BLOCK, a.size - start) - 1
    if cuda.threadIdx.x == 0:
        for t in range(last + 1):
            cells[0, t] = a[start + t]
        for k in range(TIMES):
            now = k % 2
            for t in range(last + 1):
                both = cells[now, max(t - 1, 0)] + cells[now, min(t + 1, last)]
                cells[1 - now, t] = (both + cells[now, t]) / np.float32(3)
        for t in range(last + 1):
            out[start + t] = cells[TIMES % 2, t]


@answers.right
def two_rows_in_turn(a: Vector, out: Vector) -> None:
    cells = cuda.shared.array((2, BLOCK), np.float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    here = i < a.size
    end = min(BLOCK, a.size - cuda.blockIdx.x * BLOCK) - 1
    now = 0
    if here:
        cells[0, t] = a[i]
    for _ in range(TIMES):
        cuda.syncthreads()
        if here:
            total = cells[now, t]
            total += cells[now, t - 1] if t > 0 else cells[now, 0]
            total += cells[now, t + 1] if t < end else cells[now, end]
            cells[1 - now, t] = total / np.float32(3)
        now = 1 - now
    if here:
        out[i] = cells[now, t]


answers.variant(
    {
        BODY: """\
    if t <= last:
        cells[t] = a[start + t]
    cuda.syncthreads()
    for _ in range(TIMES):
        left = cells[max(t - 1, 0)] if t <= last else np.float32(0)
        right = cells[min(t + 1, last)] if t <= last else np.float32(0)
        cuda.syncthreads()
        if t <= last:
            cells[t] = (left + cells[t] + right) / np.float32(3)
        cuda.syncthreads()
    if t <= last:
        out[start + t] = cells[t]"""
    }
)

EXERCISE = kernel_exercise(
    SMOOTH_BLOCK,
    task="Mend the kernel, so that each block smooths its stretch TIMES times without a race.",
    cases=cases,
    answers=answers,
    alone=ALONE,
    budgets=(
        budgets.float64(advice=SINGLE),
        budgets.bytes_moved(lambda launch: 2 * launch.args[0].nbytes, advice=ONCE),
        # one more than needed, for those who wait once after filling and once after each write
        budgets.barriers(2 * TIMES + 1, advice=TWO),
    ),
)
