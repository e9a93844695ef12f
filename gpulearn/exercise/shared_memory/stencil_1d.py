"""Add up each element and its neighbours: a block loads its stretch and the halo, once."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpulearn import cuda
from gpulearn.checker import budgets
from gpulearn.checker.answers import Answers
from gpulearn.checker.kernel_exercise import Launch, kernel_exercise
from gpulearn.kernels.blocks import BLOCK
from gpulearn.kernels.stencil import RADIUS, WINDOW, stencil_1d

__all__ = ["EXERCISE"]

Vector = np.ndarray[tuple[int], Any]
answers = Answers()

ONCE = (
    "Neighbouring outputs need almost the same inputs: let the block bring each input to a "
    "shared window once, add up from there in a variable, and write each output once."
)
SINGLE = (
    "A sum that starts from 0.0 is a float64: start it from np.float32(0), so that float32 stays "
    "float32."
)
COALESCED = (
    "Let neighbouring threads load neighbouring elements: cell t first, then cell t + BLOCK."
)
BARRIERS = "One barrier is enough: between filling the window and reading it."


def cases() -> list[Launch]:
    """Vectors of full blocks, of odd sizes, shorter than the stencil, and one block too many."""
    rng = np.random.default_rng(7)

    def launch(n: int, label: str, spare: int = 0) -> Launch:
        a = rng.normal(size=n).astype(np.float32)
        grid = -(-n // BLOCK) + spare
        args = a, np.empty_like(a)
        return Launch(f"{n} elements in {label}", args, grid=grid, block=BLOCK, outputs=(1,))

    return [
        launch(4 * BLOCK, "4 full blocks"),
        launch(2 * BLOCK + 37, "3 blocks, the last of them with 37 elements"),
        launch(BLOCK + 1, "2 blocks, the last of them with one element"),
        launch(2, "one block"),
        launch(BLOCK - 1, "2 blocks, the second of them with nothing to do", spare=1),
    ]


def sums(a: Vector, out: Vector) -> tuple[Vector]:
    """The specification in NumPy."""
    padded = np.pad(a.astype(np.float64), RADIUS)
    total = sum(padded[k : k + a.size] for k in range(2 * RADIUS + 1))
    return (np.asarray(total, np.float32),)


def limit(launch: Launch) -> int:
    """Bytes that may move: every window in, every output out, and whole sectors at the edges."""
    blocks = int(launch.grid) if isinstance(launch.grid, int) else launch.grid[0]
    # a warp's stretch begins RADIUS floats before a sector does, so that it touches a fifth one
    sectors = (BLOCK // 32) * (5 + 4) + 2
    return 32 * blocks * sectors


# What the answers below share: each says one thing otherwise.


@cuda.jit(device=True)
def fill(window: Vector, a: Vector, start: int) -> None:
    """Bring a block's stretch and its halo to shared memory, zeros beyond the ends."""
    for cell in range(cuda.threadIdx.x, WINDOW, BLOCK):
        i = start + cell - RADIUS
        if 0 <= i < a.size:
            window[cell] = a[i]
        else:
            window[cell] = 0


@cuda.jit(device=True)
def add_up(window: Vector, out: Vector, start: int) -> None:
    """Write one output from the window."""
    t = cuda.threadIdx.x
    if start + t < out.size:
        total = np.float32(0)
        for k in range(2 * RADIUS + 1):
            total += window[t + k]
        out[start + t] = total


@answers.wrong(ONCE)
def from_global_memory(a: Vector, out: Vector) -> None:
    i = cuda.grid(1)
    if i < out.size:
        total = np.float32(0)
        for k in range(-RADIUS, RADIUS + 1):
            if 0 <= i + k < a.size:
                total += a[i + k]
        out[i] = total


