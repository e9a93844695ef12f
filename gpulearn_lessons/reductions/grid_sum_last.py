"""A sum in one launch by the block that comes last, given with two mistakes, to be mended."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpulearn import cuda
from gpulearn.judge import budgets
from gpulearn.judge.answers import Answers
from gpulearn.judge.budgets import Budget
from gpulearn.judge.kernel_exercise import Launch, kernel_exercise
from gpulearn.kernels.grid_sum import GRID_SUM_LAST, grid_sum_last
from gpulearn.kernels.reduction import FULL_WARP
from simt.report.report import Report

FLOAT32 = "A literal such as 0.0 is float64: start sums with np.float32(0)."
ONCE = (
    "Each value is needed once, by one thread alone: its own are those one grid apart, from "
    "cuda.grid(1) on."
)
ONE_TICKET = (
    "A block draws one ticket, by its thread 0, and waits for nobody: the one that draws the last "
    "ticket adds up, and it alone sets the ticket back."
)
FENCED = (
    "Between the store of a block's sum and its ticket belongs a fence for all blocks, "
    "cuda.threadfence(), and only the block that draws the last ticket may read the sums: else one "
    "may read a sum that it does not see yet."
)
ALONE = "Let a block store its sum, then a fence, then draw its ticket; the last one adds up."

answers = Answers(grid_sum_last)

# what stands in the solution
STORE = "        sums[cuda.blockIdx.x] = part\n"
FENCE = "        cuda.threadfence()\n        if"
RESET = "            cuda.atomic.exch(ticket, 0, 0)"
DRAWN = "if cuda.atomic.add(ticket, 0, 1) == cuda.gridDim.x - 1:"
ADD_UP = """            for b in range(cuda.gridDim.x):
                whole += sums[b]
