"""What a guard costs, foreseen: blocks, idle threads, warps that diverge."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpulearn.judge import compare
from gpulearn.judge.answers import Answers
from gpulearn.judge.exercise import Case, Exercise
from gpulearn.kernels.indexing import guard_cost
from gpulearn.require import shown

answers = Answers(guard_cost)

PARTS = ("blocks", "idle threads", "warps that diverge")
PARTING = "idle > 0 and last % 32 > 0"


def cases() -> list[Case]:
    """Ends inside a warp, between two warps and between two blocks; blocks of odd sizes."""
    sizes = (
        *((500, 128), (480, 128), (512, 128), (513, 128), (1, 128), (127, 128), (100, 125)),
        *((80, 40), (72, 40), (75, 40), (96, 40), (3, 1), (20, 20), (1_000_000, 256)),
    )
    return [Case(f"n, block_size = {n}, {size}", (n, size)) for n, size in sizes]


answers.edit(
    {"(n + block_size - 1) // block_size": "n // block_size + 1"},
    "a block too many where block_size divides n: 512 elements fill 4 blocks of 128.",
)
answers.edit(
    {"blocks * block_size - n": "n % block_size"},
    "n % block_size is how many threads of the last block have an element, not how many have none.",
)
answers.edit(
    {
        "blocks * block_size - n": "block_size - n % block_size",
        "last = block_size - idle": "last = n",
    },
    "where block_size divides n, every thread has an element: block_size - n % block_size is then "
    "a whole block.",
)
answers.edit(
    {PARTING: "idle > 0"},
    "threads without an element need not make a warp diverge: where the end lies between two "
    "warps, all lanes of each agree.",
)
answers.edit(
    {PARTING: "n % 32 > 0"},
    "n % 32 takes the warps for numbered through: each block begins with a new warp, so what "
    "counts is the threads of the last block.",
)
answers.edit(
    {PARTING: "last % 32 > 0"},
    "where every thread of the last block has an element, no warp diverges, not even one of fewer "
    "than 32 lanes: lanes that do not exist do not disagree.",
)
answers.edit(
    {PARTING: "idle % 32 > 0"},
    "idle % 32 counts warps from the end of the block: its last warp may have fewer than 32 lanes.",
)
answers.edit(
    {"int(parting)": "-(-idle // 32)"},
    "that is how many warps hold the idle threads: a warp in which all are idle does not diverge.",
)
answers.edit(
    {"int(parting)": "blocks * parting"},
    "only the last block holds the end of the data: in the others every thread has an element.",
)
answers.edit(
    {"return blocks, idle": "return blocks * block_size, idle"},
    "the first number is that of all threads: count the blocks.",
)
answers.edit(
    {"int(parting)": "idle * parting"},
    "that is how many lanes sit the line out: count the warps.",
)
answers.edit(
    {"blocks, idle, int(parting)": "blocks, -(-idle // 32), int(parting)"},
    "the second number is that of warps: count the threads that have no element.",
)


@answers.right
def warp_by_warp(n: int, block_size: int) -> tuple[int, int, int]:
    blocks = (n + block_size - 1) // block_size
    parting = 0
    for first in range(0, block_size, 32):  # of the last block
        lanes = range(first, min(first + 32, block_size))
        inside = sum((blocks - 1) * block_size + lane < n for lane in lanes)
        parting += 0 < inside < len(lanes)
    return blocks, blocks * block_size - n, parting


@answers.right
def by_remainder(n: int, block_size: int) -> tuple[int, int, int]:
    whole, rest = divmod(n, block_size)
    if rest == 0:
        return whole, 0, 0
    return whole + 1, block_size - rest, 1 if rest % 32 else 0


def difference(got: Any, expected: Any) -> str | None:
    """How three numbers differ, by the name of the first that does."""
    if got is None:
        return compare.NOTHING
    if isinstance(got, np.ndarray) and got.ndim == 1:
        got = got.tolist()
    if not isinstance(got, tuple | list) or len(got) != len(PARTS):
        return f"it returns {shown(got)}: return three numbers, {', '.join(PARTS)}"
    for name, one, wanted in zip(PARTS, got, expected, strict=True):
        if compare.numbers_or_none(int(one) if isinstance(one, bool) else one, wanted):
            return f"it returns {shown(one)} for the {name}, expected {wanted}"
    return None


EXERCISE = Exercise(
    task="Say how many blocks a launch needs, how many threads idle, how many warps diverge.",
    reference=guard_cost,
    cases=cases,
    difference=difference,
    answers=answers,
)