@answers.wrong(
    "between the lines that fill the window and the line that reads it there must be a barrier: "
    "a thread adds up what other threads have loaded."
)
def no_barrier(a: Vector, out: Vector) -> None:
    window = cuda.shared.array(WINDOW, np.float32)
    start = cuda.blockIdx.x * BLOCK
    fill(window, a, start)
    add_up(window, out, start)


@answers.wrong(
    "some threads never reach the barrier, since they left or stand in another branch: first let "
    "every thread fill its cells and pass the barrier, then ask which of them have an output."
)
def early_return(a: Vector, out: Vector) -> None:
    window = cuda.shared.array(WINDOW, np.float32)
    t = cuda.threadIdx.x
    start = cuda.blockIdx.x * BLOCK
    if start + t >= out.size:
        return
    fill(window, a, start)
    cuda.syncthreads()
    total = np.float32(0)
    for k in range(2 * RADIUS + 1):
        total += window[t + k]
    out[start + t] = total


@answers.wrong(
    "a part of the halo is loaded by nobody: the window has RADIUS cells more than the block on "
    "each side."
)
def no_halo(a: Vector, out: Vector) -> None:
    window = cuda.shared.array(WINDOW, np.float32)
    t = cuda.threadIdx.x
    i = cuda.blockIdx.x * BLOCK + t
    if i < a.size:
        window[t + RADIUS] = a[i]
    else:
        window[t + RADIUS] = 0
    cuda.syncthreads()
    if i < out.size:
        total = np.float32(0)
        for k in range(2 * RADIUS + 1):
            total += window[t + k]
        out[i] = total


@answers.wrong(
    "the last 2·RADIUS cells of the window are never loaded: a window has more cells than the "
    "block has threads, so some threads load a second one."
)
def one_round(a: Vector, out: Vector) -> None:
    window = cuda.shared.array(WINDOW, np.float32)
    t = cuda.threadIdx.x
    start = cuda.blockIdx.x * BLOCK
    i = start + t - RADIUS
    if 0 <= i < a.size:
        window[t] = a[i]
    else:
        window[t] = 0
    cuda.syncthreads()
    add_up(window, out, start)


@answers.wrong(
    "cells beyond the ends of the vector are left as they are: shared memory starts as garbage, "
    "so write a zero there."
)
def ends_left_open(a: Vector, out: Vector) -> None:
    window = cuda.shared.array(WINDOW, np.float32)
    t = cuda.threadIdx.x
    start = cuda.blockIdx.x * BLOCK
    for cell in range(t, WINDOW, BLOCK):
        i = start + cell - RADIUS
        if 0 <= i < a.size:
            window[cell] = a[i]
    cuda.syncthreads()
    add_up(window, out, start)


@answers.wrong(
    "the halo is filled with zeros between blocks too: zero belongs beyond the ends of the "
    "vector only, and elsewhere the neighbour block's elements."
)
def halo_of_zeros(a: Vector, out: Vector) -> None:
    window = cuda.shared.array(WINDOW, np.float32)
    t = cuda.threadIdx.x
    start = cuda.blockIdx.x * BLOCK
    for cell in range(t, WINDOW, BLOCK):
        i = start + cell - RADIUS
        if start <= i < start + BLOCK and i < a.size:
            window[cell] = a[i]
        else:
            window[cell] = 0
    cuda.syncthreads()
    add_up(window, out, start)


@answers.wrong(
    "the halo on the left is zero between blocks too: it begins with the last elements of the "
    "block before, so ask for 0 <= i, not for start <= i."
)
def left_halo_of_zeros(a: Vector, out: Vector) -> None:
    window = cuda.shared.array(WINDOW, np.float32)
    t = cuda.threadIdx.x
    start = cuda.blockIdx.x * BLOCK
    for cell in range(t, WINDOW, BLOCK):
        i = start + cell - RADIUS
        window[cell] = a[i] if start <= i < a.size else np.float32(0)
    cuda.syncthreads()
    add_up(window, out, start)


