"""Exercises of a course of its own: an area by trapezoids, and a kernel that halves."""

import numpy as np

from gpulearn import cuda
from gpulearn.judge import Case, Exercise, Launch, Specification, kernel_exercise


def trapezoid_area(x, y):
    """The area under the points (x, y), by the trapezoidal rule."""
    total = 0.0
    for i in range(1, len(x)):
        total += (x[i] - x[i - 1]) * (y[i] + y[i - 1]) / 2
    return total


TRAPEZOID_AREA = Exercise(
    task="Add up the areas of the strips between neighboring points.",
    reference=trapezoid_area,
    cases=lambda: [
        Case("three points", ([0.0, 1.0, 3.0], [2.0, 4.0, 10.0])),
        Case("two points", ([1.0, 2.5], [3.0, 1.0])),
        Case("a curve that falls", ([0.0, 0.5, 2.0, 2.5], [9.0, 4.0, 1.0, -2.0])),
    ],
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


HALVE = kernel_exercise(
    HALVE_SPECIFICATION, task="Halve each element.", cases=lambda: list(launches())
)
