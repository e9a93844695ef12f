"""The number of blocks in a launch."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpulearn.judge import compare
from gpulearn.judge.exercise import Case, Exercise
from gpulearn.kernels.indexing import blocks_for
from gpulearn.require import shown


def cases() -> list[Case]:
    """Sizes that a block divides and that none does, of 7 digits and more, and beyond 32 bits."""
    sizes = (
        *((500, 128), (512, 128), (513, 128), (1, 128), (127, 128), (320, 32), (7, 3)),
        *((1000, 1), (5, 5), (1025, 1024), (2**24 + 1, 128)),
        *((2**31 - 1, 1024), (2**32 + 1, 1024)),
    )
    return [Case(f"n, block_size = {n}, {size}", (n, size)) for n, size in sizes]


def difference(got: Any, expected: Any) -> str | None:
    """How a number of blocks differs, by its type too: a launch takes no float."""
    if (sentence := compare.results(got, expected)) or not isinstance(expected, int):
        return sentence
    if np.asarray(got).dtype.kind == "f":
        return f"it returns {shown(got)}: a launch needs an integer"
    return None


EXERCISE = Exercise(
    task="Count the blocks that n elements need.",
    reference=blocks_for,
    cases=cases,
    difference=difference,
)
