"""The index of a thread in the whole grid."""

from __future__ import annotations

import numpy as np

from gpulearn.judge.answers import Answers
from gpulearn.judge.exercise import Case, Exercise
from gpulearn.kernels.indexing import global_index

answers = Answers(global_index)

INDEX = "block * block_size + thread"


def cases() -> list[Case]:
    """Numbers that tell all three apart, the two ends of a grid, and one beyond 32 bits."""
    all_numbers = (
        *((2, 125, 7), (0, 128, 31), (3, 32, 0), (0, 64, 0), (5, 3, 2), (2**24, 1024, 5)),
        (4, 128, 100),
    )
    return [
        Case(f"block, block_size, thread = {b}, {n}, {t}", (b, n, t)) for b, n, t in all_numbers
    ]


answers.edit(
    {"block * block_size + ": ""},
    "the block is never used, so every block would do the same elements.",
)
answers.edit(
    {" + thread": ""},
    "the thread is never used, so all threads of a block would do the same element.",
)
answers.edit(
    {" * block_size": ""},
    "neighbouring blocks would overlap: before block 2 there are two whole blocks of threads, "
    "not two threads.",
)
answers.edit(
    {INDEX: "thread * block_size + block"},
    "block and thread have changed places: it is the block that is multiplied.",
)
answers.edit(
    {INDEX: "block * thread + block_size"},
    "the block's size is added and the thread multiplied: it is the other way round.",
)
answers.edit(
    {"block *": "(block - 1) *"}, "the block is counted from 1: the first block is block 0."
)
answers.edit({"block *": "(block + 1) *"}, "one block too far: before block 0 there is no block.")
answers.edit({"+ thread": "+ thread + 1"}, "one too many: thread 0 of block 0 does element 0.")
answers.edit({"+ thread": "+ thread - 1"}, "one too few: the thread is counted from 0 already.")
answers.edit(
    {INDEX: "(block + thread) * block_size"},
    "the thread is multiplied as well: it counts single elements.",
)
answers.edit(
    {INDEX: "block * (block_size + thread)"},
    "the sum is done before the product: the thread is added last.",
)
answers.edit({"+": "*"}, "all three are multiplied: the thread is added.")
answers.edit(
    {"* block_size": "* (block_size - 1)"},
    "a block has block_size threads, and so has block 0: nothing is taken off the size.",
)


@answers.wrong("the index overflows 32 bits: use Python's own integers.")
def int32(block: int, block_size: int, thread: int) -> float:
    with np.errstate(over="ignore"):
        return int(np.int32(block) * np.int32(block_size) + np.int32(thread))


@answers.right
def other_order(block: int, block_size: int, thread: int) -> float:
    return thread + block_size * block


@answers.right
def by_adding(block: int, block_size: int, thread: int) -> float:
    first = range(0, (block + 1) * block_size, block_size)[block]
    return first + thread


@answers.right
def as_row_and_column(block: int, block_size: int, thread: int) -> float:
    return int(np.ravel_multi_index((block, thread), (block + 1, block_size)))


EXERCISE = Exercise(
    task="Say which number a thread has in the whole grid.",
    reference=global_index,
    cases=cases,
    answers=answers,
)