"""

GIVEN = {
    STORE: "        cuda.threadfence()\n" + STORE,
    FENCE: "        if",
    f"            total[0] = whole\n{RESET}": "            total[0] = whole",
}
answers.give(GIVEN)


def cases() -> list[Launch]:
    """Many blocks and one, more values than threads, fewer, none; sums that are exact."""
    rng = np.random.default_rng(7)
    shapes = ((1_000, 6), (64, 2), (20, 1), (70, 5), (0, 3))
    return [
        Launch.of(
            GRID_SUM_LAST,
            f"{n:,} values in {grid} block{'s' * (grid > 1)} of 32",
            (rng.integers(-200, 200, n) / 4).astype(np.float32),
            np.empty(grid, np.float32),
            np.zeros(1, np.int32),
            np.empty(1, np.float32),
            measured=n == 1_000,
        )
        for n, grid in shapes
    ]


def undrawn(report: Report, launch: Launch) -> str | None:
    """Whether there are blocks that draw no ticket."""
    drawn = report.arrays[launch.names(report)[2]].atomics
    if drawn >= launch.args[1].size:
        return None
    return f"{drawn} tickets are drawn by {launch.args[1].size} blocks, the budget is one for each"


answers.edit(GIVEN, "a block's ticket may be seen before its sum: a fence belongs between the two.")
answers.edit(
    {STORE: "        cuda.threadfence()\n" + STORE, FENCE: "        if"},
    FENCED,
)
answers.edit(
    {f"            total[0] = whole\n{RESET}": "            total[0] = whole"},
    "the ticket is not 0 again in the end, as the next launch has to find it, in a grid of "
    "whatever size.",
)
answers.edit(
    {RESET: "            ticket[0] = 0"},
    "a plain store beside other blocks' atomic updates is a race: set the ticket back by an atomic "
    "operation, too, such as cuda.atomic.exch(ticket, 0, 0).",
)
answers.edit(
    {"cuda.gridDim.x - 1": "cuda.gridDim.x"},
    "total is never written: tickets count from 0, so the last of them is gridDim.x − 1.",
)
answers.edit(
    {DRAWN: "if cuda.atomic.add(ticket, 0, 1) == 0:"},
    "ticket 0 is that of the block that comes first, when the others have not stored their sums.",
)
answers.edit(
    {DRAWN: "cuda.atomic.add(ticket, 0, 1)\n        if cuda.blockIdx.x == cuda.gridDim.x - 1:"},
    "the block with the last number is not the one that comes last: the ticket tells which is.",
)
answers.edit(
    {DRAWN: "cuda.atomic.add(ticket, 0, 1)\n        if ticket[0] == cuda.gridDim.x:"},
    "between a block's own update and its read of the ticket another may update it: take what "
    "cuda.atomic.add gives back.",
)
answers.edit({RESET: RESET.removeprefix("    ")}, ONE_TICKET)
answers.edit(
    {"range(cuda.gridDim.x)": "range(cuda.gridDim.x - 1)"},
    "the sum of the last block is missing: there are cuda.gridDim.x of them.",
)
answers.edit(
    {"whole += sums[b]": "whole = sums[b]"}, "each sum replaces the one before: add them up."
)
answers.edit(
    {"(16, 8, 4, 2, 1)": "(16, 8, 4, 2)"},
    "every second value is missing: the last shuffle reaches one lane far, step 1.",
)
answers.edit(
    {"whole = np.float32(0)": "whole = part", ADD_UP: ADD_UP.replace("range(", "range(1, ")},
    "that adds the last block's own sum in the place of block 0's: begin with 0 and add all sums.",
)
answers.edit({"part = np.float32(0)": "part = 0.0"}, FLOAT32)


@answers.wrong(ALONE)
def without_the_sums(values: Any, sums: Any, ticket: Any, total: Any) -> None:
    if cuda.threadIdx.x == 0:
        part = np.float32(0)
        for first in range(cuda.blockIdx.x * 32, values.size, cuda.gridsize(1)):
            for i in range(first, min(first + 32, values.size)):
                part += values[i]
        sums[cuda.blockIdx.x] = part
        if cuda.atomic.add(ticket, 0, 1) == cuda.gridDim.x - 1:
            whole = np.float32(0)
            for i in range(values.size):
                whole += values[i]
            total[0] = whole
            cuda.atomic.exch(ticket, 0, 0)


@answers.wrong(ALONE)
def by_a_grid_barrier(values: Any, sums: Any, ticket: Any, total: Any) -> None:
    everybody = cuda.cg.this_grid()
    part = np.float32(0)
    for i in range(cuda.grid(1), values.size, cuda.gridsize(1)):
        part += values[i]
    for step in (16, 8, 4, 2, 1):
        part += cuda.shfl_down_sync(FULL_WARP, part, step)
    if cuda.threadIdx.x == 0:
        sums[cuda.blockIdx.x] = part
    everybody.sync()
    if cuda.grid(1) == 0:
        whole = np.float32(0)
        for b in range(sums.size):
            whole += sums[b]
        total[0] = whole


answers.edit(
    {"        part += values[i]\n": "        if values[i] != 0:\n            part += values[i]\n"},
    ONCE,
)


@answers.right
def by_butterfly_and_wrapping_ticket(values: Any, sums: Any, ticket: Any, total: Any) -> None:
    me = cuda.threadIdx.x
    part = np.float32(0)
    i = cuda.grid(1)
    while i < values.shape[0]:
        part += values[i]
        i += cuda.gridsize(1)
    for step in (1, 2, 4, 8, 16):
        part += cuda.shfl_xor_sync(FULL_WARP, part, step)
    if me == 0:
        sums[cuda.blockIdx.x] = part
        cuda.threadfence()
        mine = cuda.atomic.add(ticket, 0, 1)
        cuda.threadfence()
        if mine + 1 == len(sums):
            result = sums[0]
            for b in range(1, len(sums)):
                result += sums[b]
            total[0] = result
            cuda.atomic.sub(ticket, 0, len(sums))


answers.variant({ADD_UP: ADD_UP.replace("range(cuda.gridDim.x)", "range(sums.size - 1, -1, -1)")})

EXERCISE = kernel_exercise(
    GRID_SUM_LAST,
    task="Mend the kernel, so that the block that comes last adds up the sums of all, every time.",
    cases=cases,
    answers=answers,
    alone=ALONE,
    budgets=(
        *budgets.float64_sums(advice=FLOAT32),
        Budget(undrawn, ALONE),
        budgets.atomics(lambda launch: int(launch.grid) + 1, of=2, advice=ONE_TICKET),  # type: ignore[arg-type]
        budgets.accesses(lambda launch: launch.args[0].size, of=0, advice=ONCE),
        budgets.bytes_moved(lambda launch: 2 * launch.args[0].nbytes, of=0, advice=ONCE),
    ),
)
