"""The block sum: a tree of additions with every barrier that is needed and no more."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpulearn import cuda
from gpulearn.judge import budgets
from gpulearn.judge.answers import Answers
from gpulearn.judge.kernel_exercise import Launch, kernel_exercise
from gpulearn.kernels.blocks import BLOCK, BLOCK_SUM, block_sum
from simt.report.report import Report

Vector = np.ndarray[tuple[int], Any]
answers = Answers(block_sum)

ROUNDS = 7  # log₂ of BLOCK
MOST = 64  # requests and additions of a block, one after the other; one thread alone makes 128

TREE = (
    "The additions happen one after the other while most threads wait: let each round add the "
    "upper half of the values to the lower half, a thread for each pair."
)
BARRIERS = (
    "A barrier is needed before each round, since its values come from other threads; after "
    "the last round none is: thread 0 reads what it wrote itself."
)
SINGLE = "Values of a float32 vector are added in float32: make the shared array float32 too."
NEIGHBOURS = (
    "Let the first half of the threads that are left add in each round, so that whole warps add or "
    "rest: t < half, and not every second thread, every fourth and so on."
)
CONFLICTS = (
    "Lanes that read every second word or more share banks: let neighbouring threads add "
    "neighbouring words."
)

# Text of the solution.
BARRIER = "        cuda.syncthreads()\n"
ELSE = "    else:\n        partial[t] = 0\n"
START = "    half = BLOCK // 2\n"
ADD = "            partial[t] += partial[t + half]\n"
TREE_OF_SUMS = f"""\
{START}    while half > 0:
{BARRIER}        if t < half:
{ADD}        half //= 2
"""
STORE = "    if t == 0:\n        out[cuda.blockIdx.x] = partial[0]"


def cases() -> list[Launch]:
    """Vectors of full blocks, of odd sizes, and one block too many for the values."""
    rng = np.random.default_rng(8)

    def launch(n: int, label: str) -> Launch:
        a = rng.uniform(-1, 2, size=n).astype(np.float32)
        out = np.empty(-(-n // BLOCK), np.float32)
        return Launch.of(BLOCK_SUM, f"{n} elements in {label}", a, out)

    return [
        launch(3 * BLOCK, "3 full blocks"),
        launch(2 * BLOCK + 37, "3 blocks, the last of them with 37 elements"),
        launch(BLOCK + 1, "2 blocks, the last of them with one element"),
        launch(BLOCK - 1, "one block"),
    ]


def one_after_the_other(report: Report, launch: Launch) -> str | None:
    """Whether a block does its additions one after the other, not many at once."""
    totals, blocks = report.totals, report.grid[0]
    passes = totals.shared_load_wavefronts - totals.shared_load_conflicts
    steps = max(passes, totals.global_load_requests, totals.atomics) / blocks
    if steps <= MOST:
        return None
    return f"each block takes {steps:.3g} steps to read and add its values, the budget is {MOST}"


answers.edit(
    {BARRIER: ""},
    "what one thread has written, another reads, with no barrier between: one is needed before "
    "each round, the first one too.",
)
answers.edit(
    {START: f"    cuda.syncthreads()\n{START}", BARRIER: ""},
    "between this round and the one before stands no barrier of the block: each round reads what "
    "the round before wrote, also what another warp wrote.",
)
answers.edit(
    {START: f"    cuda.syncthreads()\n{START}", BARRIER: "", ADD: f"{ADD}    {BARRIER}"},
    "the barrier stands where only some threads of the block come by, under `if` or after "
    "`return`: all have to reach it, also those that have nothing to add.",
)
answers.edit(
    {START: f"    cuda.syncthreads()\n{START}", BARRIER: "", ADD: ADD + BARRIER},
    BARRIERS,
)
answers.edit(
    {ELSE: ""},
    "cells of threads without an element are never written, and then added: write a zero there.",
)
answers.edit(
    {"i < a.size": "i <= a.size"},
    "the guard lets i = a.size through, one past the end: write i < a.size.",
)
answers.edit(
    {"        if t < half:\n            partial": "        partial"},
    "every thread adds in every round: in a round only the first `half` threads have a partner "
    "inside the array.",
)
answers.edit(
    {"half > 0": "half > 1"},
    "the last round is missing: go on while half > 0, so that the round with half = 1 takes place.",
)
answers.edit(
    {"BLOCK // 2": "BLOCK // 4"},
    "the first round is missing: half starts at BLOCK // 2, so that the upper half of the "
    "stretch is added too.",
)
answers.edit(
    {"out[cuda.blockIdx.x]": "out[0]"},
    "all blocks write to out[0]: the sum of block b belongs in out[b].",
)
answers.edit(
    {STORE: "    out[cuda.blockIdx.x] = partial[t]"},
    "all threads of a block write to out[b], each its own partial sum: let thread 0 alone do it.",
)
answers.edit(
    {"partial[0]": "partial[BLOCK - 1]"},
    "that is the last cell: after the rounds the sum stands in partial[0].",
)
answers.edit(
    {"np.float32": "np.int32"},
    "the values lose their fractions: the shared array has to hold the vector's dtype, np.float32.",
)
answers.edit(
    {"partial[0]": "partial[0] / BLOCK"},
    "that is the mean: out[b] is the sum of the stretch, so do not divide.",
)
answers.edit(
    {"i = cuda.blockIdx.x * BLOCK + t": "i = t"},
    "every block sums the first stretch: the block index is missing in the load.",
)
answers.edit(
    {STORE: "    out[cuda.blockIdx.x] = partial[0]"},
    "after the last round all threads read partial[0], which thread 0 has just written: let "
    "thread 0 alone store the sum.",
)


@answers.wrong(
    "all threads add to one cell of shared memory at once: each reads the old sum, and of the "
    "new ones only one is left. Add in rounds, each thread to a cell of its own."
)
def all_add_to_one_cell(a: Vector, out: Vector) -> None:
    total = cuda.shared.array(1, np.float32)
    i = cuda.grid(1)
    if cuda.threadIdx.x == 0:
        total[0] = 0
    cuda.syncthreads()
    if i < a.size:
        total[0] += a[i]
    cuda.syncthreads()
    if cuda.threadIdx.x == 0:
        out[cuda.blockIdx.x] = total[0]


@answers.wrong(TREE)
def one_thread_loads_and_adds(a: Vector, out: Vector) -> None:
    if cuda.threadIdx.x == 0:
        total = np.float32(0)
        start = cuda.blockIdx.x * BLOCK
        for i in range(start, min(start + BLOCK, a.size)):
            total += a[i]
        out[cuda.blockIdx.x] = total


@answers.wrong(TREE)
def atomic_additions(a: Vector, out: Vector) -> None:
    total = cuda.shared.array(1, np.float32)
    i = cuda.grid(1)
    if cuda.threadIdx.x == 0:
        total[0] = 0
    cuda.syncthreads()
    if i < a.size:
        cuda.atomic.add(total, 0, a[i])
    cuda.syncthreads()
    if cuda.threadIdx.x == 0:
        out[cuda.blockIdx.x] = total[0]


@answers.wrong(
    "out holds no number: nothing is stored there, or something is added to what stood there "
    "before, which is no number either."
)
def empty(a: Vector, out: Vector) -> None:
    pass


@answers.wrong(
    "all threads of a block add to one place without waiting for each other: of the additions "
    "that happen at once, one is left."
)
def all_add_to_one_place(a: Vector, out: Vector) -> None:
    i = cuda.grid(1)
    if cuda.threadIdx.x == 0:
        out[cuda.blockIdx.x] = 0
    cuda.syncthreads()
    if i < a.size:
        out[cuda.blockIdx.x] += a[i]


answers.edit(
    {
        TREE_OF_SUMS: "    cuda.syncthreads()\n",
        STORE: """\
    if t == 0:
        total = np.float32(0)
        for k in range(BLOCK):
            total += partial[k]
        out[cuda.blockIdx.x] = total""",
    },
    TREE,
)
answers.edit({"np.float32": "np.float64"}, SINGLE)
answers.edit(
    {
        TREE_OF_SUMS: """\
    step = 1
    while step < BLOCK:
        cuda.syncthreads()
        left = 2 * step * t
        if left + step < BLOCK:
            partial[left] += partial[left + step]
        step *= 2
