"""Compute alpha·x + y in a launch of any size."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpulearn import cuda
from gpulearn.checker import budgets
from gpulearn.checker.answers import Answers
from gpulearn.checker.kernel_exercise import Launch, kernel_exercise
from gpulearn.kernels.vectors import saxpy_grid_stride

__all__ = ["EXERCISE"]

NO_FLOAT64 = "Compute in float32, as alpha, x and y are; a total that starts at 0.0 is a float64."
ONCE_EACH = (
    "Elements are done by several threads: begin at the thread's number in the grid, "
    "cuda.grid(1), and step by the number of threads in the grid, cuda.gridsize(1)."
)

Vector = np.ndarray[tuple[int], Any]
answers = Answers()


def cases() -> list[Launch]:
    """Grids that are too small, just right and too large; a single thread; ends anywhere."""
    rng = np.random.default_rng(6)
    made = []
    shapes = ((300, 3, 32), (1000, 8, 16), (20, 2, 32), (41, 1, 1), (128, 2, 64))
    for alpha, (n, grid, block) in zip((2.5, -0.75, 3.0, 1.5, 0.0), shapes, strict=True):
        x, y = rng.normal(size=(2, n)).astype(np.float32)
        label = f"{n} elements, {grid} block{'s' * (grid > 1)} of {block} and alpha = {alpha:g}"
        args = (np.float32(alpha), x, y, np.empty_like(x))
        made.append(Launch(label, args, grid=grid, block=block, outputs=(3,), measured=n == 1000))
    return made


def expect(alpha: np.float32, x: Vector, y: Vector, out: Vector) -> tuple[Vector]:
    """The specification."""
    return (alpha * x + y,)


@answers.wrong("each thread does one element only: let it go on in steps of cuda.gridsize(1).")
def no_loop(alpha: np.float32, x: Vector, y: Vector, out: Vector) -> None:
    i = cuda.grid(1)
    if i < out.size:
        out[i] = alpha * x[i] + y[i]


@answers.wrong("the loop begins at threadIdx.x, the same in every block: begin at cuda.grid(1).")
def start_ignores_block(alpha: np.float32, x: Vector, y: Vector, out: Vector) -> None:
    for i in range(cuda.threadIdx.x, out.size, cuda.gridsize(1)):
        out[i] = alpha * x[i] + y[i]


@answers.wrong("the loop begins at blockIdx.x, the same for all threads: begin at cuda.grid(1).")
def start_ignores_thread(alpha: np.float32, x: Vector, y: Vector, out: Vector) -> None:
    for i in range(cuda.blockIdx.x, out.size, cuda.gridsize(1)):
        out[i] = alpha * x[i] + y[i]


@answers.wrong(
    "the step is one too large, and elements are left out: there are cuda.gridsize(1) threads."
)
def step_too_large(alpha: np.float32, x: Vector, y: Vector, out: Vector) -> None:
    for i in range(cuda.grid(1), out.size, cuda.gridsize(1) + 1):
        out[i] = alpha * x[i] + y[i]


@answers.wrong("the loop goes one too far: range stops before its second number, which is size.")
def end_too_far(alpha: np.float32, x: Vector, y: Vector, out: Vector) -> None:
    for i in range(cuda.grid(1), out.size + 1, cuda.gridsize(1)):
        out[i] = alpha * x[i] + y[i]


@answers.wrong("the last element is never written: range stops before its second number already.")
def end_too_early(alpha: np.float32, x: Vector, y: Vector, out: Vector) -> None:
    for i in range(cuda.grid(1), out.size - 1, cuda.gridsize(1)):
        out[i] = alpha * x[i] + y[i]


@answers.wrong("the loop never ends: i has to grow by cuda.gridsize(1) in each round.")
def no_step(alpha: np.float32, x: Vector, y: Vector, out: Vector) -> None:
    i = cuda.grid(1)
    while i < out.size:
        out[i] = alpha * x[i] + y[i]


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


@answers.wrong("every element of out is alpha · x[0] + y[0]: read x[i] and y[i].")
def constant(alpha: np.float32, x: Vector, y: Vector, out: Vector) -> None:
    for i in range(cuda.grid(1), out.size, cuda.gridsize(1)):
        out[i] = alpha * x[0] + y[0]


@answers.wrong("alpha is not always 2.5: multiply by the argument.")
def one_alpha(alpha: np.float32, x: Vector, y: Vector, out: Vector) -> None:
    for i in range(cuda.grid(1), out.size, cuda.gridsize(1)):
        out[i] = np.float32(2.5) * x[i] + y[i]


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


@answers.wrong("alpha is added, not multiplied: alpha · x + y.")
def alpha_added(alpha: np.float32, x: Vector, y: Vector, out: Vector) -> None:
    for i in range(cuda.grid(1), out.size, cuda.gridsize(1)):
        out[i] = alpha + x[i] + y[i]


@answers.wrong("y is missing: out is alpha · x + y.")
def without_y(alpha: np.float32, x: Vector, y: Vector, out: Vector) -> None:
    for i in range(cuda.grid(1), out.size, cuda.gridsize(1)):
        out[i] = alpha * x[i]


@answers.wrong("the rest is missing: share out ⌈size / threads⌉ elements to each, not ⌊ ⌋.")
def whole_rounds_only(alpha: np.float32, x: Vector, y: Vector, out: Vector) -> None:
    threads = cuda.gridsize(1)
    for k in range(out.size // threads):
        i = k * threads + cuda.grid(1)
        out[i] = alpha * x[i] + y[i]


@answers.wrong("alpha is missing: out is x + y.")
def without_alpha(alpha: np.float32, x: Vector, y: Vector, out: Vector) -> None:
    for i in range(cuda.grid(1), out.size, cuda.gridsize(1)):
        out[i] = x[i] + y[i]


@answers.wrong("alpha multiplies y as well: it belongs to x alone.")
def alpha_for_both(alpha: np.float32, x: Vector, y: Vector, out: Vector) -> None:
    for i in range(cuda.grid(1), out.size, cuda.gridsize(1)):
        out[i] = alpha * (x[i] + y[i])


@answers.wrong("x and y have changed places: alpha belongs to x.")
def alpha_for_y(alpha: np.float32, x: Vector, y: Vector, out: Vector) -> None:
    for i in range(cuda.grid(1), out.size, cuda.gridsize(1)):
        out[i] = x[i] + alpha * y[i]


@answers.wrong("the result goes to y, an input: write it to out.")
def into_y(alpha: np.float32, x: Vector, y: Vector, out: Vector) -> None:
    for i in range(cuda.grid(1), out.size, cuda.gridsize(1)):
        y[i] += alpha * x[i]


@answers.wrong(NO_FLOAT64)
def in_float64(alpha: np.float32, x: Vector, y: Vector, out: Vector) -> None:
    for i in range(cuda.grid(1), out.size, cuda.gridsize(1)):
        total = 0.0
        total += alpha * x[i]
        total += y[i]
        out[i] = total


@answers.wrong(ONCE_EACH)
def step_of_a_block(alpha: np.float32, x: Vector, y: Vector, out: Vector) -> None:
    for i in range(cuda.grid(1), out.size, cuda.blockDim.x):
        out[i] = alpha * x[i] + y[i]


@answers.wrong(ONCE_EACH)
def each_block_does_all(alpha: np.float32, x: Vector, y: Vector, out: Vector) -> None:
    for i in range(cuda.threadIdx.x, out.size, cuda.blockDim.x):
        out[i] = alpha * x[i] + y[i]


@answers.wrong(ONCE_EACH)
def each_thread_does_all(alpha: np.float32, x: Vector, y: Vector, out: Vector) -> None:
    for i in range(out.size):
        out[i] = alpha * x[i] + y[i]


@answers.right
def with_while(alpha: np.float32, x: Vector, y: Vector, out: Vector) -> None:
    i = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    step = cuda.gridDim.x * cuda.blockDim.x
    while i < x.shape[0]:
        out[i] = y[i] + x[i] * alpha
        i += step


@answers.right
def backwards(alpha: np.float32, x: Vector, y: Vector, out: Vector) -> None:
    for i in range(out.size - 1 - cuda.grid(1), -1, -cuda.gridsize(1)):
        out[i] = alpha * x[i] + y[i]


@answers.right
def round_by_round(alpha: np.float32, x: Vector, y: Vector, out: Vector) -> None:
    threads = cuda.gridsize(1)
    for k in range((out.size + threads - 1) // threads):
        i = k * threads + cuda.grid(1)
        if i < out.size:
            out[i] = alpha * x[i] + y[i]


@answers.right
def a_stretch_for_each_thread(alpha: np.float32, x: Vector, y: Vector, out: Vector) -> None:
    share = (out.size + cuda.gridsize(1) - 1) // cuda.gridsize(1)
    first = cuda.grid(1) * share
    for i in range(first, min(first + share, out.size)):
        out[i] = alpha * x[i] + y[i]


EXERCISE = kernel_exercise(
    name="saxpy_grid_stride",
    notebook="03_threads_blocks_grids",
    task="Write the kernel out = alpha·x + y for a launch of any size.",
    reference=saxpy_grid_stride,
    cases=cases,
    expect=expect,
    answers=answers,
    budgets=(
        budgets.float64(advice=NO_FLOAT64),
        budgets.operations(lambda launch: 2 * launch.args[1].size, advice=ONCE_EACH),
    ),
)