@answers.wrong(
    "the halo on the right is zero between blocks too: it ends with the first elements of the "
    "next block, so ask for i < a.size, not for i < start + BLOCK."
)
def right_halo_of_zeros(a: Vector, out: Vector) -> None:
    window = cuda.shared.array(WINDOW, np.float32)
    t = cuda.threadIdx.x
    start = cuda.blockIdx.x * BLOCK
    for cell in range(t, WINDOW, BLOCK):
        i = start + cell - RADIUS
        window[cell] = a[i] if 0 <= i < min(a.size, start + BLOCK) else np.float32(0)
    cuda.syncthreads()
    add_up(window, out, start)


@answers.wrong("a[0] is never loaded: the guard needs 0 <= i, not 0 < i.")
def first_left_out(a: Vector, out: Vector) -> None:
    window = cuda.shared.array(WINDOW, np.float32)
    t = cuda.threadIdx.x
    start = cuda.blockIdx.x * BLOCK
    for cell in range(t, WINDOW, BLOCK):
        i = start + cell - RADIUS
        window[cell] = a[i] if 0 < i < a.size else np.float32(0)
    cuda.syncthreads()
    add_up(window, out, start)


@answers.wrong("the last element is never loaded: the guard needs i < a.size, not i < a.size - 1.")
def last_left_out(a: Vector, out: Vector) -> None:
    window = cuda.shared.array(WINDOW, np.float32)
    t = cuda.threadIdx.x
    start = cuda.blockIdx.x * BLOCK
    for cell in range(t, WINDOW, BLOCK):
        i = start + cell - RADIUS
        window[cell] = a[i] if 0 <= i < a.size - 1 else np.float32(0)
    cuda.syncthreads()
    add_up(window, out, start)


@answers.wrong(COALESCED)
def two_cells_for_each_thread(a: Vector, out: Vector) -> None:
    window = cuda.shared.array(WINDOW, np.float32)
    t = cuda.threadIdx.x
    start = cuda.blockIdx.x * BLOCK
    for cell in range(2 * t, min(2 * t + 2, WINDOW)):
        i = start + cell - RADIUS
        window[cell] = a[i] if 0 <= i < a.size else np.float32(0)
    cuda.syncthreads()
    add_up(window, out, start)


@answers.wrong(ONCE)
def sums_by_atomics(a: Vector, out: Vector) -> None:
    window = cuda.shared.array(WINDOW, np.float32)
    t = cuda.threadIdx.x
    start = cuda.blockIdx.x * BLOCK
    fill(window, a, start)
    cuda.syncthreads()
    if start + t < out.size:
        out[start + t] = 0
        for k in range(2 * RADIUS + 1):
            cuda.atomic.add(out, start + t, window[t + k])


@answers.wrong(
    "an index below zero is not guarded: as in NumPy, a[−1] is the last element, so that the "
    "first outputs add up the wrong end. Ask for 0 <= i as well."
)
def wraps_around(a: Vector, out: Vector) -> None:
    window = cuda.shared.array(WINDOW, np.float32)
    t = cuda.threadIdx.x
    start = cuda.blockIdx.x * BLOCK
    for cell in range(t, WINDOW, BLOCK):
        i = start + cell - RADIUS
        if i < a.size:
            window[cell] = a[i]
        else:
            window[cell] = 0
    cuda.syncthreads()
    add_up(window, out, start)


@answers.wrong("the guard lets i = a.size through, one past the end: write i < a.size.")
def guard_too_wide(a: Vector, out: Vector) -> None:
    window = cuda.shared.array(WINDOW, np.float32)
    t = cuda.threadIdx.x
    start = cuda.blockIdx.x * BLOCK
    for cell in range(t, WINDOW, BLOCK):
        i = start + cell - RADIUS
        if 0 <= i <= a.size:
            window[cell] = a[i]
        else:
            window[cell] = 0
    cuda.syncthreads()
    add_up(window, out, start)


