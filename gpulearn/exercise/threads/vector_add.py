"""Add two vectors, a thread for each element."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpulearn import cuda
from gpulearn.checker import budgets
from gpulearn.checker.answers import Answers
from gpulearn.checker.kernel_exercise import Launch, kernel_exercise
from gpulearn.kernels.vectors import vector_add

__all__ = ["EXERCISE"]

NO_FLOAT64 = "Add the elements as they are; every float64 in between makes the sum float64."
ONE_EACH = (
    "A thread does one element, its own, and threads beyond the end do none: there is no need for "
    "a loop over all of them."
)

Vector = np.ndarray[tuple[int], Any]
answers = Answers()


def cases() -> list[Launch]:
    """Several blocks, an end inside a block, whole blocks beyond the end, and no guard needed."""
    rng = np.random.default_rng(3)
    made = []
    for n, grid, block in ((97, 4, 32), (1, 1, 64), (256, 2, 128), (70, 5, 32), (1000, 8, 128)):
        a, b = rng.normal(size=(2, n)).astype(np.float32)
        label = f"{n} element{'s' * (n > 1)} in {grid} block{'s' * (grid > 1)} of {block}"
        args = (a, b, np.empty_like(a))
        made.append(
            Launch(label, args, grid=grid, block=block, outputs=(2,), measured=n in (70, 1000))
        )
    return made


def expect(a: Vector, b: Vector, out: Vector) -> tuple[Vector]:
    """The specification."""
    return (a + b,)


@answers.wrong("only block 0 is right: the block index is never used.")
def block_ignored(a: Vector, b: Vector, out: Vector) -> None:
    i = cuda.threadIdx.x
    if i < out.size:
        out[i] = a[i] + b[i]


@answers.wrong(
    "nothing arrives in out: does out[i] = … stand in the kernel, with = and not with == or +=?"
)
def empty(a: Vector, b: Vector, out: Vector) -> None:
    pass


@answers.wrong("there is no guard: threads beyond the end must do nothing.")
def no_guard(a: Vector, b: Vector, out: Vector) -> None:
    i = cuda.grid(1)
    out[i] = a[i] + b[i]


@answers.wrong("the guard lets one too many in: the last index is size − 1, so i < size.")
def guard_too_wide(a: Vector, b: Vector, out: Vector) -> None:
    i = cuda.grid(1)
    if i <= out.size:
        out[i] = a[i] + b[i]


@answers.wrong("the guard keeps one too many out: the last element, size − 1, is never written.")
def guard_too_narrow(a: Vector, b: Vector, out: Vector) -> None:
    i = cuda.grid(1)
    if i < out.size - 1:
        out[i] = a[i] + b[i]


@answers.wrong("every element of out is a[0] + b[0]: read a[i] and b[i].")
def constant(a: Vector, b: Vector, out: Vector) -> None:
    i = cuda.grid(1)
    if i < out.size:
        out[i] = a[0] + b[0]


@answers.wrong("only thread 0 of the first block works: every thread does its own element.")
def first_element(a: Vector, b: Vector, out: Vector) -> None:
    i = cuda.grid(1)
    if i == 0:
        out[i] = a[i] + b[i]


@answers.wrong("the block is multiplied by the number of blocks, gridDim: multiply by blockDim.")
def grid_for_block(a: Vector, b: Vector, out: Vector) -> None:
    i = cuda.blockIdx.x * cuda.gridDim.x + cuda.threadIdx.x
    if i < out.size:
        out[i] = a[i] + b[i]


@answers.wrong("block and thread have changed places: blockIdx.x is what blockDim.x multiplies.")
def swapped(a: Vector, b: Vector, out: Vector) -> None:
    i = cuda.threadIdx.x * cuda.blockDim.x + cuda.blockIdx.x
    if i < out.size:
        out[i] = a[i] + b[i]


@answers.wrong("neighbouring blocks overlap: multiply the block by its size, blockDim.x.")
def block_not_multiplied(a: Vector, b: Vector, out: Vector) -> None:
    i = cuda.blockIdx.x + cuda.threadIdx.x
    if i < out.size:
        out[i] = a[i] + b[i]


@answers.wrong("out is a: b is never added.")
def only_a(a: Vector, b: Vector, out: Vector) -> None:
    i = cuda.grid(1)
    if i < out.size:
        out[i] = a[i]


@answers.wrong("the sum goes to a, an input: write it to out.")
def into_a(a: Vector, b: Vector, out: Vector) -> None:
    i = cuda.grid(1)
    if i < out.size:
        a[i] += b[i]


@answers.wrong(NO_FLOAT64)
def in_float64(a: Vector, b: Vector, out: Vector) -> None:
    i = cuda.grid(1)
    if i < out.size:
        total = 0.0
        total += a[i]
        total += b[i]
        out[i] = total


@answers.wrong(ONE_EACH)
def every_thread_does_all(a: Vector, b: Vector, out: Vector) -> None:
    for i in range(out.size):
        out[i] = a[i] + b[i]


@answers.wrong(ONE_EACH)
def begins_again(a: Vector, b: Vector, out: Vector) -> None:
    i = cuda.grid(1) % out.size
    out[i] = a[i] + b[i]


@answers.wrong(ONE_EACH)
def last_one_again(a: Vector, b: Vector, out: Vector) -> None:
    i = min(cuda.grid(1), out.size - 1)
    out[i] = a[i] + b[i]


@answers.wrong(
    "each block does one element, that of its own number: it is the threads that are numbered, by "
    "cuda.grid(1)."
)
def a_block_for_each(a: Vector, b: Vector, out: Vector) -> None:
    i = cuda.blockIdx.x
    if i < out.size:
        out[i] = a[i] + b[i]


@answers.right
def written_out(a: Vector, b: Vector, out: Vector) -> None:
    i = cuda.threadIdx.x + cuda.blockDim.x * cuda.blockIdx.x
    if i >= len(out):
        return
    out[i] = b[i] + a[i]


@answers.right
def in_strides(a: Vector, b: Vector, out: Vector) -> None:
    i = cuda.grid(1)
    while i < a.shape[0]:
        out[i] = a[i] + b[i]
        i += cuda.gridsize(1)


@answers.right
def from_the_end(a: Vector, b: Vector, out: Vector) -> None:
    i = out.size - 1 - cuda.grid(1)
    if i >= 0:
        out[i] = a[i] + b[i]


EXERCISE = kernel_exercise(
    name="vector_add",
    notebook="03_threads_blocks_grids",
    task="Write the kernel out = a + b, a thread for each element.",
    reference=vector_add,
    cases=cases,
    expect=expect,
    answers=answers,
    budgets=(
        budgets.float64(advice=NO_FLOAT64),
        budgets.operations(lambda launch: 2 * launch.args[0].size, advice=ONE_EACH),
    ),
)
