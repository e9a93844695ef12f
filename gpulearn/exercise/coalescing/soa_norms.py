"""Exercise: the distance of points from the origin, from a struct of arrays."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gpulearn import cuda
from gpulearn.checker import budgets
from gpulearn.checker.answers import Answers
from gpulearn.checker.kernel_exercise import Launch, kernel_exercise
from gpulearn.kernels.points import soa_norms as solution

__all__ = ["EXERCISE"]

Array = np.ndarray[Any, Any]

NEIGHBOURS = (
    "Neighbouring threads should take neighbouring points: number the threads by cuda.grid(1)."
)
FLOAT32 = (
    "Numbers with a point, such as 0.5 or 0.0, are float64 in a kernel, and what is computed "
    "with them too: math.sqrt and products of x, y, z stay in float32."
)

ONE_EACH = "A thread does one point, its own: there is no need for a loop over all of them."

answers = Answers()


def norms(x: Array, y: Array, z: Array, out: Array) -> tuple[Array]:
    """The specification: √(x² + y² + z²), rounded to float32."""
    points = np.stack([x, y, z]).astype(np.float64)
    return (np.linalg.norm(points, axis=0).astype(np.float32),)


def cases() -> list[Launch]:
    """Sizes that no block divides; one block too many each time."""
    rng = np.random.default_rng(4)
    made = []
    for n in (100, 33, 1, 512):
        args = (*rng.normal(size=(3, n)).astype(np.float32), np.empty(n, np.float32))
        label, grid = f"{n} point{'s' * (n > 1)}", -(-n // 32) + 1
        made.append(Launch(label, args, grid=grid, block=32, outputs=(3,), measured=n == 512))
    return made


@answers.wrong(NEIGHBOURS)
def blocks_take_turns(x: Any, y: Any, z: Any, out: Any) -> None:
    i = cuda.threadIdx.x * cuda.gridDim.x + cuda.blockIdx.x
    if i < out.size:
        out[i] = math.sqrt(x[i] * x[i] + y[i] * y[i] + z[i] * z[i])


@answers.wrong(FLOAT32)
def root_as_a_power(x: Any, y: Any, z: Any, out: Any) -> None:
    i = cuda.grid(1)
    if i < out.size:
        out[i] = (x[i] * x[i] + y[i] * y[i] + z[i] * z[i]) ** 0.5


@answers.wrong(FLOAT32)
def sums_in_float64(x: Any, y: Any, z: Any, out: Any) -> None:
    i = cuda.grid(1)
    if i < out.size:
        total = 0.0
        total += x[i] * x[i]
        total += y[i] * y[i]
        total += z[i] * z[i]
        out[i] = math.sqrt(total)


@answers.wrong("that is the square of the distance: the root is missing.")
def root_missing(x: Any, y: Any, z: Any, out: Any) -> None:
    i = cuda.grid(1)
    if i < out.size:
        out[i] = x[i] * x[i] + y[i] * y[i] + z[i] * z[i]


@answers.wrong("z is left out: the points lie in space, not in a plane.")
def flat(x: Any, y: Any, z: Any, out: Any) -> None:
    i = cuda.grid(1)
    if i < out.size:
        out[i] = math.sqrt(x[i] * x[i] + y[i] * y[i])


@answers.wrong(
    "that is |x| + |y| + |z|, the way along the axes: square, add up, and take the root once."
)
def along_the_axes(x: Any, y: Any, z: Any, out: Any) -> None:
    i = cuda.grid(1)
    if i < out.size:
        out[i] = abs(x[i]) + abs(y[i]) + abs(z[i])


@answers.wrong(
    "each array holds one coordinate of every point: point i has x[i], y[i] and z[i], and 3·i "
    "belongs to an array of structs."
)
def index_of_structs(x: Any, y: Any, z: Any, out: Any) -> None:
    i = cuda.grid(1)
    if i < out.size:
        a, b, c = x[3 * i], y[3 * i + 1], z[3 * i + 2]
        out[i] = math.sqrt(a * a + b * b + c * c)


@answers.wrong("all blocks do the same points: the block index is never used.")
def block_ignored(x: Any, y: Any, z: Any, out: Any) -> None:
    i = cuda.threadIdx.x
    if i < out.size:
        out[i] = math.sqrt(x[i] * x[i] + y[i] * y[i] + z[i] * z[i])


@answers.wrong("one point too many: they are numbered 0 to out.size - 1, so the guard is a `<`.")
def guard_off_by_one(x: Any, y: Any, z: Any, out: Any) -> None:
    i = cuda.grid(1)
    if i <= out.size:
        out[i] = math.sqrt(x[i] * x[i] + y[i] * y[i] + z[i] * z[i])


@answers.wrong("there are more threads than points: those beyond the last one need a guard.")
def no_guard(x: Any, y: Any, z: Any, out: Any) -> None:
    i = cuda.grid(1)
    out[i] = math.sqrt(x[i] * x[i] + y[i] * y[i] + z[i] * z[i])


@answers.wrong("every point gets the distance of point 0: the index has to go along.")
def constant(x: Any, y: Any, z: Any, out: Any) -> None:
    i = cuda.grid(1)
    if i < out.size:
        out[i] = math.sqrt(x[0] * x[0] + y[0] * y[0] + z[0] * z[0])


@answers.wrong("nothing is written to the elements of out.")
def empty(x: Any, y: Any, z: Any, out: Any) -> None:
    pass


@answers.wrong(ONE_EACH)
def every_thread_does_all(x: Any, y: Any, z: Any, out: Any) -> None:
    for i in range(out.size):
        out[i] = math.sqrt(x[i] * x[i] + y[i] * y[i] + z[i] * z[i])


@answers.right
def step_by_step(x: Any, y: Any, z: Any, out: Any) -> None:
    k = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    if k >= x.shape[0]:
        return
    a, b, c = x[k], y[k], z[k]
    square = c * c
    square += b * b
    square += a * a
    out[k] = math.sqrt(square)


@answers.right
def several_for_a_thread(x: Any, y: Any, z: Any, out: Any) -> None:
    for i in range(cuda.grid(1), out.size, cuda.gridsize(1)):
        out[i] = math.sqrt(x[i] ** 2 + y[i] ** 2 + z[i] ** 2)


EXERCISE = kernel_exercise(
    name="soa_norms",
    notebook="04_memory_coalescing",
    task="Write √(x² + y² + z²) of each point to out, in float32, at 4 sectors per request.",
    reference=solution,
    cases=cases,
    expect=norms,
    answers=answers,
    budgets=(
        budgets.sectors_per_request(4, advice=NEIGHBOURS),
        budgets.float64(advice=FLOAT32),
        budgets.operations(lambda launch: 20 * launch.args[3].size, advice=ONE_EACH),
    ),
)
