"""What a guard costs, predicted: blocks, idle threads, warps that diverge."""

from typing import Any

import numpy as np

from gpulearn.judge import compare
from gpulearn.judge.exercise import Case, Exercise
from gpulearn.kernels.indexing import guard_cost
from gpulearn.require import shown

PARTS = ("blocks", "idle threads", "warps that diverge")


def cases() -> list[Case]:
    """Ends inside a warp, between two warps and between two blocks; blocks of odd sizes."""
    sizes = (
        *((500, 128), (480, 128), (512, 128), (513, 128), (1, 128), (127, 128), (100, 125)),
        *((80, 40), (72, 40), (75, 40), (96, 40), (3, 1), (20, 20), (1_000_000, 256)),
    )
    return [Case(f"n, block_size = {n}, {size}", (n, size)) for n, size in sizes]


def difference(got: Any, expected: Any) -> str | None:
    if got is None:
        return compare.NOTHING
    if isinstance(got, np.ndarray) and got.ndim == 1:
        got = got.tolist()
    if not isinstance(got, tuple | list) or len(got) != len(PARTS):
        return f"it returns {shown(got)}: return three numbers, {', '.join(PARTS)}"
    for name, value, want in zip(PARTS, got, expected, strict=True):
        if compare.numbers_or_none(int(value) if isinstance(value, bool) else value, want):
            return f"it returns {shown(value)} for the {name}, expected {want}"
    return None


EXERCISE = Exercise(
    task="Predict how many blocks a launch needs, how many threads idle, how many warps diverge.",
    reference=guard_cost,
    cases=cases,
    difference=difference,
)