@answers.wrong(
    "the sum stops one short: 2·RADIUS + 1 cells belong to an output, RADIUS on each side and "
    "the one in the middle."
)
def last_neighbour_missing(a: Vector, out: Vector) -> None:
    window = cuda.shared.array(WINDOW, np.float32)
    t = cuda.threadIdx.x
    start = cuda.blockIdx.x * BLOCK
    fill(window, a, start)
    cuda.syncthreads()
    if start + t < out.size:
        total = np.float32(0)
        for k in range(2 * RADIUS):
            total += window[t + k]
        out[start + t] = total


@answers.wrong(
    "the window is read one radius too far to the left: cell 0 belongs to element "
    "start − RADIUS, so output t takes the cells t to t + 2·RADIUS."
)
def not_shifted(a: Vector, out: Vector) -> None:
    window = cuda.shared.array(WINDOW, np.float32)
    t = cuda.threadIdx.x
    start = cuda.blockIdx.x * BLOCK
    fill(window, a, start)
    cuda.syncthreads()
    if start + t < out.size:
        total = np.float32(0)
        for k in range(-RADIUS, RADIUS + 1):
            total += window[t + k]
        out[start + t] = total


@answers.wrong(
    "the ends repeat the first and the last element: beyond the ends of the vector is zero."
)
def clamped(a: Vector, out: Vector) -> None:
    window = cuda.shared.array(WINDOW, np.float32)
    t = cuda.threadIdx.x
    start = cuda.blockIdx.x * BLOCK
    for cell in range(t, WINDOW, BLOCK):
        window[cell] = a[min(max(start + cell - RADIUS, 0), a.size - 1)]
    cuda.syncthreads()
    add_up(window, out, start)


@answers.wrong("every block loads the first window: the block index is never used.")
def block_ignored(a: Vector, out: Vector) -> None:
    window = cuda.shared.array(WINDOW, np.float32)
    t = cuda.threadIdx.x
    for cell in range(t, WINDOW, BLOCK):
        if 0 <= cell - RADIUS < a.size:
            window[cell] = a[cell - RADIUS]
        else:
            window[cell] = 0
    cuda.syncthreads()
    i = cuda.grid(1)
    if i < out.size:
        total = np.float32(0)
        for k in range(2 * RADIUS + 1):
            total += window[t + k]
        out[i] = total


@answers.wrong("that is the mean of the neighbours: out[i] is their sum, so do not divide.")
def mean(a: Vector, out: Vector) -> None:
    window = cuda.shared.array(WINDOW, np.float32)
    t = cuda.threadIdx.x
    start = cuda.blockIdx.x * BLOCK
    fill(window, a, start)
    cuda.syncthreads()
    if start + t < out.size:
        total = np.float32(0)
        for k in range(2 * RADIUS + 1):
            total += window[t + k]
        out[start + t] = total / np.float32(2 * RADIUS + 1)


@answers.wrong("the element in the middle is left out: its own cell belongs to the sum.")
def without_itself(a: Vector, out: Vector) -> None:
    window = cuda.shared.array(WINDOW, np.float32)
    t = cuda.threadIdx.x
    start = cuda.blockIdx.x * BLOCK
    fill(window, a, start)
    cuda.syncthreads()
    if start + t < out.size:
        total = np.float32(0)
        for k in range(2 * RADIUS + 1):
            if k != RADIUS:
                total += window[t + k]
        out[start + t] = total


@answers.wrong("every element of out is zero: the sums are never stored, or taken over zeros.")
def constant(a: Vector, out: Vector) -> None:
    i = cuda.grid(1)
    if i < out.size:
        out[i] = 0


@answers.wrong(
    "one neighbour is missing on each side: an output takes 2·RADIUS + 1 cells, from window[t] to "
    "window[t + 2·RADIUS]."
)
def narrow(a: Vector, out: Vector) -> None:
    window = cuda.shared.array(WINDOW, np.float32)
    t = cuda.threadIdx.x
    start = cuda.blockIdx.x * BLOCK
    fill(window, a, start)
    cuda.syncthreads()
    if start + t < out.size:
        total = np.float32(0)
        for k in range(1, 2 * RADIUS):
            total += window[t + k]
        out[start + t] = total


