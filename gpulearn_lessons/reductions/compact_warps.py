"""Compaction within each warp: given right and slow, to be brought under a budget by a vote."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpulearn import cuda
from gpulearn.judge import budgets
from gpulearn.judge.answers import Answers
from gpulearn.judge.kernel_exercise import Launch, kernel_exercise
from gpulearn.kernels.reduction import FULL_WARP, WARP
from gpulearn_lessons.reductions.compaction import COMPACT_WARPS, compact_warps

VOTE = (
    "Let each lane read its own value once, and ask the others by a vote: cuda.ballot_sync gives "
    "all 32 answers as the bits of one number, and cuda.popc counts them."
)
REGISTERS = "The lanes of a warp can vote without shared memory and without a barrier."
QUEUE = "The lanes queue for one counter: by a vote each can count those before it by itself."

answers = Answers(compact_warps)

# what stands in the solution
BODY = """\
    wanted = i < values.size and values[i] > limit
    votes = cuda.ballot_sync(FULL_WARP, wanted)
    before = cuda.popc(votes & ((1 << lane) - 1))
    if wanted:
        kept[i - lane + before] = values[i]
    if lane == 0 and i < values.size:
        counts[i // WARP] = cuda.popc(votes)"""
SLOW = """\
    before, all_of_them = 0, 0
    for k in range(i - lane, min(i - lane + WARP, values.size)):
        if values[k] > limit:
            all_of_them += 1
            if k < i:
                before += 1
    if i < values.size and values[i] > limit:
        kept[i - lane + before] = values[i]
    if lane == 0 and i < values.size:
        counts[i // WARP] = all_of_them"""
LOWER = "votes & ((1 << lane) - 1)"

answers.give({BODY: SLOW})


def cases() -> list[Launch]:
    """A last warp in part, warps with nothing to do; all wanted, none, every second."""
    rng = np.random.default_rng(7)
    shapes = ((200, 128, 0.375, 0), (256, 64, 0.5, 0), (33, 32, -1.0, 1), (64, 96, 1.0, 0))
    made = []
    for n, block, limit, spare in (*shapes, (1, 32, -1.0, 0)):
        values = (rng.integers(0, 9, n) / 8).astype(np.float32)  # some equal the limit
        counts = np.empty(-(-n // WARP), np.int32)
        args = (values, np.float32(limit), np.zeros(n, np.float32), counts)
        grid = -(-n // block) + spare
        label = f"{n} values in {grid} block{'s' * (grid > 1)} of {block}, limit {limit:g}"
        made.append(
            Launch.of(COMPACT_WARPS, label, *args, grid=grid, block=block, measured=n == 256)
        )
    return made


def requests(launch: Launch) -> int:
    """Of each warp: its values, perhaps once more for those that are kept, and two stores."""
    return 5 * -(-int(launch.args[0].size) // WARP)


answers.edit({BODY: SLOW}, VOTE)
answers.edit(
    {LOWER: "votes"},
    "before counts all votes of the warp, and every lane gets the same place: count those of the "
    "lanes below alone.",
)
answers.edit(
    {"(1 << lane) - 1": "(2 << lane) - 1"},
    "a lane counts its own vote too, and place 0 stays empty: the bits below bit `lane` are "
    "(1 << lane) − 1.",
)
answers.edit(
    {LOWER: "votes >> lane"},
    "those are the votes of the lanes from this one on: the ones before it are the lower bits.",
)
answers.edit(
    {LOWER: "(1 << lane) - 1"},
    "each value stays in its own place: count the lanes below that have voted yes, not all.",
)
answers.edit(
    {"[i - lane + before]": "[before]"},
    "all warps store from place 0 on: the places of a warp begin at i − lane.",
)
answers.edit(
    {"wanted = i < values.size and values[i] > limit": "wanted = values[i] > limit"},
    "lanes beyond the end read a value that does not exist: they vote no without reading.",
)
answers.edit(
    {"values[i] > limit": "values[i] >= limit"},
    "what equals the limit is kept as well: what is kept is larger.",
)
answers.edit(
    {"cuda.popc(votes)": "votes"},
    "that is the votes themselves, read as one number: cuda.popc counts the bits that are set.",
)
answers.edit(
    {"lane == 0 and i < values.size": "cuda.threadIdx.x == 0 and i < values.size"},
    "only the first warp of a block stores its count: lane 0 of each warp does.",
)
answers.edit(
    {"lane == 0 and i < values.size": "wanted"},
    "a warp in which nothing is wanted stores no count: let lane 0 store it, wanted or not.",
)
answers.edit(
    {"FULL_WARP, wanted": "0xFFFF, wanted"},
    "the mask of the vote must name all 32 lanes that call it: 0xFFFFFFFF.",
)


@answers.wrong("nothing is written: kept and counts are left as they were.")
def empty(values: Any, limit: Any, kept: Any, counts: Any) -> None:
    pass


@answers.wrong(REGISTERS)
def by_shared_memory(values: Any, limit: Any, kept: Any, counts: Any) -> None:
    wishes = cuda.shared.array(128, np.int32)
    t, i = cuda.threadIdx.x, cuda.grid(1)
    wanted = i < values.size and values[i] > limit
    wishes[t] = 1 if wanted else 0
    cuda.syncwarp()
    before, together = 0, 0
    for k in range(WARP):
        vote = wishes[t - t % WARP + k]
        together += vote
        before += vote if k < t % WARP else 0
    if wanted:
        kept[i - t % WARP + before] = values[i]
    if t % WARP == 0 and i < values.size:
        counts[i // WARP] = together


@answers.wrong(VOTE)
def lane_by_lane(values: Any, limit: Any, kept: Any, counts: Any) -> None:
    i, lane = cuda.grid(1), cuda.laneid
    mine = values[i] if i < values.size else limit
    wish = 1 if mine > limit else 0
    before, together = 0, 0
    for k in range(WARP):
        other = cuda.shfl_sync(FULL_WARP, wish, k)
        together += other
        before += other if k < lane else 0
    if wish:
        kept[i - lane + before] = mine
    if lane == 0 and i < values.size:
        counts[i // WARP] = together


# a vote asks nobody who has left
answers.variant({"    wanted = i": "    if i >= values.size:\n        return\n    wanted = i"})
answers.variant(
    {
        "before = cuda.popc(votes & ((1 << lane) - 1))": (
            "mine = values[i] if wanted else np.float32(0)\n"
            "    before = cuda.popc(votes & (0xFFFFFFFF >> (32 - lane))) if lane > 0 else 0"
        ),
        "] = values[i]": "] = mine",
    }
)


@answers.right
def by_shuffles(values: Any, limit: Any, kept: Any, counts: Any) -> None:
    i, lane = cuda.grid(1), cuda.threadIdx.x % 32
    mine = np.float32(0)
    here = i < values.size
    if here:
        mine = values[i]
    vote = 1 if here and mine > limit else 0
    so_far = vote
    for step in (1, 2, 4, 8, 16):
        other = cuda.shfl_up_sync(FULL_WARP, so_far, step)
        if lane >= step:
            so_far += other
    if vote:
        kept[i // 32 * 32 + so_far - 1] = mine
    whole = cuda.shfl_sync(FULL_WARP, so_far, 31)
    if lane == 0 and here:
        counts[i // 32] = whole


EXERCISE = kernel_exercise(
    COMPACT_WARPS,
    task="Bring the kernel under its budget: each warp reads its values once, and votes.",
    cases=cases,
    answers=answers,
    alone=VOTE,
    budgets=(
        budgets.atomics(lambda launch: 0, of=3, advice=QUEUE),
        budgets.shared_passes(0, advice=REGISTERS),
        budgets.barriers(0, advice=REGISTERS),
        budgets.requests(requests, advice=VOTE),
        budgets.instructions(60, advice=VOTE),  # a scan by five shuffles takes 33
    ),
)
