"""The distance of points from the origin, from a struct of arrays."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gpulearn import cuda
from gpulearn.judge import budgets
from gpulearn.judge.answers import Answers
from gpulearn.judge.kernel_exercise import Launch, kernel_exercise
from gpulearn_lessons.coalescing.points import SOA_NORMS, soa_norms

NEIGHBOURS = (
    "Neighbouring threads should take neighbouring points: the thread with number i in the grid, "
    "cuda.grid(1), takes point i."
)
FLOAT32 = (
    "Numbers with a point, such as 0.5 or 0.0, are float64 in a kernel, and what is computed "
    "with them too: math.sqrt and products of x, y, z stay in float32."
)
ONCE = (
    "Write each distance once, when it is complete: what comes before belongs into variables of "
    "the thread."
)
ONE_EACH = "A thread does one point, its own: there is no need for a loop over all of them."
NORM = "math.sqrt(x[i] * x[i] + y[i] * y[i] + z[i] * z[i])"

answers = Answers(soa_norms)


def cases() -> list[Launch]:
    """Sizes that no block divides, blocks of several sizes, and one too many each time."""
    rng = np.random.default_rng(4)

    def launch(n: int, block: int) -> Launch:
        args = (*rng.normal(size=(3, n)).astype(np.float32), np.empty(n, np.float32))
        label, grid = f"{n} point{'s' * (n > 1)} in blocks of {block}", -(-n // block) + 1
        return Launch.of(SOA_NORMS, label, *args, grid=grid, block=block, measured=n == 512)

    return [
        launch(*shape) for shape in ((100, 32), (33, 32), (1, 32), (300, 64), (95, 40), (512, 32))
    ]


answers.edit({"cuda.grid(1)": "cuda.threadIdx.x * cuda.gridDim.x + cuda.blockIdx.x"}, NEIGHBOURS)
answers.edit({NORM: NORM.removeprefix("math.sqrt") + " ** 0.5"}, FLOAT32)
answers.edit({"math.sqrt(": "math.sqrt(0.0 + "}, FLOAT32)
answers.edit(
    {
        f"out[i] = {NORM}": "out[i] = x[i] * x[i] + y[i] * y[i] + z[i] * z[i]\n"
        "        out[i] = math.sqrt(out[i])"
    },
    ONCE,
)
answers.edit({"math.sqrt": ""}, "that is the square of the distance: the root is missing.")
answers.edit({" + z[i] * z[i]": ""}, "z is left out: the points lie in space, not in a plane.")
answers.edit(
    {NORM: "abs(x[i]) + abs(y[i]) + abs(z[i])"},
    "that is |x| + |y| + |z|, the way along the axes: square, add up, and take the root once.",
)
answers.edit(
    {NORM: "math.sqrt(x[3 * i] ** 2 + y[3 * i + 1] ** 2 + z[3 * i + 2] ** 2)"},
    "each array holds one coordinate of every point: point i has x[i], y[i] and z[i], and 3·i "
    "belongs to an array of structs.",
)
answers.edit(
    {"cuda.grid(1)": "cuda.threadIdx.x"},
    "all blocks do the same points: the block index is never used.",
)
answers.edit(
    {"i < out.size": "i <= out.size"},
    "one point too many: they are numbered 0 to out.size - 1, so the guard is a `<`.",
)
answers.edit(
    {"if i < out.size:\n        ": ""},
    "there are more threads than points: those beyond the last one need a guard.",
)
answers.edit(
    {NORM: NORM.replace("[i]", "[0]")},
    "every point gets the distance of point 0: the index has to go along.",
)


@answers.wrong("nothing is written to the elements of out.")
def empty(x: Any, y: Any, z: Any, out: Any) -> None:
    pass


answers.edit({"i = cuda.grid(1)\n    if i < out.size:": "for i in range(out.size):"}, ONE_EACH)


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
    SOA_NORMS,
    task="Write √(x² + y² + z²) of each point to out, in float32, at 4 sectors per request.",
    cases=cases,
    answers=answers,
    budgets=(
        budgets.sectors_per_request(4, advice=NEIGHBOURS),
        budgets.float64(advice=FLOAT32),
        budgets.operations(lambda launch: 20 * launch.args[3].size, advice=ONE_EACH),
        # of out alone: how often x[i] is read depends on how its square is written
        budgets.bytes_moved(lambda launch: launch.args[3].nbytes, of=3, advice=ONCE),
    ),
)
