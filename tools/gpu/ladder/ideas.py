"""What was tried to bring the top rung of the ladder closer to the library, one change each.

An idea says what it should bring and why. What it brings, `record_ideas` of
`tools.gpu.ladder.recording` finds out on a GPU.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from gpulearn_lessons.matmul.ladder import LADDER, Rung
from gpulearn_lessons.matmul.matmul_tuning import register_tiled
from tools.gpu.ladder.warp_tiling import warp_tiled

__all__ = ["Idea", "ideas"]


@dataclass(frozen=True)
class Idea:
    """One change to a kernel of the ladder.

    Attributes:
        name: what it is called in tables.
        after: the name of the idea that it changes; empty for the first.
        rung: the kernel with its launch.
        what: the change.
        why: what it should bring.
    """

    name: str
    after: str
    rung: Rung
    what: str
    why: str


@cache
def ideas() -> dict[str, Idea]:
    """The ideas by name, in the order in which they were thought of.

    >>> list(ideas())[0], ideas()["loads ahead"].after
    ('register tile', 'patches')
    """
    return {idea.name: idea for idea in _ideas()}


def _ideas() -> tuple[Idea, ...]:
    return (
        Idea(
            "register tile", "", LADDER["register tile"],
            "the fifth rung: 64 × 64 × 8, a comb of 8 × 8 sums, guards and selects in the loop",
            "where the ideas begin",
        ),
        Idea(
            "larger tile", "register tile", register_tiled(128, 128, 8, 8, 8),
            "128 × 128 × 8 with 256 threads",
            "each element from global memory serves twice as many sums",
        ),
        Idea(
            "no guards", "larger tile",
            warp_tiled(wide=8, lanes_down=4, patch=1, paired=False, ahead=False),
            "whole tiles are loaded with no guard, indices are unsigned, eight steps along k are "
            "written out, and the tile of A is stored with its columns as rows",
            "the loop is left with products and loads: no comparison, no selection, few sums of "
            "addresses",
        ),
        Idea(
            "patches", "no guards", warp_tiled(wide=8, lanes_down=4, paired=False, ahead=False),
            "a thread's sums are 2 × 2 patches of 4 × 4 in the place of a comb",
            "four neighbours are one load of 16 bytes: a quarter of the load instructions",
        ),
        Idea(
            "loads ahead", "patches", warp_tiled(wide=8, lanes_down=4, paired=False),
            "the next tiles are loaded into registers before the products, and written to a "
            "second pair of tiles after them",
            "the way to memory takes hundreds of cycles, and now there is work meanwhile; one "
            "barrier for each tile in the place of two",
        ),
        Idea(
            "fewer registers", "loads ahead",
            warp_tiled(wide=8, lanes_down=4, paired=False, max_registers=128),
            "at most 128 registers for a thread",
            "two blocks of 256 threads fit on a multiprocessor, so that one works while the other "
            "waits at a barrier",
        ),
        Idea(
            "128 sums", "loads ahead", warp_tiled(paired=False),
            "8 × 16 sums in the place of 8 × 8, with 128 threads",
            "24 words from shared memory for 128 products, where it was 16 for 64",
        ),
        Idea(
            "paired lanes", "128 sums", warp_tiled(),
            "lanes n and n ^ 1 stand in one row, lanes n and n ^ 2 in one column",
            "a load of 16 bytes takes two passes and not four if all such pairs of lanes read the "
            "same address (G. Smith, NVIDIA, forums.developer.nvidia.com/t/77228, 2019)",
        ),
        Idea(
            "16 × 8 sums", "paired lanes", warp_tiled(high=16, wide=8),
            "a thread's sums are 16 × 8 in the place of 8 × 16",
            "nothing but the compiler's choice of registers",
        ),
        Idea(
            "16 deep", "16 × 8 sums", warp_tiled(depth=16, high=16, wide=8),
            "16 steps along k with each tile",
            "half the barriers, and half the address arithmetic for each product",
        ),
        Idea(
            "8-byte words", "16 deep", warp_tiled(depth=16, high=16, wide=8, words=True),
            "global memory is read and written by words of two float32",
            "half the loads and stores of global memory; but lanes that write the tile of A meet "
            "in its banks two by two",
        ),
        Idea(
            "wider block", "paired lanes", warp_tiled(columns=256),
            "128 × 256 × 8 with 256 threads",
            "12 loads from global memory for 1,024 products, where it was 16; but a "
            "multiprocessor holds one block, which waits at its barriers alone",
        ),
    )  # fmt: skip
