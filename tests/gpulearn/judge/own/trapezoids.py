"""Exercises of a course of its own: an area by trapezoids, and a kernel that halves."""

import numpy as np

from gpulearn import cuda
from gpulearn.judge import Answers, Case, Exercise, Launch, Specification, kernel_exercise


def trapezoid_area(x, y):
    """The area under the points (x, y), by the trapezoidal rule."""
    total = 0.0
    for i in range(1, len(x)):
        total += (x[i] - x[i - 1]) * (y[i] + y[i - 1]) / 2
    return total


answers = Answers(trapezoid_area)
answers.edit({" / 2": ""}, "that is twice the area: the mean of two heights is half their sum.")
answers.edit({"(y[i] + y[i - 1]) / 2": "y[i]"}, "that takes the right height of each strip alone.")
answers.edit(
    {"(y[i] + y[i - 1]) / 2": "y[i - 1]"}, "that takes the left height of each strip alone."
)
answers.edit(
    {"(x[i] - x[i - 1])": "(x[1] - x[0])"}, "the strips need not be equally wide: x[i] − x[i − 1]."
)
answers.edit({"range(1, len(x))": "range(1, len(x) - 1)"}, "the last strip is left out.")
answers.variant({"range(1, len(x))": "reversed(range(1, len(x)))"})


@answers.right
def by_numpy(x, y):
    return float(np.diff(x) @ (np.add(y[1:], y[:-1]) / 2))


TRAPEZOID_AREA = Exercise(
    task="Add up the areas of the strips between neighbouring points.",
    reference=trapezoid_area,
    cases=lambda: [
        Case("three points", ([0.0, 1.0, 3.0], [2.0, 4.0, 10.0])),
        Case("two points", ([1.0, 2.5], [3.0, 1.0])),
        Case("a curve that falls", ([0.0, 0.5, 2.0, 2.5], [9.0, 4.0, 1.0, -2.0])),
    ],
    answers=answers,
)


@cuda.jit
def halve(x, out):
    """Half of each element."""
    i = cuda.grid(1)
    if i < out.size:
        out[i] = x[i] / np.float32(2)


HALVE_SPECIFICATION = Specification(
    kernel=halve,
    reference=lambda x, out: (x / 2,),
    grid=lambda x, out, block: -(-x.size // block),
    block=128,
    outputs=(1,),
)


def launches():
    """Sizes that fill no block, and blocks beyond the end."""
    sizes = ((97, 4, 32), (256, 2, 128), (1000, 8, 128))
    for n, grid, block in sizes:
        x = np.random.default_rng(n).normal(size=n).astype(np.float32)
        label = f"{n} elements in {grid} blocks of {block}"
        yield Launch.of(HALVE_SPECIFICATION, label, x, np.empty_like(x), grid=grid, block=block)


halves = Answers(halve)
halves.edit({"cuda.grid(1)": "cuda.threadIdx.x"}, "only block 0 is right: use the block's index.")
halves.edit({"if i < out.size:\n        ": ""}, "a guard is missing: i < out.size.")
halves.edit({"i < out.size": "i < out.size - 1"}, "the last element is left out.")
halves.edit({"np.float32(2)": "np.float32(3)"}, "half is divided by two.")
halves.edit({"x[i] / np.float32(2)": "x[i]"}, "that is a copy.")
halves.variant({"/ np.float32(2)": "* np.float32(0.5)"})
halves.variant({"cuda.grid(1)": "cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x"})

HALVE = kernel_exercise(
    HALVE_SPECIFICATION,
    task="Halve each element.",
    cases=lambda: list(launches()),
    answers=halves,
)
