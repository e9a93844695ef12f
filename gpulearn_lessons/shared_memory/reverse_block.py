"""The block reversal, in place: the smallest exchange that needs a barrier."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpulearn import cuda
from gpulearn.judge import budgets
from gpulearn.judge.answers import Answers
from gpulearn.judge.kernel_exercise import Launch, kernel_exercise
from gpulearn.kernels.blocks import BLOCK, REVERSE_BLOCK, reverse_block
from gpulearn.kernels.specification import blocks_along
from simt.report.report import Report

Vector = np.ndarray[tuple[int], Any]
answers = Answers(reverse_block)

CONFLICTS = "Let neighbouring threads use neighbouring words of a one-dimensional shared array."

WARP = 32
ACCESSES = 4  # of a thread: its element from a to the shared array, another one from there to a

NO_TILE = (
    "Bring the stretch to a shared array first and write back from there: the later exercises "
    "build on it."
)
FOR_SHOW = "Store in a what stands in the shared array: that is where the elements change places."
ALONE = "Let each thread load one element and store one, so that a warp moves 32 at once."
BARRIERS = (
    "One barrier is enough: after the shared array is filled. Nobody touches it again after "
    "it has been read."
)

# Text of the solution.
BARRIER = "    cuda.syncthreads()\n"
LOAD = "if t < length:\n        stretch"
GUARD = "if t < length:\n        a["
MIRRORED = "stretch[length - 1 - t]"
STORE = f"a[start + t] = {MIRRORED}"


def cases() -> list[Launch]:
    """Vectors that fill their last stretch, and vectors that do not."""
    rng = np.random.default_rng(5)

    def launch(n: int, label: str, spare: int = 0) -> Launch:
        a = rng.normal(size=n).astype(np.float32)
        grid = blocks_along(n, BLOCK) + spare
        return Launch.of(REVERSE_BLOCK, f"{n} elements in {label}", a, grid=grid)

    return [
        launch(3 * BLOCK, "3 full blocks"),
        launch(2 * BLOCK + 37, "3 blocks, the last of them with 37 elements"),
        launch(BLOCK + 1, "2 blocks, the last of them with one element"),
        launch(50, "one block"),
        launch(BLOCK + 50, "3 blocks, the last of them with nothing to do", spare=1),
    ]


def never_read(report: Report, launch: Launch) -> str | None:
    """Whether shared memory is filled for show."""
    return None if report.totals.shared_load_wavefronts else "it never reads from shared memory"


def one_by_one(report: Report, launch: Launch) -> str | None:
    """Whether elements are moved again, one by one and not 32 by a warp, or two by one thread."""
    totals, allowed = report.totals, BLOCK // WARP
    for verb, count in (
        ("load", totals.global_load_requests),
        ("store", totals.global_store_requests),
    ):
        if (requests := count / report.grid[0]) > allowed:
            return f"each block makes {requests:.3g} requests to {verb}, the budget is {allowed}"
    if (most := report.shares.thread.most) > ACCESSES:
        return f"a thread makes {most} accesses to memory, the budget is {ACCESSES}"
    return None


answers.edit(
    {BARRIER: ""},
    "no barrier stands between the line that fills the shared array and the line that reads it: "
    "some threads read before the others have written.",
)
answers.edit(
    {BARRIER + "    if t < length:\n": "    " + BARRIER},
    "guard the load and the store, never the barrier: every thread of the block has to reach it, "
    "also those that have no element.",
)
answers.edit(
    {MIRRORED: "stretch[BLOCK - 1 - t]"},
    "the last stretch is shorter than BLOCK: its mirror image of t is length − 1 − t, with the "
    "length of that stretch.",
)
answers.edit(
    {MIRRORED: "stretch[length - t]"},
    "the mirror image of t is length − 1 − t: for t = 0, length − t lies one past the last.",
)
answers.edit(
    {STORE: "a[a.size - 1 - start - t] = stretch[t]"},
    "the whole vector is reversed, across blocks: each stretch is to stay where it is, and "
    "only its elements change places.",
)


@answers.wrong(
    "it reads from the vector and writes to it in one line: an element may be overwritten before "
    "the thread that needs it has read it."
)
def in_one_line(a: Vector) -> None:
    t = cuda.threadIdx.x
    start = cuda.blockIdx.x * BLOCK
    length = min(BLOCK, a.size - start)
    if t < length:
        a[start + t] = a[start + length - 1 - t]


answers.edit(
    {"cuda.blockIdx.x * BLOCK": "0"},
    "every block works on the first stretch: the block index is never used. Block b begins at "
    "b·BLOCK.",
)
answers.edit(
    {LOAD: LOAD.replace("<", "<="), GUARD: GUARD.replace("<", "<=")},
    "the guard lets one thread too many through: the elements of a stretch are 0 to length − 1, "
    "so write t < length.",
)
answers.edit(
    {LOAD: "stretch", GUARD: "a[", MIRRORED: "stretch[BLOCK - 1 - t]"},
    "in the last block some threads have no element: a guard must keep them from loading and "
    "from storing.",
)


@answers.wrong(
    "the vector comes back as it was: nothing is written to it, or the mirror image is taken "
    "twice, in the load and in the store."
)
def empty(a: Vector) -> None:
    pass


answers.edit(
    {
        "stretch = cuda.shared.array(BLOCK, np.float32)": "mine = np.float32(0)",
        "stretch[t] = ": "mine = ",
        STORE: "a[start + length - 1 - t] = mine",
    },
    NO_TILE,
)
answers.edit(
    {
        "    t = ": "    mine = np.float32(0)\n    t = ",
        "stretch[t] = a[start + t]": "stretch[t] = 0\n        mine = a[start + length - 1 - t]",
        STORE: "a[start + t] = mine",
    },
    FOR_SHOW,
)


@answers.wrong(ALONE)
def by_half_of_the_threads(a: Vector) -> None:
    """No element goes from thread to thread: this one needs no barrier at all."""
    stretch = cuda.shared.array(BLOCK, np.float32)
    t = cuda.threadIdx.x
    start = cuda.blockIdx.x * BLOCK
    length = min(BLOCK, a.size - start)
    if t < length // 2:
        stretch[t] = a[start + t]
        a[start + t] = a[start + length - 1 - t]
        a[start + length - 1 - t] = stretch[t]


@answers.wrong(ALONE)
def two_by_each(a: Vector) -> None:
    stretch = cuda.shared.array(BLOCK, np.float32)
    t = cuda.threadIdx.x
    start = cuda.blockIdx.x * BLOCK
    length = min(BLOCK, a.size - start)
    if 2 * t < length:
        stretch[t] = a[start + t]
        stretch[length - 1 - t] = a[start + length - 1 - t]
    cuda.syncthreads()
    if 2 * t < length:
        a[start + t] = stretch[length - 1 - t]
        a[start + length - 1 - t] = stretch[t]


@answers.wrong(ALONE)
def one_thread(a: Vector) -> None:
    stretch = cuda.shared.array(BLOCK, np.float32)
    start = cuda.blockIdx.x * BLOCK
    length = min(BLOCK, a.size - start)
    if cuda.threadIdx.x == 0:
        for k in range(length):
            stretch[k] = a[start + k]
        for k in range(length):
            a[start + k] = stretch[length - 1 - k]


answers.edit(
    {"stretch[t] = a[start + t]": "stretch[t] = a[start + t]\n        stretch[t] = a[start + t]"},
    ALONE,
)
answers.edit(
    {
        "if t < length:\n        " + STORE: "if t == 0:\n        for k in range(length):\n"
        "            a[start + k] = stretch[length - 1 - k]"
    },
    ALONE,
)
answers.edit(
    {"np.float32": "np.int32"},
    "the elements lose their fractions: the shared array has to hold the vector's "
    "dtype, np.float32.",
)
answers.edit(
    {GUARD: "if t < length // 2:\n        a["},
    "only the first half of each stretch is written: each thread that has an element stores one.",
)
answers.edit({STORE: f"{STORE}\n{BARRIER}"}, BARRIERS)

answers.edit(
    {
        "cuda.shared.array(BLOCK,": "cuda.shared.array((BLOCK, 32),",
        "stretch[t]": "stretch[t, 0]",
        MIRRORED: "stretch[length - 1 - t, 0]",
    },
    CONFLICTS,
)

answers.variant({"= a[start + t]": "= a[start + length - 1 - t]", MIRRORED: "stretch[t]"})
answers.variant({"stretch[t] = ": f"{MIRRORED} = ", f"= {MIRRORED}": "= stretch[t]"})

EXERCISE = kernel_exercise(
    REVERSE_BLOCK,
    task="Reverse each block's stretch of the vector, in place, by way of shared memory.",
    cases=cases,
    answers=answers,
    alone=ALONE,
    budgets=(
        budgets.shared_memory(advice=NO_TILE, read=False),
        budgets.Budget(never_read, FOR_SHOW),
        budgets.Budget(one_by_one, ALONE),
        budgets.bank_conflicts(0, advice=CONFLICTS),
        budgets.barriers(1, advice=BARRIERS),
    ),
)
