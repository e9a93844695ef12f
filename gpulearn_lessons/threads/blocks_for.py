"""The number of blocks of a launch."""

from __future__ import annotations

import math

import numpy as np

from gpulearn.judge.answers import Answers
from gpulearn.judge.exercise import Case, Exercise
from gpulearn.kernels.indexing import blocks_for

answers = Answers(blocks_for)

ROUNDED_UP = "(n + block_size - 1) // block_size"


def cases() -> list[Case]:
    """Sizes that a block divides and that none does, of 7 digits and more, and beyond 32 bits."""
    sizes = (
        *((500, 128), (512, 128), (513, 128), (1, 128), (127, 128), (320, 32), (7, 3)),
        *((1000, 1), (5, 5), (1025, 1024), (2**24 + 1, 128)),
        *((2**31 - 1, 1024), (2**32 + 1, 1024)),
    )
    return [Case(f"n, block_size = {n}, {size}", (n, size)) for n, size in sizes]


answers.edit(
    {"(n + block_size - 1)": "n"}, "it rounds down, so the last elements have no thread: round up."
)
answers.edit(
    {ROUNDED_UP: "n // block_size + 1"},
    "a block too many where block_size divides n: 512 elements fill 4 blocks of 128.",
)
answers.edit(
    {ROUNDED_UP: "round(n / block_size)"}, "it rounds to the nearest, which may be down: round up."
)
answers.edit(
    {ROUNDED_UP: "n / block_size"},
    "that is a fraction of a block: a launch needs whole ones, rounded up.",
)
answers.edit({"//": "/"}, "/ gives a fraction even of a sum that was made for rounding: use //.")
answers.edit(
    {ROUNDED_UP: "n % block_size"},
    "that is how many elements are left over, not how many blocks there are.",
)
answers.edit(
    {"// block_size": "// block_size * block_size"},
    "that is how many threads the blocks have together: count the blocks.",
)
answers.edit(
    {"n + block_size - 1": "n - 1"},
    "that is one less: the last block, counted from 0, and not how many there are.",
)
answers.edit({ROUNDED_UP: "(block_size + n - 1) // n"}, "n and block_size have changed places.")
answers.edit(
    {"- 1": "- 2"},
    "one too little is added before the division: a single element over needs a block of its own.",
)
answers.edit(
    {ROUNDED_UP: "max(1, n // block_size)"},
    "at least one block is right, but above that it rounds down: round up.",
)
answers.edit(
    {ROUNDED_UP: "(n + 127) // 128"}, "the size of a block is not always 128: divide by block_size."
)


answers.edit(
    {ROUNDED_UP: "int(n / block_size + 0.999)"},
    "0.999 is not enough: a single element of a block of 1,024 is less than 0.001 of it.",
)


@answers.wrong("a float32 has 7 digits, too few for this many elements: use whole numbers.")
def in_float32(n: int, block_size: int) -> float:
    return math.ceil(np.float32(n) / np.float32(block_size))


@answers.wrong("the sum overflows 32 bits: use Python's own integers.")
def int32(n: int, block_size: int) -> float:
    with np.errstate(over="ignore"):
        wrapped = np.array([n]).astype(np.int32) + np.int32(block_size - 1)
    return int(wrapped[0] // block_size)


@answers.right
def counted_up(n: int, block_size: int) -> float:
    count = 0
    for _ in range(0, n, block_size):
        count += 1
    return count


@answers.right
def negated(n: int, block_size: int) -> float:
    return -(-n // block_size)


@answers.right
def by_ceil(n: int, block_size: int) -> float:
    return math.ceil(n / block_size)


@answers.right
def by_remainder(n: int, block_size: int) -> float:
    full, rest = divmod(n, block_size)
    return full + (rest > 0)


@answers.right
def from_the_last(n: int, block_size: int) -> float:
    return 1 + (n - 1) // block_size


EXERCISE = Exercise(
    task="Count the blocks that n elements need.",
    reference=blocks_for,
    cases=cases,
    answers=answers,
)
