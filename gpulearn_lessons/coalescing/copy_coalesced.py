"""A coalesced copy of many elements by few threads, the lanes of a warp side by side."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpulearn import cuda
from gpulearn.judge import budgets
from gpulearn.judge.answers import Answers
from gpulearn.judge.kernel_exercise import SHARE, Launch, kernel_exercise
from gpulearn.kernels.copies import COPY_COALESCED, copy_coalesced, copy_in_runs

SIDE_BY_SIDE = (
    "Let the 32 lanes of a warp copy 32 neighbours in each round: begin at the thread's own "
    "number, and go on by as many elements as the grid has threads."
)
ONCE = (
    "Each element is to be read once and written once, by one thread, which goes on by the number "
    "of threads in the whole grid."
)

answers = Answers(copy_coalesced)


def cases() -> list[Launch]:
    """Few threads, many threads, one element, no whole number of rounds or of warps.

    What is measured has a last round for a part of the threads, which one of them could take over.
    """
    rng = np.random.default_rng(4)

    def launch(n: int, grid: int, block: int) -> Launch:
        source = rng.normal(size=n).astype(np.float32)
        label = f"{n:,} element{'s' * (n > 1)}, {grid} × {block} threads"
        args, measured = (source, np.empty_like(source)), n == 3840
        return Launch.of(COPY_COALESCED, label, *args, grid=grid, block=block, measured=measured)

    shapes = (
        *((1700, 1, 64), (97, 1, 128), (5, 2, 32), (1, 1, 32), (500, 3, 40), (70, 7, 10)),
        (90, 1, 20),
        (3840, 4, 128),
    )
    return [launch(*shape) for shape in shapes]


answers.wrong(SIDE_BY_SIDE)(copy_in_runs)


@answers.wrong(SIDE_BY_SIDE)
def two_neighbours_each(source: Any, target: Any) -> None:
    start = cuda.grid(1)
    threads = cuda.gridsize(1)
    for i in range(2 * start, source.size, 2 * threads):
        target[i] = source[i]
        if i + 1 < source.size:
            target[i + 1] = source[i + 1]


answers.edit({"cuda.grid(1)": "cuda.threadIdx.x * cuda.gridDim.x + cuda.blockIdx.x"}, SIDE_BY_SIDE)
answers.edit(
    {"for i in range(start, source.size, threads):": "i = start\n    if i < source.size:"},
    "each thread copies one element, and there are more elements than threads: go on in a loop.",
)


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


answers.edit({"cuda.grid(1)": "cuda.threadIdx.x", "cuda.gridsize(1)": "cuda.blockDim.x"}, ONCE)
answers.edit({"cuda.gridsize(1)": "cuda.blockDim.x"}, ONCE)
answers.edit(
    {"cuda.grid(1)": "cuda.threadIdx.x"},
    "all blocks begin at the same elements: begin at the thread's number in the grid, which "
    "the block index is part of.",
)
answers.edit(
    {"source.size": "source.size + 1"},
    "one element too many: the last one has the index source.size - 1.",
)
answers.edit(
    {"source.size": "source.size - 1"},
    "the last element is never copied: a range already stops before its end.",
)


@answers.wrong(
    "the rest is missing: where the size is no multiple of the number of threads, some threads "
    "have one element more to copy."
)
def whole_rounds_only(source: Any, target: Any) -> None:
    threads = cuda.gridsize(1)
    for k in range(source.size // threads):
        i = cuda.grid(1) + k * threads
        target[i] = source[i]


answers.edit(
    {"source.size // threads": "source.size // threads + 1"},
    "in the last round some threads have nothing left to copy: they need a guard, `if i < "
    "source.size`.",
    of=whole_rounds_only,
)
answers.edit(
    {"        target[i] = source[i]": """        target[i] = source[i]
    if cuda.grid(1) == threads - 1:
        for i in range(source.size // threads * threads, source.size):
            target[i] = source[i]"""},
    SHARE,
    of=whole_rounds_only,
)  # fmt: skip
answers.edit(
    {"= source[i]": "= source[0]"},
    "every element gets the same value: the index of source has to go along.",
)
answers.edit(
    {"= source[i]": "= source[source.size - 1 - i]"},
    "the copy stands back to front: read and write with the same index.",
)


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


answers.variant({"start, source.size, threads": "source.size - 1 - start, -1, -threads"})


@answers.right
def a_part_for_each_block(source: Any, target: Any) -> None:
    part = (source.size + cuda.gridDim.x - 1) // cuda.gridDim.x
    first = cuda.blockIdx.x * part
    for i in range(first + cuda.threadIdx.x, min(first + part, source.size), cuda.blockDim.x):
        target[i] = source[i]


EXERCISE = kernel_exercise(
    COPY_COALESCED,
    task="Copy source to target with fewer threads than elements, at 4 sectors per request.",
    cases=cases,
    answers=answers,
    budgets=(
        budgets.sectors_per_request(4, advice=SIDE_BY_SIDE),
        budgets.accesses(lambda launch: launch.args[0].size, of=0, advice=ONCE),
        budgets.accesses(lambda launch: launch.args[1].size, of=1, advice=ONCE),
    ),
)
