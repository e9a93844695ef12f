"""A kernel on an array of structs that is right and asks for too much: to be mended."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpulearn import cuda
from gpulearn.judge import budgets
from gpulearn.judge.answers import Answers
from gpulearn.judge.kernel_exercise import Launch, kernel_exercise
from gpulearn_lessons.coalescing.points import STRETCH_POINTS, stretch_points

NUMBERS = "Let 32 lanes take 32 numbers that lie side by side."
READ_ONCE = "Read and write each number once, the lanes of a warp side by side."
ONCE = "Each number is to be done once: go on by the number of threads in the whole grid."
FLOAT32 = "Points and factors are float32: multiply them as they are."
ROUNDS = "for k in range(cuda.grid(1), points.size, cuda.gridsize(1)):"
PLACE = "i, axis = k // 3, k % 3"
PART = "        part = points[i, axis]"
BODY = "        out[i, axis] = factors[axis] * part"

answers = Answers(stretch_points)
answers.give(
    {
        ROUNDS: "i = cuda.grid(1)\n    if i < points.shape[0]:",
        PLACE: "for axis in range(3):",
        PART: f"    {PART}",
        BODY: f"    {BODY}",
    }
)


def cases() -> list[Launch]:
    """A thread for each point and some more, in blocks of several sizes; one point."""
    rng = np.random.default_rng(8)

    def launch(n: int, grid: int, block: int) -> Launch:
        points = rng.normal(size=(n, 3)).astype(np.float32)
        factors = rng.uniform(1, 9, 3).astype(np.float32)
        label = f"{n} point{'s' * (n > 1)}, {grid} × {block} threads"
        args, measured = (points, factors, np.empty_like(points)), n == 512
        return Launch.of(STRETCH_POINTS, label, *args, grid=grid, block=block, measured=measured)

    shapes = ((100, 4, 32), (77, 2, 40), (1, 1, 32), (300, 5, 64), (512, 4, 128))
    return [launch(*shape) for shape in shapes]


@answers.wrong(NUMBERS)
def a_point_for_each_thread(points: Any, factors: Any, out: Any) -> None:
    i = cuda.grid(1)
    if i < points.shape[0]:
        for axis in range(3):
            out[i, axis] = factors[axis] * points[i, axis]


@answers.wrong(NUMBERS)
def read_as_rows(points: Any, factors: Any, out: Any) -> None:
    for i in range(cuda.grid(1), points.shape[0], cuda.gridsize(1)):
        x, y, z = points[i, 0], points[i, 1], points[i, 2]
        out[i, 0] = factors[0] * x
        out[i, 1] = factors[1] * y
        out[i, 2] = factors[2] * z


@answers.wrong(NUMBERS)
def two_neighbours(points: Any, factors: Any, out: Any) -> None:
    for first in range(2 * cuda.grid(1), points.size, 2 * cuda.gridsize(1)):
        for k in range(first, min(first + 2, points.size)):
            out[k // 3, k % 3] = points[k // 3, k % 3] * factors[k % 3]


@answers.wrong(NUMBERS)
def three_neighbours(points: Any, factors: Any, out: Any) -> None:
    first = 3 * cuda.grid(1)
    for k in range(first, min(first + 3, points.size)):
        out[k // 3, k % 3] = factors[k % 3] * points[k // 3, k % 3]


answers.edit(
    {ROUNDS: "k = cuda.grid(1)\n    if k < points.size:"},
    "only as many numbers are done as there are threads, and a point has three: let each thread "
    "go on by cuda.gridsize(1).",
)
answers.edit(
    {"points.size": "points.shape[0]"},
    "only the first third is done: points.shape[0] counts points, points.size all their numbers.",
)
answers.edit(
    {PLACE: "i, axis = k % 3, k // 3"},
    "i and axis have changed places: the three numbers of a point are neighbours, so k // 3 is the "
    "point.",
)
answers.edit(
    {"factors[axis]": "factors[0]"}, "every axis is stretched by factors[0]: each has its own."
)
answers.edit(
    {"factors[axis]": "factors[2 - axis]"}, "the factors stand in the other order: axis 0 first."
)
answers.edit({"factors[axis] * ": ""}, "out is points as they were: nothing is stretched.")
answers.edit({"factors[axis] *": "factors[axis] +"}, "the factor is added: multiply by it.")
answers.edit({"cuda.grid(1)": "cuda.threadIdx.x", "cuda.gridsize(1)": "cuda.blockDim.x"}, ONCE)
answers.edit({"cuda.gridsize(1)": "cuda.blockDim.x"}, ONCE)
answers.edit(
    {"points.size": "points.size + 1"},
    "one number too many: the last one has the number points.size - 1.",
)
answers.edit({"factors[axis] *": "1.0 * factors[axis] *"}, FLOAT32)


@answers.wrong("nothing is written to the elements of out.")
def empty(points: Any, factors: Any, out: Any) -> None:
    pass


@answers.right
def in_three_rounds(points: Any, factors: Any, out: Any) -> None:
    threads, n = cuda.gridsize(1), points.shape[0] * 3
    k = cuda.grid(1)
    while k < n:
        row = k // 3
        column = k - 3 * row
        out[row, column] = points[row, column] * factors[column]
        k += threads


@answers.right
def backwards(points: Any, factors: Any, out: Any) -> None:
    for k in range(points.size - 1 - cuda.grid(1), -1, -cuda.gridsize(1)):
        axis = k % 3
        out[k // 3, axis] = points[k // 3, axis] * factors[axis]


@answers.right
def block_by_block(points: Any, factors: Any, out: Any) -> None:
    first = 3 * cuda.blockDim.x * cuda.blockIdx.x
    for part in range(3):
        k = first + part * cuda.blockDim.x + cuda.threadIdx.x
        if k < points.size:
            out[k // 3, k % 3] = factors[k % 3] * points[k // 3, k % 3]


EXERCISE = kernel_exercise(
    STRETCH_POINTS,
    task="Mend the kernel: the same results, at 4 sectors per request, without another layout.",
    cases=cases,
    answers=answers,
    budgets=(
        budgets.sectors_per_request(4, advice=NUMBERS),
        budgets.float64(advice=FLOAT32),
        budgets.operations(lambda launch: 6 * launch.args[0].size // 5, advice=ONCE),
        budgets.bytes_moved(lambda launch: launch.args[0].nbytes * 9 // 8, of=0, advice=READ_ONCE),
        budgets.bytes_moved(lambda launch: launch.args[2].nbytes * 9 // 8, of=2, advice=READ_ONCE),
    ),
)
