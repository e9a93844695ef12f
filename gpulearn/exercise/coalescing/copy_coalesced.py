"""Exercise: copy many elements with few threads, the lanes of a warp side by side."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpulearn import cuda
from gpulearn.checker import budgets
from gpulearn.checker.answers import Answers
from gpulearn.checker.kernel_exercise import Launch, kernel_exercise
from gpulearn.kernels.copies import copy_coalesced as solution
from gpulearn.kernels.copies import copy_in_runs

__all__ = ["EXERCISE"]

Array = np.ndarray[Any, Any]

SIDE_BY_SIDE = (
    "Let the 32 lanes of a warp copy 32 neighbours in each round: begin at the thread's own "
    "number, and go on by as many elements as the grid has threads."
)
ONCE = "Each element is to be copied once: go on by the number of threads in the whole grid."

answers = Answers()


def copied(source: Array, target: Array) -> tuple[Array]:
    """The specification: `target` holds what `source` holds."""
    return (source,)


def cases() -> list[Launch]:
    """Few threads, many threads, one element, no whole number of rounds."""
    rng = np.random.default_rng(4)
    shapes = [(1700, 1, 64), (97, 1, 128), (5, 2, 32), (1, 1, 32), (2048, 2, 128)]
    made = []
    for n, grid, block in shapes:
        source = rng.normal(size=n).astype(np.float32)
        label = f"{n:,} element{'s' * (n > 1)}, {grid} × {block} threads"
        args = (source, np.empty_like(source))
        measured = n == 2048
        made.append(Launch(label, args, grid=grid, block=block, outputs=(1,), measured=measured))
    return made


answers.wrong(SIDE_BY_SIDE)(copy_in_runs)


@answers.wrong(SIDE_BY_SIDE)
def two_neighbours_each(source: Any, target: Any) -> None:
    start = cuda.grid(1)
    threads = cuda.gridsize(1)
    for i in range(2 * start, source.size, 2 * threads):
        target[i] = source[i]
        if i + 1 < source.size:
            target[i + 1] = source[i + 1]


@answers.wrong(SIDE_BY_SIDE)
def blocks_take_turns(source: Any, target: Any) -> None:
    start = cuda.threadIdx.x * cuda.gridDim.x + cuda.blockIdx.x
    threads = cuda.gridsize(1)
    for i in range(start, source.size, threads):
        target[i] = source[i]


@answers.wrong(
    "each thread copies one element, and there are more elements than threads: go on in a loop."
)
def one_element_each(source: Any, target: Any) -> None:
    i = cuda.grid(1)
    if i < source.size:
        target[i] = source[i]


@answers.wrong(
    "that many rounds are not always enough: go on in steps of cuda.gridsize(1) until i reaches "
    "source.size."
)
def sixteen_rounds(source: Any, target: Any) -> None:
    i = cuda.grid(1)
    for _ in range(16):
        if i < source.size:
            target[i] = source[i]
        i += cuda.gridsize(1)


@answers.wrong(ONCE)
def every_block_copies_all(source: Any, target: Any) -> None:
    for i in range(cuda.threadIdx.x, source.size, cuda.blockDim.x):
        target[i] = source[i]


@answers.wrong(ONCE)
def steps_by_the_block(source: Any, target: Any) -> None:
    for i in range(cuda.grid(1), source.size, cuda.blockDim.x):
        target[i] = source[i]


@answers.wrong(
    "all blocks begin at the same elements: begin at the thread's number in the grid, which "
    "the block index is part of."
)
def block_ignored(source: Any, target: Any) -> None:
    threads = cuda.gridsize(1)
    for i in range(cuda.threadIdx.x, source.size, threads):
        target[i] = source[i]


@answers.wrong("one element too many: the last one has the index source.size - 1.")
def guard_off_by_one(source: Any, target: Any) -> None:
    for i in range(cuda.grid(1), source.size + 1, cuda.gridsize(1)):
        target[i] = source[i]


@answers.wrong("the last element is never copied: a range already stops before its end.")
def last_one_missing(source: Any, target: Any) -> None:
    for i in range(cuda.grid(1), source.size - 1, cuda.gridsize(1)):
        target[i] = source[i]


@answers.wrong(
    "the rest is missing: where the size is no multiple of the number of threads, some threads "
    "have one element more to copy."
)
def whole_rounds_only(source: Any, target: Any) -> None:
    threads = cuda.gridsize(1)
    for k in range(source.size // threads):
        i = cuda.grid(1) + k * threads
        target[i] = source[i]


@answers.wrong(
    "in the last round some threads have nothing left to copy: they need a guard, `if i < "
    "source.size`."
)
def last_round_unguarded(source: Any, target: Any) -> None:
    threads = cuda.gridsize(1)
    for k in range(source.size // threads + 1):
        i = cuda.grid(1) + k * threads
        target[i] = source[i]


@answers.wrong("every element gets the same value: the index of source has to go along.")
def constant(source: Any, target: Any) -> None:
    for i in range(cuda.grid(1), source.size, cuda.gridsize(1)):
        target[i] = source[0]


@answers.wrong("the copy stands back to front: read and write with the same index.")
def back_to_front(source: Any, target: Any) -> None:
    for i in range(cuda.grid(1), source.size, cuda.gridsize(1)):
        target[i] = source[source.size - 1 - i]


@answers.wrong("nothing is written to the elements of target.")
def empty(source: Any, target: Any) -> None:
    pass


@answers.right
def with_while(source: Any, target: Any) -> None:
    i = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    while i < target.size:
        target[i] = source[i]
        i += cuda.blockDim.x * cuda.gridDim.x


@answers.right
def rounds_with_a_guard(source: Any, target: Any) -> None:
    threads = cuda.gridsize(1)
    for first in range(0, source.size, threads):
        i = first + cuda.grid(1)
        if i < source.size:
            target[i] = source[i]


@answers.right
def from_the_far_end(source: Any, target: Any) -> None:
    for i in range(source.size - 1 - cuda.grid(1), -1, -cuda.gridsize(1)):
        target[i] = source[i]


@answers.right
def a_part_for_each_block(source: Any, target: Any) -> None:
    part = (source.size + cuda.gridDim.x - 1) // cuda.gridDim.x
    first = cuda.blockIdx.x * part
    for i in range(first + cuda.threadIdx.x, min(first + part, source.size), cuda.blockDim.x):
        target[i] = source[i]


EXERCISE = kernel_exercise(
    name="copy_coalesced",
    notebook="04_memory_coalescing",
    task="Copy source to target with fewer threads than elements, at 4 sectors per request.",
    reference=solution,
    cases=cases,
    expect=copied,
    answers=answers,
    budgets=(
        budgets.sectors_per_request(4, advice=SIDE_BY_SIDE),
        budgets.bytes_moved(lambda launch: 2 * launch.args[0].nbytes, advice=ONCE),
    ),
)
