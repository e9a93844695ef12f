"""A right kernel that walks in global memory, to be brought under a budget."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpulearn import cuda
from gpulearn.judge import budgets
from gpulearn.judge.answers import Answers
from gpulearn.judge.kernel_exercise import Launch, kernel_exercise
from gpulearn.kernels.descent import (
    DESCEND_ON_GPU,
    ELEVEN,
    MINIMA,
    SEVEN,
    TWO,
    descend_on_gpu,
)

ONCE = (
    "Load each start once and store each end once, neighbouring threads side by side, and walk in "
    "variables in between."
)
NO_FLOAT64 = (
    "A plain number beside a float32, or one with which a variable begins, makes float64: take "
    "TWO, FOUR, SEVEN and ELEVEN, and begin with what is loaded."
)
TWICE = "Walks are made by several threads, or steps in vain: a walk belongs to one thread."
SECTOR = 32  # bytes
OPERATIONS = 18  # of one step

# what stands in the solution
START = "x, y = xs[i], ys[i]"
A, B = "x * x + y - ELEVEN", "x + y * y - SEVEN"
ACROSS, UP = "x - rate * (FOUR * x * a + TWO * b)", "y - rate * (TWO * a + FOUR * y * b)"
STEP = f"x, y = {ACROSS}, {UP}"
END = "        end_x[i] = x\n        end_y[i] = y"

Vector = np.ndarray[tuple[int], Any]


answers = Answers(descend_on_gpu)
SLOW = {
    START: "end_x[i], end_y[i] = xs[i], ys[i]",
    f"a = {A}": "a = end_x[i] * end_x[i] + end_y[i] - 11",
    f"b = {B}": "b = end_x[i] + end_y[i] * end_y[i] - 7",
    STEP: (
        "right = 4 * end_x[i] * a + 2 * b\n"
        "            up = 2 * a + 4 * end_y[i] * b\n"
        "            end_x[i], end_y[i] = end_x[i] - rate * right, end_y[i] - rate * up"
    ),
    f"\n{END}": "",
}
answers.give(SLOW)


def cases() -> list[Launch]:
    """Blocks of several sizes, whole blocks beyond the end, no step, one, and many."""
    rng = np.random.default_rng(11)

    def launch(n: int, grid: int, block: int, steps: int, rate: float) -> Launch:
        # near the minima, where two ways to round stay near each other
        there = np.array(MINIMA)[rng.integers(0, 4, n)] + rng.uniform(-0.6, 0.6, (n, 2))
        xs, ys = np.ascontiguousarray(there.T.astype(np.float32))
        label = f"{n} start{'s' * (n > 1)}, {steps} step{'s' * (steps != 1)}"
        args = xs, ys, np.float32(rate), steps, np.empty_like(xs), np.empty_like(ys)
        return Launch.of(
            DESCEND_ON_GPU, label, *args,
            grid=grid, block=block, measured=n == 400,
        )  # fmt: skip

    shapes = (
        (97, 5, 32, 1, 0.01),
        (300, 2, 192, 2, 0.01),
        (1, 1, 64, 3, 0.005),
        (256, 2, 128, 0, 0.01),
    )
    more = ((150, 3, 50, 12, 0.008), (400, 4, 128, 20, 0.01))
    return [launch(*shape) for shape in shapes + more]


def least(launch: Launch) -> int:
    """The bytes of two loads and two stores for each start, in whole sectors."""
    return int(4 * SECTOR * -(-launch.args[0].nbytes // SECTOR))


def work(launch: Launch) -> int:
    """Half more operations than the walks need."""
    walks, steps = launch.args[0].size, launch.args[3]
    return int(walks * steps * OPERATIONS * 3 // 2)


answers.edit(SLOW, NO_FLOAT64)
answers.edit(  # the constants mended, and nothing else
    SLOW
    | {
        f"a = {A}": "a = end_x[i] * end_x[i] + end_y[i] - ELEVEN",
        f"b = {B}": "b = end_x[i] + end_y[i] * end_y[i] - SEVEN",
        STEP: SLOW[STEP].replace("4 *", "FOUR *").replace("2 *", "TWO *"),
    },
    ONCE,
)
answers.edit(  # the walk mended, and not the constants
    {A: A.replace("ELEVEN", "11"), B: B.replace("SEVEN", "7")}, NO_FLOAT64
)
answers.edit(
    {f"\n{END}": "", STEP: f"{STEP}\n            end_x[i], end_y[i] = x, y"},
    "without a step nothing is stored: where steps is 0 the end is the start. Store once, after "
    "the loop.",
)
answers.edit({START: f"{START}\n        end_x[i], end_y[i] = x, y"}, ONCE)
answers.edit(
    {"            a =": f"            {START}\n            a ="},
    "each step begins at the start again: load it once, before the loop.",
)
answers.edit({"- ELEVEN": "- 11"}, NO_FLOAT64)
answers.edit({ACROSS: "x - rate * (4.0 * x * a + TWO * b)"}, NO_FLOAT64)
answers.edit(
    {"cuda.grid(1)": "cuda.threadIdx.x"}, "only block 0 is right: the block index is never used."
)
answers.edit(
    {"cuda.grid(1)": "cuda.blockIdx.x * 128 + cuda.threadIdx.x"},
    "blocks are taken to have 128 threads, whatever the launch: blockDim.x says how many.",
)
answers.edit(
    {"if i < xs.size:": "if i <= xs.size:"},
    "the guard lets one too many in: the last index is size − 1, so < and not <=.",
)
answers.edit(
    {"if i < xs.size:": "if i >= 0:"},
    "threads beyond the end are not kept from acting: a guard must let them do nothing.",
)
answers.edit(
    {"end_x[i] = x": "end_x[i] = y", "end_y[i] = y": "end_y[i] = x"}, "end_x and end_y are swapped."
)
answers.edit({"range(steps)": "range(steps + 1)"}, "that is one step too many.")
answers.edit({"range(steps)": "range(steps - 1)"}, "that is one step too few.")
answers.edit(
    {"x - rate": "x + rate", "y - rate": "y + rate"}, "that walks uphill: subtract the steps."
)
answers.edit(
    {STEP: f"x = {ACROSS}\n            b = {B}\n            y = {UP}"},
    "y's slope is taken after x has moved: both belong to the place before the step.",
)
answers.edit(
    {"TWO * a + FOUR": "TWO * b + FOUR"},
    "along y the slope is 2·a + 4·y·b, with a in its first term.",
)
answers.edit(
    {"FOUR * x * a": "TWO * x * a"}, "along x the slope is 4·x·a + 2·b: the square of x² gives a 4."
)
answers.edit(
    {"end_x[i] = x": "xs[i] = x"},
    "x goes back to xs, an input: leave that as it is, and store in end_x alone.",
)
answers.edit(
    {"i = cuda.grid(1)\n    if i < xs.size:": "for i in range(cuda.grid(1) * xs.size, xs.size):"},
    budgets.ALONE,
)


@answers.wrong(
    "nothing arrives in end_x: does end_x[i] = … stand in the kernel, with = and not with +=?"
)
def empty(xs: Vector, ys: Vector, rate: float, steps: int, end_x: Vector, end_y: Vector) -> None:
    pass


@answers.right
def slope_by_slope(
    xs: Vector, ys: Vector, rate: float, steps: int, end_x: Vector, end_y: Vector
) -> None:
    i = cuda.threadIdx.x + cuda.blockDim.x * cuda.blockIdx.x
    if i >= len(xs):
        return
    x = xs[i]
    y = ys[i]
    for _ in range(steps):
        a = x * x + y - ELEVEN
        b = x + y * y - SEVEN
        across = TWO * (TWO * x * a + b)
        up = TWO * (a + TWO * y * b)
        x -= rate * across
        y -= rate * up
    end_x[i], end_y[i] = x, y


answers.edit(
    {
        "    i = cuda.grid(1)\n    if i < xs.size:": (
            "    for i in range(cuda.grid(1) // 2, xs.size, cuda.gridsize(1) // 2):"
        )
    },
    TWICE,
)
answers.variant({"cuda.grid(1)": "xs.size - 1 - cuda.grid(1)", "i < xs.size": "i >= 0"})
answers.variant(
    {
        "    i = cuda.grid(1)\n    if i < xs.size:": (
            "    for i in range(cuda.grid(1), xs.size, cuda.gridsize(1)):"
        ),
        "for _ in range(steps)": "left = steps\n        while left > 0",
        STEP: f"{STEP}\n            left -= 1",
    }
)

EXERCISE = kernel_exercise(
    DESCEND_ON_GPU,
    task="Bring the kernel under its budget: 16 bytes of global memory for each walk, no float64.",
    cases=cases,
    answers=answers,
    budgets=(
        budgets.float64(advice=NO_FLOAT64),
        budgets.bytes_moved(least, advice=ONCE),
        budgets.operations(work, advice=TWICE),
    ),
)