@answers.wrong(
    "the vector is bent to a ring: what lies beyond one end is taken from the other. Beyond the "
    "ends is zero."
)
def ring(a: Vector, out: Vector) -> None:
    window = cuda.shared.array(WINDOW, np.float32)
    t = cuda.threadIdx.x
    start = cuda.blockIdx.x * BLOCK
    for cell in range(t, WINDOW, BLOCK):
        window[cell] = a[(start + cell - RADIUS) % a.size]
    cuda.syncthreads()
    add_up(window, out, start)


@answers.wrong("nothing is written: out is left as it was.")
def empty(a: Vector, out: Vector) -> None:
    pass


@answers.wrong(SINGLE)
def sum_in_float64(a: Vector, out: Vector) -> None:
    window = cuda.shared.array(WINDOW, np.float32)
    t = cuda.threadIdx.x
    start = cuda.blockIdx.x * BLOCK
    fill(window, a, start)
    cuda.syncthreads()
    if start + t < out.size:
        total = 0.0
        for k in range(2 * RADIUS + 1):
            total += window[t + k]
        out[start + t] = total


@answers.wrong(BARRIERS)
def barrier_in_each_round(a: Vector, out: Vector) -> None:
    window = cuda.shared.array(WINDOW, np.float32)
    t = cuda.threadIdx.x
    start = cuda.blockIdx.x * BLOCK
    for first in range(0, WINDOW, BLOCK):
        cell = first + t
        i = start + cell - RADIUS
        if cell < WINDOW:
            window[cell] = a[i] if 0 <= i < a.size else np.float32(0)
        cuda.syncthreads()
    add_up(window, out, start)


@answers.right
def edges_by_the_first_threads(a: Vector, out: Vector) -> None:
    s = cuda.shared.array(WINDOW, np.float32)
    i = cuda.grid(1)
    t = cuda.threadIdx.x
    s[t + RADIUS] = a[i] if i < a.size else np.float32(0)
    if t < RADIUS:
        left, right = i - RADIUS, i + BLOCK
        s[t] = a[left] if 0 <= left < a.size else np.float32(0)
        s[t + BLOCK + RADIUS] = a[right] if right < a.size else np.float32(0)
    cuda.syncthreads()
    if i < out.size:
        total = s[t]
        for k in range(1, 2 * RADIUS + 1):
            total += s[t + k]
        out[i] = total


@answers.right
def while_loop(a: Vector, out: Vector) -> None:
    cells = cuda.shared.array(WINDOW, np.float32)
    first = cuda.blockIdx.x * cuda.blockDim.x
    cell = cuda.threadIdx.x
    while cell < WINDOW:
        cells[cell] = 0
        i = first + cell - RADIUS
        if i >= 0 and i < a.size:
            cells[cell] = a[i]
        cell += cuda.blockDim.x
    cuda.syncthreads()
    middle = cuda.threadIdx.x + RADIUS
    if first + cuda.threadIdx.x < a.size:
        total = cells[middle]
        for k in range(1, RADIUS + 1):
            total += cells[middle - k] + cells[middle + k]
        out[first + cuda.threadIdx.x] = total


EXERCISE = kernel_exercise(
    name="stencil_1d",
    notebook="05_shared_memory_and_barriers",
    task="Add up each element and its RADIUS neighbours on both sides, each input read once.",
    reference=stencil_1d,
    cases=cases,
    expect=sums,
    answers=answers,
    budgets=(
        budgets.sectors_per_request(5, advice=COALESCED),
        budgets.bytes_moved(limit, advice=ONCE),
        budgets.barriers(1, advice=BARRIERS),
        budgets.float64(advice=SINGLE),
    ),
)
