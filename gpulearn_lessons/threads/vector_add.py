"""The sum of two vectors, a thread for each element."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpulearn import cuda
from gpulearn.judge import budgets
from gpulearn.judge.answers import Answers
from gpulearn.judge.kernel_exercise import Launch, kernel_exercise
from gpulearn.kernels.vectors import VECTOR_ADD, vector_add

NO_FLOAT64 = "Add the elements as they are: with a float64, such as 0.0, the sum becomes one."
ONE_EACH = (
    "A thread does one element, its own, and threads beyond the end do none: there is no need for "
    "a loop over all of them, and no element is done twice."
)

Vector = np.ndarray[tuple[int], Any]
answers = Answers(vector_add)


def cases() -> list[Launch]:
    """Several blocks, an end inside a block, whole blocks beyond the end, and no guard needed."""
    rng = np.random.default_rng(3)

    def launch(n: int, grid: int, block: int) -> Launch:
        a, b = rng.normal(size=(2, n)).astype(np.float32)
        label = f"{n} element{'s' * (n > 1)} in {grid} block{'s' * (grid > 1)} of {block}"
        args, measured = (a, b, np.empty_like(a)), n in (70, 1000)
        return Launch.of(VECTOR_ADD, label, *args, grid=grid, block=block, measured=measured)

    shapes = ((97, 4, 32), (1, 1, 64), (256, 2, 128), (70, 5, 32), (50, 3, 20), (1000, 8, 128))
    return [launch(*shape) for shape in shapes]


answers.edit(
    {"cuda.grid(1)": "cuda.threadIdx.x"}, "only block 0 is right: the block index is never used."
)


@answers.wrong(
    "nothing arrives in out: does out[i] = … stand in the kernel, with = and not with == or +=?"
)
def empty(a: Vector, b: Vector, out: Vector) -> None:
    pass


answers.edit(
    {"if i < out.size:\n        ": ""},
    "threads beyond the end are not kept from acting: a guard must let them do nothing.",
)
answers.edit(
    {"i < out.size": "i <= out.size"},
    "the guard lets one too many in: the last index is size − 1, so i < size.",
)
answers.edit(
    {"out.size": "out.size - 1"},
    "the guard keeps one too many out: the last element, size − 1, is never written.",
)
answers.edit(
    {"a[i] + b[i]": "a[0] + b[0]"}, "every element of out is a[0] + b[0]: read a[i] and b[i]."
)
answers.edit(
    {"i < out.size": "i == 0"},
    "only thread 0 of the first block works: every thread does its own element.",
)
answers.edit(
    {"cuda.grid(1)": "cuda.blockIdx.x * cuda.gridDim.x + cuda.threadIdx.x"},
    "the block is multiplied by the number of blocks, gridDim: multiply by blockDim.",
)
answers.edit(
    {"cuda.grid(1)": "cuda.threadIdx.x * cuda.blockDim.x + cuda.blockIdx.x"},
    "block and thread have changed places: blockIdx.x is what blockDim.x multiplies.",
)
answers.edit(
    {"cuda.grid(1)": "cuda.blockIdx.x + cuda.threadIdx.x"},
    "neighbouring blocks overlap: multiply the block by its size, blockDim.x.",
)
answers.edit({" + b[i]": ""}, "out is a: b is never added.")
answers.edit({"out[i] = a[i] +": "a[i] +="}, "the sum goes to a, an input: write it to out.")
answers.edit({"a[i] + b": "0.0 + a[i] + b"}, NO_FLOAT64)
answers.edit({"i = cuda.grid(1)\n    if i < out.size:": "for i in range(out.size):"}, ONE_EACH)
answers.edit({"cuda.grid(1)": "cuda.grid(1) % out.size"}, ONE_EACH)
answers.edit({"cuda.grid(1)": "min(cuda.grid(1), out.size - 1)"}, ONE_EACH)
answers.edit({"if i < out.size": "for i in range(i, out.size, cuda.gridsize(1) // 2)"}, ONE_EACH)
answers.edit({"+ b[i]": "+ b[i]\n        out[i] = b[i] + a[i]"}, ONE_EACH)
answers.edit(
    {"cuda.grid(1)": "cuda.blockIdx.x"},
    "each block does one element, that of its own number: it is the threads that are numbered, by "
    "cuda.grid(1).",
)


@answers.right
def written_out(a: Vector, b: Vector, out: Vector) -> None:
    i = cuda.threadIdx.x + cuda.blockDim.x * cuda.blockIdx.x
    if i >= len(out):
        return
    out[i] = b[i] + a[i]


answers.variant({"if i": "while i", "b[i]": "b[i]\n        i += cuda.gridsize(1)"})
answers.variant({"cuda.grid(1)": "out.size - 1 - cuda.grid(1)", "i < out.size": "i >= 0"})

EXERCISE = kernel_exercise(
    VECTOR_ADD,
    task="Write the kernel out = a + b, a thread for each element.",
    cases=cases,
    answers=answers,
    budgets=(
        budgets.float64(advice=NO_FLOAT64),
        budgets.operations(lambda launch: 5 * launch.args[0].size // 4, advice=ONE_EACH),
    ),
)
