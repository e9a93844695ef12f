"""How many warps a multiprocessor holds, for blocks of any size."""

from __future__ import annotations

from gpulearn.judge.answers import Answers
from gpulearn.judge.exercise import Case, Exercise
from gpulearn.perf.gpus import GPUS
from gpulearn.perf.occupancy import warps_held

answers = Answers(warps_held)

HELD = "min(most_threads // 32 // warps, most_blocks)"
WARPS, ROUND_UP = "(block_size + 31) // 32", "a block of 33 threads has two warps: round up."
FITS = "most_threads // 32 // warps"
BY_THREADS = {FITS: "most_threads // block_size"}
PARTS_OF_WARPS = (
    "that counts parts of warps: of 33 threads a block has two warps, and the second takes the "
    "room of a full one."
)


def cases() -> list[Case]:
    """Blocks that fill a multiprocessor, leave a rest, are many, or too large; odd sizes."""
    found = []
    for gpu in ("T4", "RTX 4090", "H100"):
        one = GPUS[gpu].multiprocessor
        for size in (32, 33, 96, 100, 256, 512, 1024):
            label = (
                f"blocks of {size} on the {gpu}, {one.threads:,} threads and {one.blocks} blocks"
            )
            found.append(Case(label, (size, one.threads, one.blocks)))
    large = Case("blocks of 1024 where 768 threads have room", (1024, 768, 8))
    return [*found, Case("one block of 7 threads", (7, 1024, 1)), large]


answers.edit(
    {HELD: FITS},
    "a multiprocessor holds at most most_blocks blocks, however small they are.",
)
answers.edit(
    {HELD: "most_blocks"},
    "that many blocks may have more threads than it holds: most_threads is a limit too.",
)
answers.edit({WARPS: "max(1, block_size // 32)"}, ROUND_UP)
answers.edit({WARPS: "block_size // 32"}, ROUND_UP)
answers.edit({WARPS: "block_size // 32", **BY_THREADS}, ROUND_UP)
answers.edit({WARPS: "max(1, block_size // 32)", **BY_THREADS}, ROUND_UP)
answers.edit({WARPS: "block_size / 32"}, PARTS_OF_WARPS)
answers.edit({WARPS: "block_size / 32", **BY_THREADS}, PARTS_OF_WARPS)
answers.edit(
    {WARPS: "block_size // 32 + 1"},
    "a block of 32 threads has one warp: one more is needed only where threads are left over.",
)
answers.edit(
    BY_THREADS,
    "a warp that is not full takes the room of a full one: of 100 threads a block has 4 warps, "
    "and takes the room of 128.",
)
answers.edit(
    {"return blocks * warps": "return blocks"}, "that is how many blocks: count the warps."
)
answers.edit(
    {"return blocks * warps": "return blocks * warps * 32"},
    "that is how many threads there is room for: count the warps.",
)
answers.edit(
    {"return blocks * warps": "return blocks * block_size // 32"},
    "a warp that is not full is a warp too: each block has block_size / 32 of them, rounded up.",
)
answers.edit(
    {"return blocks * warps": "return min(most_threads // 32, most_blocks * warps)"},
    "a block is held whole or not at all: 1,536 threads hold one block of 1,024, and no half one.",
)
answers.edit(
    {"return blocks * warps": "return blocks * warps / (most_threads // 32)"},
    "that is the occupancy, a share: return the number of warps.",
)
answers.edit(
    {"return blocks * warps": "return most_threads // 32"},
    "that is what it could hold at best: blocks of this size may leave room that none fits into.",
)
answers.edit(
    {HELD: "max(most_threads // 32 // warps, most_blocks)"},
    "both limits hold at once: the smaller number of blocks counts.",
)
answers.edit(
    {HELD: f"max(1, {HELD})"},
    "where not even one block has room, none is held: that is 0 warps.",
)


@answers.right
def one_after_the_other(block_size: int, most_threads: int, most_blocks: int) -> int:
    warps, free, held = (block_size + 31) // 32, most_threads // 32, 0
    while held < most_blocks and free >= warps:
        free, held = free - warps, held + 1
    return most_threads // 32 - free


@answers.right
def by_room(block_size: int, most_threads: int, most_blocks: int) -> int:
    room = (block_size + 31) // 32 * 32
    return min(most_threads // room, most_blocks) * room // 32


EXERCISE = Exercise(
    task="Say how many warps of blocks of a size a multiprocessor holds at a time.",
    reference=warps_held,
    cases=cases,
    answers=answers,
)
