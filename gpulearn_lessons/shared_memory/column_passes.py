"""The passes in which a warp reads columns of a tile, foreseen from its shape."""

from __future__ import annotations

import math

from gpulearn.judge.answers import Answers
from gpulearn.judge.exercise import Case, Exercise
from gpulearn.kernels.transpose_tiled import column_passes

answers = Answers(column_passes)


def cases() -> list[Case]:
    """Tiles of one column for a warp and of several, with and without room between rows."""
    shapes = (
        *((32, 32), (32, 33), (32, 34), (32, 36), (32, 40), (32, 48)),
        *((16, 16), (16, 17), (16, 18), (16, 20), (16, 24), (16, 32)),
        *((8, 8), (8, 9), (8, 10), (8, 12), (8, 32), (8, 64), (8, 33), (8, 11)),
    )
    return [Case(f"side, width = {side}, {width}", (side, width)) for side, width in shapes]


@answers.wrong(
    "that is right for blocks of 32 × 32 threads. In a smaller block a warp has several rows of "
    "threads, and reads several columns at once."
)
def for_whole_columns(side: int, width: int) -> int:
    return math.gcd(width, 32)


answers.edit(
    {"return max(len(words) for words in words_of_bank)": (
        "return max(len(words) for words in words_of_bank) - 1"
    )},
    "those are the conflicts: the first pass is not among them, so add 1.",
)  # fmt: skip
answers.edit(
    {"tx, ty = lane % side, lane // side": "tx, ty = lane // side, lane % side"},
    "that is the request that fills tile[ty, tx], row by row. Asked is the one that reads "
    "tile[tx, ty]: neighbouring lanes stand in neighbouring rows of the tile.",
)
answers.edit(
    {"word = tx * width + ty": "word = tx * side + ty"},
    "rows of the tile are taken to lie side words apart: they lie width words apart.",
)
answers.edit(
    {"tx, ty = lane % side, lane // side": "tx, ty = lane % side, 0"},
    "that counts the words of column 0 alone: from lane `side` on, lanes read the next column.",
)
answers.edit(
    {"range(32)]": "range(side)]", "word % 32": "word % side"},
    "shared memory has 32 banks, whatever the shape of the block.",
)
answers.edit(
    {"return max(len(words) for words in words_of_bank)": (
        "return sum(len(words) for words in words_of_bank)"
    )},
    "that is how many words are read. All banks give a word in each pass: the busiest one decides.",
)  # fmt: skip
answers.edit(
    {"return max(len(words) for words in words_of_bank)": (
        "return sum(1 for words in words_of_bank if words)"
    )},
    "that is how many banks are read. The more of them, the fewer passes it takes.",
)  # fmt: skip
answers.edit(
    {"range(32):\n        tx": "range(side * side):\n        tx"},
    "those are the words of the whole block: a request is made by one warp, 32 lanes.",
)


@answers.wrong(
    "that deals the words out evenly among the banks that are read: the busiest one decides, and "
    "it may have more than the others."
)
def as_if_dealt_out_evenly(side: int, width: int) -> int:
    return -(-32 // len({(lane % side * width + lane // side) % 32 for lane in range(32)}))


@answers.wrong("padding by one word is not always enough, nor is it the only one that is.")
def by_one_word(side: int, width: int) -> int:
    return 1 if width == side + 1 else side


@answers.right
def counted(side: int, width: int) -> int:
    words = [lane % side * width + lane // side for lane in range(32)]
    banks = [word % 32 for word in dict.fromkeys(words)]
    return max(banks.count(bank) for bank in banks)


@answers.right
def taken_away_pass_by_pass(side: int, width: int) -> int:
    waiting = {lane % side * width + lane // side for lane in range(32)}
    passes = 0
    while waiting:
        waiting -= set({word % 32: word for word in waiting}.values())
        passes += 1
    return passes


EXERCISE = Exercise(
    task="Foresee in how many passes a warp reads tile[tx, ty], for a block of side × side.",
    reference=column_passes,
    cases=cases,
    answers=answers,
)
