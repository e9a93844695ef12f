"""alpha·x + y by a grid-stride loop, in a launch of any size."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpulearn import cuda
from gpulearn.judge import budgets
from gpulearn.judge.answers import Answers
from gpulearn.judge.kernel_exercise import Launch, kernel_exercise
from gpulearn.kernels.vectors import SAXPY_GRID_STRIDE, saxpy_grid_stride

NO_FLOAT64 = (
    "Compute in float32, as alpha, x and y are: with a float64, such as 0.0, the result is one too."
)
ONCE_EACH = (
    "Elements are done by several threads: begin at the thread's number in the grid, "
    "cuda.grid(1), and step by the number of threads in the grid, cuda.gridsize(1)."
)

ROUNDS = "for i in range(cuda.grid(1), out.size, cuda.gridsize(1)):"

Vector = np.ndarray[tuple[int], Any]
answers = Answers(saxpy_grid_stride)


def cases() -> list[Launch]:
    """Grids that are too small, just right and too large; a single thread; ends anywhere."""
    rng = np.random.default_rng(6)

    def launch(alpha: float, n: int, grid: int, block: int) -> Launch:
        x, y = rng.normal(size=(2, n)).astype(np.float32)
        label = f"{n} elements, {grid} block{'s' * (grid > 1)} of {block} and alpha = {alpha:g}"
        args, measured = (np.float32(alpha), x, y, np.empty_like(x)), n == 1000
        return Launch.of(SAXPY_GRID_STRIDE, label, *args, grid=grid, block=block, measured=measured)

    return [
        launch(2.5, 300, 3, 32),
        launch(-0.75, 1000, 8, 16),
        launch(3.0, 20, 2, 32),
        launch(1.5, 41, 1, 1),
        launch(0.0, 128, 2, 64),
    ]


answers.edit(
    {ROUNDS: "i = cuda.grid(1)\n    if i < out.size:"},
    "each thread does one element only: let it go on in steps of cuda.gridsize(1).",
)
answers.edit(
    {"cuda.grid(1)": "cuda.threadIdx.x"},
    "the loop begins at threadIdx.x, the same in every block: begin at cuda.grid(1).",
)
answers.edit(
    {"cuda.grid(1)": "cuda.blockIdx.x"},
    "the loop begins at blockIdx.x, the same for all threads: begin at cuda.grid(1).",
)
answers.edit(
    {"cuda.gridsize(1)": "cuda.gridsize(1) + 1"},
    "the step is one too large, and elements are left out: there are cuda.gridsize(1) threads.",
)
answers.edit(
    {"out.size": "out.size + 1"},
    "the loop goes one too far: range stops before its second number, which is size.",
)
answers.edit(
    {"out.size": "out.size - 1"},
    "the last element is never written: range stops before its second number already.",
)
answers.edit(
    {ROUNDS: "i = cuda.grid(1)\n    while i < out.size:"},
    "the loop never ends: i has to grow by cuda.gridsize(1) in each round.",
)


@answers.wrong("the first round has no guard: a grid may have more threads than out has elements.")
def guard_after(alpha: np.float32, x: Vector, y: Vector, out: Vector) -> None:
    i = cuda.grid(1)
    while True:
        out[i] = alpha * x[i] + y[i]
        i += cuda.gridsize(1)
        if i >= out.size:
            break


@answers.wrong("nothing arrives in out: does out[i] = … stand in the loop, with = and not with +=?")
def empty(alpha: np.float32, x: Vector, y: Vector, out: Vector) -> None:
    pass


answers.edit(
    {"x[i] + y[i]": "x[0] + y[0]"},
    "every element of out is alpha · x[0] + y[0]: read x[i] and y[i].",
)
answers.edit({"alpha *": "np.float32(2.5) *"}, "alpha is not always 2.5: multiply by the argument.")


@answers.wrong(
    "that many rounds are not always enough: go on in steps of cuda.gridsize(1) until i reaches "
    "out.size."
)
def eight_rounds(alpha: np.float32, x: Vector, y: Vector, out: Vector) -> None:
    i = cuda.grid(1)
    for _ in range(8):
        if i < out.size:
            out[i] = alpha * x[i] + y[i]
        i += cuda.gridsize(1)


answers.edit({"alpha *": "alpha +"}, "alpha is added, not multiplied: alpha · x + y.")
answers.edit({" + y[i]": ""}, "y is missing: out is alpha · x + y.")


@answers.right
def round_by_round(alpha: np.float32, x: Vector, y: Vector, out: Vector) -> None:
    threads = cuda.gridsize(1)
    for k in range((out.size + threads - 1) // threads):
        i = k * threads + cuda.grid(1)
        if i < out.size:
            out[i] = alpha * x[i] + y[i]


answers.edit(
    {"(out.size + threads - 1) // threads": "out.size // threads"},
    "the rest is missing: share out ⌈size / threads⌉ elements to each, not ⌊ ⌋.",
    of=round_by_round,
)
answers.edit({"alpha * ": ""}, "alpha is missing: out is x + y.")
answers.edit({"x[i] + y[i]": "(x[i] + y[i])"}, "alpha multiplies y as well: it belongs to x alone.")
answers.edit(
    {"alpha * x[i] + ": "x[i] + alpha * "}, "x and y have changed places: alpha belongs to x."
)
answers.edit(
    {"out[i] = alpha * x[i] + y[i]": "y[i] += alpha * x[i]"},
    "the result goes to y, an input: write it to out.",
)
answers.edit({"alpha *": "0.0 + alpha *"}, NO_FLOAT64)
answers.edit({"cuda.gridsize(1)": "cuda.blockDim.x"}, ONCE_EACH)
answers.edit({"cuda.grid(1)": "cuda.threadIdx.x", "cuda.gridsize(1)": "cuda.blockDim.x"}, ONCE_EACH)
answers.edit({ROUNDS: "for i in range(out.size):"}, ONCE_EACH)


@answers.right
def with_while(alpha: np.float32, x: Vector, y: Vector, out: Vector) -> None:
    i = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    step = cuda.gridDim.x * cuda.blockDim.x
    while i < x.shape[0]:
        out[i] = y[i] + x[i] * alpha
        i += step


answers.variant({ROUNDS: "for i in range(out.size - 1 - cuda.grid(1), -1, -cuda.gridsize(1)):"})


@answers.right
def a_stretch_for_each_thread(alpha: np.float32, x: Vector, y: Vector, out: Vector) -> None:
    share = (out.size + cuda.gridsize(1) - 1) // cuda.gridsize(1)
    first = cuda.grid(1) * share
    for i in range(first, min(first + share, out.size)):
        out[i] = alpha * x[i] + y[i]


EXERCISE = kernel_exercise(
    SAXPY_GRID_STRIDE,
    task="Write the kernel out = alpha·x + y for a launch of any size.",
    cases=cases,
    answers=answers,
    budgets=(
        budgets.float64(advice=NO_FLOAT64),
        budgets.operations(lambda launch: 2 * launch.args[1].size, advice=ONCE_EACH),
    ),
)
