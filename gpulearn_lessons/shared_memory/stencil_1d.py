"""The 1-D stencil: a block loads its stretch and the halo, once."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpulearn import cuda
from gpulearn.judge import budgets
from gpulearn.judge.answers import Answers
from gpulearn.judge.kernel_exercise import Launch, kernel_exercise
from gpulearn.kernels.blocks import BLOCK
from gpulearn.kernels.specification import blocks_along
from gpulearn_lessons.shared_memory.stencil import RADIUS, STENCIL_1D, stencil_1d, stencil_1d_naive

Vector = np.ndarray[tuple[int], Any]
answers = Answers(stencil_1d)

ONCE = (
    "Neighbouring outputs need almost the same inputs: let the threads of a block share out its "
    "inputs, halo included, and load each once; add up from the shared window alone, in a "
    "variable, and write each output once."
)
SINGLE = (
    "A sum that starts from 0.0 is a float64: start it from np.float32(0), so that float32 stays "
    "float32."
)
COALESCED = (
    "Let neighbouring threads load neighbouring elements: cell t first, then cell t + BLOCK."
)
BARRIERS = "One barrier is enough: between filling the window and reading it."

# Text of the solution.
BARRIER = "    cuda.syncthreads()\n"
CELLS = "for cell in range(t, WINDOW, BLOCK):"
ELEMENT = "i = start + cell - RADIUS"
ELSE = "        else:\n            window[cell] = 0\n"
FILL = f"""\
    {CELLS}
        {ELEMENT}
        if 0 <= i < a.size:
            window[cell] = a[i]
{ELSE}"""
SUM = """\
        total = np.float32(0)
        for k in range(2 * RADIUS + 1):
            total += window[t + k]
