"""The number of a thread in the whole grid."""

from __future__ import annotations

import numpy as np

from gpulearn.checker.answers import Answers
from gpulearn.checker.exercise import Case, Exercise
from gpulearn.kernels.indexing import global_index

__all__ = ["EXERCISE"]

answers = Answers()


def cases() -> list[Case]:
    """Numbers that tell all three apart, the two ends of a grid, and one beyond 32 bits."""
    all_numbers = ((2, 125, 7), (0, 128, 31), (3, 32, 0), (0, 64, 0), (5, 3, 2), (2**24, 1024, 5))
    return [
        Case(f"block, block_size, thread = {b}, {n}, {t}", (b, n, t)) for b, n, t in all_numbers
    ]


@answers.wrong("the block is never used, so every block would do the same elements.")
def thread_alone(block: int, block_size: int, thread: int) -> float:
    return thread


@answers.wrong("the thread is never used, so all threads of a block would do the same element.")
def block_alone(block: int, block_size: int, thread: int) -> float:
    return block * block_size


@answers.wrong(
    "neighbouring blocks would overlap: before block 2 there are two whole blocks of threads, "
    "not two threads."
)
def without_the_size(block: int, block_size: int, thread: int) -> float:
    return block + thread


@answers.wrong("block and thread have changed places: it is the block that is multiplied.")
def swapped(block: int, block_size: int, thread: int) -> float:
    return thread * block_size + block


@answers.wrong("the block's size is added and the thread multiplied: it is the other way round.")
def size_added(block: int, block_size: int, thread: int) -> float:
    return block * thread + block_size


@answers.wrong("the block is counted from 1: the first block is block 0.")
def block_from_one(block: int, block_size: int, thread: int) -> float:
    return (block - 1) * block_size + thread


@answers.wrong("one block too far: before block 0 there is no block.")
def block_too_far(block: int, block_size: int, thread: int) -> float:
    return (block + 1) * block_size + thread


@answers.wrong("one too many: thread 0 of block 0 does element 0.")
def one_too_many(block: int, block_size: int, thread: int) -> float:
    return block * block_size + thread + 1


@answers.wrong("one too few: the thread is counted from 0 already.")
def one_too_few(block: int, block_size: int, thread: int) -> float:
    return block * block_size + thread - 1


@answers.wrong("the thread is multiplied as well: it counts single elements.")
def both_multiplied(block: int, block_size: int, thread: int) -> float:
    return (block + thread) * block_size


@answers.wrong("the sum is done before the product: the thread is added last.")
def sum_first(block: int, block_size: int, thread: int) -> float:
    return block * (block_size + thread)


@answers.wrong("all three are multiplied: the thread is added.")
def product_of_all(block: int, block_size: int, thread: int) -> float:
    return block * block_size * thread


@answers.wrong("a block has block_size threads, and so has block 0: nothing is taken off the size.")
def size_less_one(block: int, block_size: int, thread: int) -> float:
    return block * (block_size - 1) + thread


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
    name="global_index",
    notebook="03_threads_blocks_grids",
    task="Say which number a thread has in the whole grid.",
    reference=global_index,
    cases=cases,
    answers=answers,
)
