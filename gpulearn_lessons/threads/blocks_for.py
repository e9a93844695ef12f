"""The number of blocks in a launch."""

from __future__ import annotations

from gpulearn.judge import compare
from gpulearn.judge.exercise import Case, Exercise
from gpulearn.kernels.indexing import blocks_for


def cases() -> list[Case]:
    """Sizes that a block divides and that none does, of 7 digits and more, and beyond 32 bits."""
    sizes = (
        *((500, 128), (512, 128), (513, 128), (1, 128), (127, 128), (320, 32), (7, 3)),
        *((1000, 1), (5, 5), (1025, 1024), (2**24 + 1, 128)),
        *((2**31 - 1, 1024), (2**32 + 1, 1024)),
    )
    return [Case(f"n, block_size = {n}, {size}", (n, size)) for n, size in sizes]


EXERCISE = Exercise(
    task="Count the blocks that n elements need.",
    reference=blocks_for,
    cases=cases,
    difference=compare.whole,
)
