"""Sum each block's stretch: a tree of additions with every barrier that is needed and no more."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpulearn import cuda
from gpulearn.checker import budgets
from gpulearn.checker.answers import Answers
from gpulearn.checker.kernel_exercise import Launch, kernel_exercise
from gpulearn.kernels.blocks import BLOCK, BLOCK_SUM, block_sum
from gpulearn.simt.report.report import Report

__all__ = ["EXERCISE"]

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
CONFLICTS = (
    "Lanes that read every second word or more share banks: let neighbouring threads add "
    "neighbouring words."
)


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


@answers.wrong(
    "what one thread has written, another reads, with no barrier between: one is needed before "
    "each round, the first one too."
)
def no_barrier(a: Vector, out: Vector) -> None:
    partial = cuda.shared.array(BLOCK, np.float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    partial[t] = a[i] if i < a.size else np.float32(0)
    half = BLOCK // 2
    while half > 0:
        if t < half:
            partial[t] += partial[t + half]
        half //= 2
    if t == 0:
        out[cuda.blockIdx.x] = partial[0]


@answers.wrong(
    "between this round and the one before stands no barrier of the block: each round reads what "
    "the round before wrote, also what another warp wrote."
)
def one_barrier(a: Vector, out: Vector) -> None:
    partial = cuda.shared.array(BLOCK, np.float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    partial[t] = a[i] if i < a.size else np.float32(0)
    cuda.syncthreads()
    half = BLOCK // 2
    while half > 0:
        if t < half:
            partial[t] += partial[t + half]
        half //= 2
    if t == 0:
        out[cuda.blockIdx.x] = partial[0]


@answers.wrong(
    "the barrier stands where only some threads of the block come by, under `if` or after "
    "`return`: all have to reach it, also those that have nothing to add."
)
def barrier_for_half(a: Vector, out: Vector) -> None:
    partial = cuda.shared.array(BLOCK, np.float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    partial[t] = a[i] if i < a.size else np.float32(0)
    cuda.syncthreads()
    half = BLOCK // 2
    while half > 0:
        if t < half:
            partial[t] += partial[t + half]
            cuda.syncthreads()
        half //= 2
    if t == 0:
        out[cuda.blockIdx.x] = partial[0]


@answers.wrong(BARRIERS)
def one_barrier_too_many(a: Vector, out: Vector) -> None:
    partial = cuda.shared.array(BLOCK, np.float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    partial[t] = a[i] if i < a.size else np.float32(0)
    cuda.syncthreads()
    half = BLOCK // 2
    while half > 0:
        if t < half:
            partial[t] += partial[t + half]
        cuda.syncthreads()
        half //= 2
    if t == 0:
        out[cuda.blockIdx.x] = partial[0]


@answers.wrong(
    "cells of threads without an element are never written, and then added: write a zero there."
)
def no_zeros(a: Vector, out: Vector) -> None:
    partial = cuda.shared.array(BLOCK, np.float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    if i < a.size:
        partial[t] = a[i]
    half = BLOCK // 2
    while half > 0:
        cuda.syncthreads()
        if t < half:
            partial[t] += partial[t + half]
        half //= 2
    if t == 0:
        out[cuda.blockIdx.x] = partial[0]


@answers.wrong("the guard lets i = a.size through, one past the end: write i < a.size.")
def guard_too_wide(a: Vector, out: Vector) -> None:
    partial = cuda.shared.array(BLOCK, np.float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    partial[t] = a[i] if i <= a.size else np.float32(0)
    half = BLOCK // 2
    while half > 0:
        cuda.syncthreads()
        if t < half:
            partial[t] += partial[t + half]
        half //= 2
    if t == 0:
        out[cuda.blockIdx.x] = partial[0]


@answers.wrong(
    "every thread adds in every round: in a round only the first `half` threads have a partner "
    "inside the array."
)
def all_add(a: Vector, out: Vector) -> None:
    partial = cuda.shared.array(BLOCK, np.float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    partial[t] = a[i] if i < a.size else np.float32(0)
    half = BLOCK // 2
    while half > 0:
        cuda.syncthreads()
        partial[t] += partial[t + half]
        half //= 2
    if t == 0:
        out[cuda.blockIdx.x] = partial[0]


@answers.wrong(
    "the last round is missing: go on while half > 0, so that the round with half = 1 takes place."
)
def stops_early(a: Vector, out: Vector) -> None:
    partial = cuda.shared.array(BLOCK, np.float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    partial[t] = a[i] if i < a.size else np.float32(0)
    half = BLOCK // 2
    while half > 1:
        cuda.syncthreads()
        if t < half:
            partial[t] += partial[t + half]
        half //= 2
    if t == 0:
        out[cuda.blockIdx.x] = partial[0]


@answers.wrong(
    "the first round is missing: half starts at BLOCK // 2, so that the upper half of the "
    "stretch is added too."
)
def starts_late(a: Vector, out: Vector) -> None:
    partial = cuda.shared.array(BLOCK, np.float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    partial[t] = a[i] if i < a.size else np.float32(0)
    half = BLOCK // 4
    while half > 0:
        cuda.syncthreads()
        if t < half:
            partial[t] += partial[t + half]
        half //= 2
    if t == 0:
        out[cuda.blockIdx.x] = partial[0]


@answers.wrong("all blocks write to out[0]: the sum of block b belongs in out[b].")
def one_place_for_all(a: Vector, out: Vector) -> None:
    partial = cuda.shared.array(BLOCK, np.float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    partial[t] = a[i] if i < a.size else np.float32(0)
    half = BLOCK // 2
    while half > 0:
        cuda.syncthreads()
        if t < half:
            partial[t] += partial[t + half]
        half //= 2
    if t == 0:
        out[0] = partial[0]


@answers.wrong(
    "all threads of a block write to out[b], each its own partial sum: let thread 0 alone do it."
)
def all_write(a: Vector, out: Vector) -> None:
    partial = cuda.shared.array(BLOCK, np.float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    partial[t] = a[i] if i < a.size else np.float32(0)
    half = BLOCK // 2
    while half > 0:
        cuda.syncthreads()
        if t < half:
            partial[t] += partial[t + half]
        half //= 2
    out[cuda.blockIdx.x] = partial[t]


@answers.wrong("that is the last cell: after the rounds the sum stands in partial[0].")
def last_cell(a: Vector, out: Vector) -> None:
    partial = cuda.shared.array(BLOCK, np.float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    partial[t] = a[i] if i < a.size else np.float32(0)
    half = BLOCK // 2
    while half > 0:
        cuda.syncthreads()
        if t < half:
            partial[t] += partial[t + half]
        half //= 2
    if t == 0:
        out[cuda.blockIdx.x] = partial[BLOCK - 1]


@answers.wrong(
    "the values lose what stands behind the point: the shared array has to hold the vector's "
    "dtype, np.float32."
)
def whole_numbers(a: Vector, out: Vector) -> None:
    partial = cuda.shared.array(BLOCK, np.int32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    partial[t] = a[i] if i < a.size else np.float32(0)
    half = BLOCK // 2
    while half > 0:
        cuda.syncthreads()
        if t < half:
            partial[t] += partial[t + half]
        half //= 2
    if t == 0:
        out[cuda.blockIdx.x] = partial[0]


@answers.wrong("that is the mean: out[b] is the sum of the stretch, so do not divide.")
def mean(a: Vector, out: Vector) -> None:
    partial = cuda.shared.array(BLOCK, np.float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    partial[t] = a[i] if i < a.size else np.float32(0)
    half = BLOCK // 2
    while half > 0:
        cuda.syncthreads()
        if t < half:
            partial[t] += partial[t + half]
        half //= 2
    if t == 0:
        out[cuda.blockIdx.x] = partial[0] / BLOCK


@answers.wrong("every block sums the first stretch: the block index is missing in the load.")
def block_ignored(a: Vector, out: Vector) -> None:
    partial = cuda.shared.array(BLOCK, np.float32)
    t = cuda.threadIdx.x
    partial[t] = a[t] if t < a.size else np.float32(0)
    half = BLOCK // 2
    while half > 0:
        cuda.syncthreads()
        if t < half:
            partial[t] += partial[t + half]
        half //= 2
    if t == 0:
        out[cuda.blockIdx.x] = partial[0]


@answers.wrong(
    "after the last round all threads read partial[0], which thread 0 has just written: let "
    "thread 0 alone store the sum."
)
def all_store_the_sum(a: Vector, out: Vector) -> None:
    partial = cuda.shared.array(BLOCK, np.float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    partial[t] = a[i] if i < a.size else np.float32(0)
    half = BLOCK // 2
    while half > 0:
        cuda.syncthreads()
        if t < half:
            partial[t] += partial[t + half]
        half //= 2
    out[cuda.blockIdx.x] = partial[0]


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


@answers.wrong(TREE)
def one_thread_adds(a: Vector, out: Vector) -> None:
    partial = cuda.shared.array(BLOCK, np.float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    partial[t] = a[i] if i < a.size else np.float32(0)
    cuda.syncthreads()
    if t == 0:
        total = np.float32(0)
        for k in range(BLOCK):
            total += partial[k]
        out[cuda.blockIdx.x] = total


@answers.wrong(SINGLE)
def sum_in_float64(a: Vector, out: Vector) -> None:
    partial = cuda.shared.array(BLOCK, np.float64)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    partial[t] = a[i] if i < a.size else 0.0
    half = BLOCK // 2
    while half > 0:
        cuda.syncthreads()
        if t < half:
            partial[t] += partial[t + half]
        half //= 2
    if t == 0:
        out[cuda.blockIdx.x] = partial[0]


@answers.wrong(CONFLICTS)
def spread_out(a: Vector, out: Vector) -> None:
    partial = cuda.shared.array(BLOCK, np.float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    partial[t] = a[i] if i < a.size else np.float32(0)
    step = 1
    while step < BLOCK:
        cuda.syncthreads()
        left = 2 * step * t
        if left + step < BLOCK:
            partial[left] += partial[left + step]
        step *= 2
    if t == 0:
        out[cuda.blockIdx.x] = partial[0]


@answers.right
def for_loop(a: Vector, out: Vector) -> None:
    s = cuda.shared.array(BLOCK, np.float32)
    me = cuda.threadIdx.x
    first = cuda.blockIdx.x * cuda.blockDim.x
    s[me] = 0
    if first + me < a.size:
        s[me] = a[first + me]
    for k in range(ROUNDS):
        cuda.syncthreads()
        active = BLOCK >> (k + 1)
        if me < active:
            s[me] = s[me] + s[me + active]
    if me == 0:
        out[cuda.blockIdx.x] = s[0]


@answers.right
def first_round_in_registers(a: Vector, out: Vector) -> None:
    s = cuda.shared.array(BLOCK, np.float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    mine = np.float32(0)
    if i < a.size:
        mine = a[i]
    s[t] = mine
    cuda.syncthreads()
    width = BLOCK
    while width > 2:
        width //= 2
        if t < width:
            mine += s[t + width]
            s[t] = mine
        cuda.syncthreads()
    if t == 0:
        out[cuda.blockIdx.x] = mine + s[1]


EXERCISE = kernel_exercise(
    BLOCK_SUM,
    notebook="05_shared_memory_and_barriers",
    task="Sum each block's stretch with every barrier that is needed, and no more.",
    cases=cases,
    answers=answers,
    alone=TREE,
    budgets=(
        budgets.Budget(one_after_the_other, TREE),
        budgets.float64(advice=SINGLE),
        budgets.bank_conflicts(0, advice=CONFLICTS),
        budgets.barriers(ROUNDS, advice=BARRIERS),
    ),
)
