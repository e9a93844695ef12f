"""The sectors of a request, foreseen from steps in bytes and the width of a block."""

from __future__ import annotations

import math
from itertools import pairwise

from gpulearn.judge.answers import Answers
from gpulearn.judge.exercise import Case, Exercise
from gpulearn.kernels.indexing import sectors_of_a_warp

answers = Answers(sectors_of_a_warp)

BYTE = "start + x * step_x + y * step_y"


def cases() -> list[Case]:
    """Rows and columns of pictures, records, gaps, shifts, backwards, one for all; wide blocks."""
    found = (
        *((0, 4, 2048, 32), (0, 2048, 4, 32), (0, 2048, 4, 16), (0, 2048, 4, 8), (0, 2048, 4, 4)),
        *((0, 4, 2048, 16), (0, 4, 2048, 4), (0, 4, 100, 8), (16, 4, 100, 8), (0, 12, 6144, 32)),
        *((4, 4, 0, 64), (32, 4, 0, 64), (0, 24, 0, 128), (8, 24, 0, 32), (124, -4, 0, 32)),
        *((0, 1, 480, 32), (8, 8, 4096, 16), (0, 0, 0, 32), (0, 0, 64, 8), (4, 32, 0, 32)),
        *((12, -4, 2048, 32), (8, 4, -48, 8), (0, 4, 2048, 24)),
    )
    names = "start, step_x, step_y, block_x"
    return [Case(f"{names} = {', '.join(map(str, one))}", one) for one in found]


answers.edit(
    {"start + ": ""}, "start is left out: a request that begins inside a sector may need one more."
)
answers.edit(
    {BYTE: "start + lane * step_x"},
    "only x is looked at: in a block of 16 threads in x, lanes 16 to 31 have y = 1.",
)
answers.edit(
    {"y, x = divmod": "x, y = divmod"},
    "x and y are swapped: x runs fastest, so lane % block_x is x and lane // block_x is y.",
)
answers.edit(
    {f"({BYTE}) // 32": BYTE},
    "those are the different numbers that are read: numbers in one sector come together.",
)
answers.edit(
    {f"({BYTE}) // 32": f"int(({BYTE}) / 32)"},
    "int() rounds towards 0, so that bytes before the sector of the start count as if they lay in "
    "it: // rounds down.",
)
answers.edit({"// 32": "// 128"}, "those are pieces of 128 bytes: a sector has 32.")
answers.edit(
    {"return len(touched)": "return max(touched) - min(touched) + 1"},
    "that counts the sectors between the first and the last as well: only those count in which a "
    "lane reads.",
)
answers.edit(
    {"return len(touched)": "return min(32, max(1, step_x))"},
    "that holds for one row of float32 that begins with a sector: y, step_y and start count too.",
)
answers.edit({"return len(touched)": "return 4"}, "4 is the best case for float32, not every case.")
answers.edit(
    {"range(32)": "range(block_x)"},
    "a warp has 32 lanes, whatever the width of the block: go through lanes 0 to 31.",
)
answers.edit(
    {"range(32)": "range(32 // block_x * block_x or 32)"},
    "the last row of the warp is missing where it is not whole: a block 24 wide gives the warp a "
    "row of 24 lanes and 8 lanes of the next.",
)
answers.edit(
    {"touched = set()": "touched = []", "touched.add(": "touched.append("},
    "that counts each lane: a sector that several lanes want is asked for once.",
)
answers.edit(
    {"return len(touched)": "return len(touched) * 32"}, "those are bytes: count the sectors."
)
answers.edit({"step_y) //": "step_y) * 4 //"}, "the steps are in bytes already: no factor of 4.")


@answers.right
def sorted_and_compared(start: int, step_x: int, step_y: int, block_x: int) -> int:
    places = sorted(
        (start + lane % block_x * step_x + lane // block_x * step_y) // 32 for lane in range(32)
    )
    return 1 + sum(b > a for a, b in pairwise(places))


@answers.right
def marked(start: int, step_x: int, step_y: int, block_x: int) -> int:
    seen: dict[int, bool] = {}
    for y in range(math.ceil(32 / block_x)):
        for x in range(block_x):
            if y * block_x + x < 32:
                seen[start + x * step_x + y * step_y >> 5] = True
    return sum(seen.values())


EXERCISE = Exercise(
    task="Say how many sectors the first warp of a block asks for with one request.",
    reference=sectors_of_a_warp,
    cases=cases,
    answers=answers,
)