"""


def cases() -> list[Launch]:
    """Vectors of full blocks, of odd sizes, shorter than the stencil, and one block too many."""
    rng = np.random.default_rng(7)

    def launch(n: int, label: str, spare: int = 0) -> Launch:
        a = rng.normal(size=n).astype(np.float32)
        grid = blocks_along(n, BLOCK) + spare
        return Launch.of(STENCIL_1D, f"{n} elements in {label}", a, np.empty_like(a), grid=grid)

    return [
        launch(4 * BLOCK, "4 full blocks"),
        launch(2 * BLOCK + 37, "3 blocks, the last of them with 37 elements"),
        launch(BLOCK + 1, "2 blocks, the last of them with one element"),
        launch(2, "one block"),
        launch(BLOCK - 1, "2 blocks, the second of them with nothing to do", spare=1),
    ]


def limit(launch: Launch) -> int:
    """Bytes that may move: every window in, every output out, and whole sectors at the edges."""
    blocks = int(launch.grid) if isinstance(launch.grid, int) else launch.grid[0]
    # a warp's stretch begins RADIUS floats before a sector does, so that it touches a fifth one
    sectors = (BLOCK // 32) * (5 + 4) + 2
    return 32 * blocks * sectors


def requests(launch: Launch) -> int:
    """Loads and stores of warps: a block's stretch, the halo on either side, and its outputs."""
    blocks = int(launch.grid) if isinstance(launch.grid, int) else launch.grid[0]
    return blocks * (2 * BLOCK // 32 + 2)


answers.wrong(ONCE)(stencil_1d_naive)


@answers.wrong(ONCE)
def halo_from_global_memory(a: Vector, out: Vector) -> None:
    window = cuda.shared.array(BLOCK, np.float32)
    t, i = cuda.threadIdx.x, cuda.grid(1)
    window[t] = a[i] if i < a.size else np.float32(0)
    cuda.syncthreads()
    if i < out.size:
        total = np.float32(0)
        for k in range(-RADIUS, RADIUS + 1):
            if 0 <= t + k < BLOCK:
                total += window[t + k]
            elif 0 <= i + k < a.size:
                total += a[i + k]
        out[i] = total


answers.edit(
    {BARRIER: ""},
    "between the lines that fill the window and the line that reads it there must be a barrier: "
    "a thread adds up what other threads have loaded.",
)
answers.edit(
    {FILL: "    if start + t >= out.size:\n        return\n" + FILL},
    "some threads never reach the barrier, since they left or stand in another branch: first let "
    "every thread fill its cells and pass the barrier, then ask which of them have an output.",
)
answers.edit(
    {CELLS: "for cell in range(RADIUS + t, RADIUS + BLOCK, BLOCK):"},
    "a part of the halo is loaded by nobody: the window has RADIUS cells more than the block on "
    "each side.",
)
answers.edit(
    {CELLS: "for cell in range(t, BLOCK, BLOCK):"},
    "the last 2·RADIUS cells of the window are never loaded: a window has more cells than the "
    "block has threads, so some threads load a second one.",
)
answers.edit(
    {ELSE: ""},
    "cells beyond the ends of the vector are left as they are: shared memory starts as garbage, "
    "so write a zero there.",
)
answers.edit(
    {"0 <= i < a.size": "start <= i < min(a.size, start + BLOCK)"},
    "the halo is filled with zeros between blocks too: zero belongs beyond the ends of the "
    "vector only, and elsewhere the neighbour block's elements.",
)
answers.edit(
    {"0 <= i": "start <= i"},
    "the halo on the left is zero between blocks too: it begins with the last elements of the "
    "block before, so ask for 0 <= i, not for start <= i.",
)
answers.edit(
    {"i < a.size": "i < min(a.size, start + BLOCK)"},
    "the halo on the right is zero between blocks too: it ends with the first elements of the "
    "next block, so ask for i < a.size, not for i < start + BLOCK.",
)
answers.edit({"0 <= i": "0 < i"}, "a[0] is never loaded: the guard needs 0 <= i, not 0 < i.")
answers.edit(
    {"i < a.size": "i < a.size - 1"},
    "the last element is never loaded: the guard needs i < a.size, not i < a.size - 1.",
)
answers.edit({CELLS: "for cell in range(2 * t, min(2 * t + 2, WINDOW)):"}, COALESCED)
answers.edit(
    {
        "total = np.float32(0)": "out[start + t] = 0",
        "total += window[t + k]": "cuda.atomic.add(out, start + t, window[t + k])",
        "        out[start + t] = total": "",
    },
    ONCE,
)
answers.edit(
    {"0 <= i": "i"},
    "an index below zero is not guarded: as in NumPy, a[−1] is the last element, so that the "
    "first outputs add up the wrong end. Ask for 0 <= i as well.",
)
answers.edit(
    {"i < a.size": "i <= a.size"},
    "the guard lets i = a.size through, one past the end: write i < a.size.",
)
answers.edit(
    {"range(2 * RADIUS + 1)": "range(2 * RADIUS)"},
    "the sum stops one short: 2·RADIUS + 1 cells belong to an output, RADIUS on each side and "
    "the one in the middle.",
)
answers.edit(
    {"range(2 * RADIUS + 1)": "range(-RADIUS, RADIUS + 1)"},
    "the window is read one radius too far to the left: cell 0 belongs to element "
    "start − RADIUS, so output t takes the cells t to t + 2·RADIUS.",
)
answers.edit(
    {ELEMENT: "i = min(max(start + cell - RADIUS, 0), a.size - 1)"},
    "the ends repeat the first and the last element: beyond the ends of the vector is zero.",
)
answers.edit(
    {ELEMENT: "i = cell - RADIUS"},
    "every block loads the first window: the block index is never used.",
)
answers.edit(
    {"] = total": "] = total / np.float32(2 * RADIUS + 1)"},
    "that is the mean of the neighbours: out[i] is their sum, so do not divide.",
)
answers.edit(
    {"total += ": "if k != RADIUS:\n                total += "},
    "the element in the middle is left out: its own cell belongs to the sum.",
)


@answers.wrong("every element of out is zero: the sums are never stored, or taken over zeros.")
def constant(a: Vector, out: Vector) -> None:
    i = cuda.grid(1)
    if i < out.size:
        out[i] = 0


answers.edit(
    {"range(2 * RADIUS + 1)": "range(1, 2 * RADIUS)"},
    "one neighbour is missing on each side: an output takes 2·RADIUS + 1 cells, from window[t] to "
    "window[t + 2·RADIUS].",
)
answers.edit(
    {ELEMENT: "i = (start + cell - RADIUS) % a.size"},
    "the vector is bent to a ring: what lies beyond one end is taken from the other. Beyond the "
    "ends is zero.",
)


@answers.wrong("nothing is written: out is left as it was.")
def empty(a: Vector, out: Vector) -> None:
    pass


answers.edit(
    {ELEMENT: "i = start + cell"},
    "the window begins with the block's own first element: it has to begin RADIUS elements before.",
)
answers.edit({"np.float32(0)": "0.0"}, SINGLE)
answers.edit(
    {
        CELLS: "for cell in range(t, 2 * BLOCK, BLOCK):",
        "if 0 <= i": "if cell >= WINDOW:\n            pass\n        elif 0 <= i",
        BARRIER: "    " + BARRIER,
    },
    BARRIERS,
)

answers.variant(
    {  # the first threads load the halo on both sides
        FILL: """\
    i = start + t
    window[t + RADIUS] = a[i] if i < a.size else np.float32(0)
    if t < RADIUS:
        left, right = i - RADIUS, i + BLOCK
        window[t] = a[left] if 0 <= left < a.size else np.float32(0)
        window[t + BLOCK + RADIUS] = a[right] if right < a.size else np.float32(0)
""",
        "total = np.float32(0)": "total = window[t]",
        "range(2 * RADIUS + 1)": "range(1, 2 * RADIUS + 1)",
    }
)
answers.variant(
    {
        FILL: """\
    cell = t
    while cell < WINDOW:
        window[cell] = 0
        i = start + cell - RADIUS
        if i >= 0 and i < a.size:
            window[cell] = a[i]
        cell += cuda.blockDim.x
""",
        SUM: """\
        total = window[t + RADIUS]
        for k in range(1, RADIUS + 1):
            total += window[t + RADIUS - k] + window[t + RADIUS + k]
""",
    }
)

EXERCISE = kernel_exercise(
    STENCIL_1D,
    task="Add up each element and its RADIUS neighbours on both sides, each input read once.",
    cases=cases,
    answers=answers,
    budgets=(
        budgets.sectors_per_request(5, advice=COALESCED),
        budgets.bytes_moved(limit, advice=ONCE),
        budgets.requests(requests, advice=ONCE),
        budgets.barriers(1, advice=BARRIERS),
        *budgets.float64_sums(advice=SINGLE),
    ),
)