"""
    },
    CONFLICTS,
)

answers.edit(
    {
        TREE_OF_SUMS: """\
    step = 1
    while step < BLOCK:
        cuda.syncthreads()
        if t % (2 * step) == 0:
            partial[t] += partial[t + step]
        step *= 2
"""
    },
    NEIGHBOURS,
)

answers.variant(
    {
        "    if i < a.size": "    partial[t] = 0\n    if i < a.size",
        ELSE: "",
        TREE_OF_SUMS: """\
    for k in range(ROUNDS):
        cuda.syncthreads()
        active = BLOCK >> (k + 1)
        if t < active:
            partial[t] = partial[t] + partial[t + active]
""",
    },
    ROUNDS=ROUNDS,
)
answers.variant(
    {  # each thread keeps its own sum in a register
        "    if i < a.size": "    mine = np.float32(0)\n    if i < a.size",
        "partial[t] = a[i]": "mine = a[i]",
        ELSE: "    partial[t] = mine\n    cuda.syncthreads()\n",
        TREE_OF_SUMS: """\
    width = BLOCK
    while width > 2:
        width //= 2
        if t < width:
            mine += partial[t + width]
            partial[t] = mine
        cuda.syncthreads()
""",
        "= partial[0]": "= mine + partial[1]",
    }
)

EXERCISE = kernel_exercise(
    BLOCK_SUM,
    task="Sum each block's stretch with every barrier that is needed, and no more.",
    cases=cases,
    answers=answers,
    alone=TREE,
    budgets=(
        budgets.Budget(one_after_the_other, TREE),
        budgets.float64(advice=SINGLE),
        # the last five rounds, the store, and the guard of a last stretch
        budgets.divergence(lambda launch: 8 * launch.args[1].size, advice=NEIGHBOURS),
        budgets.bank_conflicts(0, advice=CONFLICTS),
        budgets.barriers(ROUNDS, advice=BARRIERS),
    ),
)
