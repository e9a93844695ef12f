"""Reverse each block's stretch, in place: the smallest exchange that needs a barrier."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpulearn import cuda
from gpulearn.checker import budgets
from gpulearn.checker.answers import Answers
from gpulearn.checker.kernel_exercise import Launch, kernel_exercise
from gpulearn.kernels.blocks import BLOCK, reverse_block
from gpulearn.simt.report.report import Report

__all__ = ["EXERCISE"]

Vector = np.ndarray[tuple[int], Any]
answers = Answers()

WARP = 32

NO_TILE = (
    "Bring the stretch to a shared array first and write back from there: the later exercises "
    "build on it."
)
FOR_SHOW = "Store in a what stands in the shared array: that is where the elements change places."
ALONE = "One thread does the work of all: let each thread load one element and store one."
BARRIERS = (
    "One barrier is enough: after the shared array is filled. Nobody touches it again after "
    "it has been read."
)


def cases() -> list[Launch]:
    """Vectors that fill their last stretch, and vectors that do not."""
    rng = np.random.default_rng(5)

    def launch(n: int, label: str, spare: int = 0) -> Launch:
        a = rng.normal(size=n).astype(np.float32)
        grid = -(-n // BLOCK) + spare
        return Launch(f"{n} elements in {label}", (a,), grid=grid, block=BLOCK, updated=(0,))

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
    """Whether elements are loaded or stored one after the other, not 32 by a warp at once."""
    totals, allowed = report.totals, 2 * BLOCK // WARP
    for verb, count in (
        ("load", totals.global_load_requests),
        ("store", totals.global_store_requests),
    ):
        if (requests := count / report.grid[0]) > allowed:
            return f"each block makes {requests:.3g} requests to {verb}, the budget is {allowed}"
    return None


def reversed_stretches(a: Vector) -> tuple[Vector]:
    """The specification in NumPy."""
    starts = range(0, a.size, BLOCK)
    return (np.concatenate([a[s : s + BLOCK][::-1] for s in starts]),)


@answers.wrong(
    "no barrier stands between the line that fills the shared array and the line that reads it: "
    "some threads read before the others have written."
)
def no_barrier(a: Vector) -> None:
    stretch = cuda.shared.array(BLOCK, np.float32)
    t = cuda.threadIdx.x
    start = cuda.blockIdx.x * BLOCK
    length = min(BLOCK, a.size - start)
    if t < length:
        stretch[t] = a[start + t]
    if t < length:
        a[start + t] = stretch[length - 1 - t]


@answers.wrong(
    "guard the load and the store, never the barrier: every thread of the block has to reach it, "
    "also those that have no element."
)
def barrier_in_guard(a: Vector) -> None:
    stretch = cuda.shared.array(BLOCK, np.float32)
    t = cuda.threadIdx.x
    start = cuda.blockIdx.x * BLOCK
    length = min(BLOCK, a.size - start)
    if t < length:
        stretch[t] = a[start + t]
        cuda.syncthreads()
        a[start + t] = stretch[length - 1 - t]


@answers.wrong(
    "the last stretch is shorter than BLOCK: its mirror image of t is length − 1 − t, with the "
    "length of that stretch."
)
def full_length(a: Vector) -> None:
    stretch = cuda.shared.array(BLOCK, np.float32)
    t = cuda.threadIdx.x
    i = cuda.blockIdx.x * BLOCK + t
    if i < a.size:
        stretch[t] = a[i]
    cuda.syncthreads()
    if i < a.size:
        a[i] = stretch[BLOCK - 1 - t]


@answers.wrong(
    "the mirror image of t is length − 1 − t: for t = 0, length − t lies one past the last."
)
def one_past(a: Vector) -> None:
    stretch = cuda.shared.array(BLOCK, np.float32)
    t = cuda.threadIdx.x
    start = cuda.blockIdx.x * BLOCK
    length = min(BLOCK, a.size - start)
    if t < length:
        stretch[t] = a[start + t]
    cuda.syncthreads()
    if t < length:
        a[start + t] = stretch[length - t]


@answers.wrong(
    "the whole vector is reversed, across blocks: each stretch is to stay where it is, and "
    "only its elements change places."
)
def whole_vector(a: Vector) -> None:
    stretch = cuda.shared.array(BLOCK, np.float32)
    t = cuda.threadIdx.x
    i = cuda.blockIdx.x * BLOCK + t
    if i < a.size:
        stretch[t] = a[i]
    cuda.syncthreads()
    if i < a.size:
        a[a.size - 1 - i] = stretch[t]


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


@answers.wrong(
    "every block works on the first stretch: the block index is never used. Block b begins at "
    "b·BLOCK."
)
def block_ignored(a: Vector) -> None:
    stretch = cuda.shared.array(BLOCK, np.float32)
    t = cuda.threadIdx.x
    length = min(BLOCK, a.size)
    if t < length:
        stretch[t] = a[t]
    cuda.syncthreads()
    if t < length:
        a[t] = stretch[length - 1 - t]


@answers.wrong(
    "the guard lets one thread too many through: the elements of a stretch are 0 to length − 1, "
    "so write t < length."
)
def guard_too_wide(a: Vector) -> None:
    stretch = cuda.shared.array(BLOCK, np.float32)
    t = cuda.threadIdx.x
    start = cuda.blockIdx.x * BLOCK
    length = min(BLOCK, a.size - start)
    if start + t <= a.size:
        stretch[t] = a[start + t]
    cuda.syncthreads()
    if start + t <= a.size:
        a[start + t] = stretch[length - 1 - t]


@answers.wrong(
    "there is no guard: in the last block some threads have no element, and must neither load "
    "nor store."
)
def no_guard(a: Vector) -> None:
    stretch = cuda.shared.array(BLOCK, np.float32)
    t = cuda.threadIdx.x
    i = cuda.blockIdx.x * BLOCK + t
    stretch[t] = a[i]
    cuda.syncthreads()
    a[i] = stretch[BLOCK - 1 - t]


@answers.wrong(
    "the vector comes back as it was: nothing is written to it, or the mirror image is taken "
    "twice, in the load and in the store."
)
def empty(a: Vector) -> None:
    pass


@answers.wrong(NO_TILE)
def by_register(a: Vector) -> None:
    t = cuda.threadIdx.x
    start = cuda.blockIdx.x * BLOCK
    length = min(BLOCK, a.size - start)
    mine = np.float32(0)
    if t < length:
        mine = a[start + t]
    cuda.syncthreads()
    if t < length:
        a[start + length - 1 - t] = mine


@answers.wrong(FOR_SHOW)
def tile_unused(a: Vector) -> None:
    stretch = cuda.shared.array(BLOCK, np.float32)
    t = cuda.threadIdx.x
    start = cuda.blockIdx.x * BLOCK
    length = min(BLOCK, a.size - start)
    mine = np.float32(0)
    if t < length:
        stretch[t] = 0
        mine = a[start + length - 1 - t]
    cuda.syncthreads()
    if t < length:
        a[start + t] = mine


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


@answers.wrong(ALONE)
def one_thread_stores(a: Vector) -> None:
    stretch = cuda.shared.array(BLOCK, np.float32)
    t = cuda.threadIdx.x
    start = cuda.blockIdx.x * BLOCK
    length = min(BLOCK, a.size - start)
    if t < length:
        stretch[t] = a[start + t]
    cuda.syncthreads()
    if t == 0:
        for k in range(length):
            a[start + k] = stretch[length - 1 - k]


@answers.wrong(
    "the elements lose what stands behind the point: the shared array has to hold the vector's "
    "dtype, np.float32."
)
def whole_numbers(a: Vector) -> None:
    stretch = cuda.shared.array(BLOCK, np.int32)
    t = cuda.threadIdx.x
    start = cuda.blockIdx.x * BLOCK
    length = min(BLOCK, a.size - start)
    if t < length:
        stretch[t] = a[start + t]
    cuda.syncthreads()
    if t < length:
        a[start + t] = stretch[length - 1 - t]


@answers.wrong(
    "only the first half of each stretch is written: either each thread stores one element, or "
    "those of the first half store two."
)
def half_written(a: Vector) -> None:
    stretch = cuda.shared.array(BLOCK, np.float32)
    t = cuda.threadIdx.x
    start = cuda.blockIdx.x * BLOCK
    length = min(BLOCK, a.size - start)
    if t < length:
        stretch[t] = a[start + t]
    cuda.syncthreads()
    if t < length // 2:
        a[start + t] = stretch[length - 1 - t]


@answers.wrong(BARRIERS)
def two_barriers(a: Vector) -> None:
    stretch = cuda.shared.array(BLOCK, np.float32)
    t = cuda.threadIdx.x
    start = cuda.blockIdx.x * BLOCK
    length = min(BLOCK, a.size - start)
    if t < length:
        stretch[t] = a[start + t]
    cuda.syncthreads()
    if t < length:
        a[start + t] = stretch[length - 1 - t]
    cuda.syncthreads()


@answers.right
def mirrored_load(a: Vector) -> None:
    shared = cuda.shared.array(BLOCK, np.float32)
    i = cuda.grid(1)
    first = i - cuda.threadIdx.x
    last = min(first + BLOCK, a.size) - 1
    if i <= last:
        shared[cuda.threadIdx.x] = a[first + last - i]
    cuda.syncthreads()
    if i <= last:
        a[i] = shared[cuda.threadIdx.x]


@answers.right
def flipped_store(a: Vector) -> None:
    buffer = cuda.shared.array(shape=BLOCK, dtype=np.float32)
    lane = cuda.threadIdx.x
    begin = cuda.blockDim.x * cuda.blockIdx.x
    end = begin + cuda.blockDim.x
    if end > a.size:
        end = a.size
    inside = begin + lane < end
    if inside:
        buffer[end - begin - 1 - lane] = a[begin + lane]
    cuda.syncthreads()
    if inside:
        a[begin + lane] = buffer[lane]


EXERCISE = kernel_exercise(
    name="reverse_block",
    notebook="05_shared_memory_and_barriers",
    task="Reverse each block's stretch of the vector, in place, by way of shared memory.",
    reference=reverse_block,
    cases=cases,
    expect=reversed_stretches,
    answers=answers,
    alone=ALONE,
    budgets=(
        budgets.shared_memory(advice=NO_TILE, read=False),
        budgets.Budget(never_read, FOR_SHOW),
        budgets.Budget(one_by_one, ALONE),
        budgets.barriers(1, advice=BARRIERS),
    ),
)
