"""The softmax of each row as a Triton kernel, a program for each row."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpulearn.judge.exercise import Case
from gpulearn_lessons.tiles.launches import STAND_INS
from gpulearn_lessons.tiles.trial import tile_exercise

triton, tl = STAND_INS  # a launch puts Triton's own in their place


@triton.jit
def softmax_tile(scores: Any, out: Any, columns: Any, BLOCK: tl.constexpr) -> None:  # type: ignore[name-defined]
    """`scores` and `out` are float32 (rows, columns); (rows,) programs, BLOCK ≥ columns."""
    column = tl.arange(0, BLOCK)
    place = tl.program_id(0) * columns + column
    score = tl.load(scores + place, mask=column < columns, other=-float("inf"))
    power = tl.exp(score - tl.max(score, axis=0))
    tl.store(out + place, power / tl.sum(power, axis=0), mask=column < columns)


def cases() -> list[Case]:
    """Rows that fill the tile and that do not; scores far below 0 and far above."""
    rng = np.random.default_rng(0)

    def case(rows: int, columns: int, block: int, middle: float = 0.0) -> Case:
        scores = (middle + rng.uniform(-3, 3, (rows, columns))).astype(np.float32)
        label = f"{rows} rows of {columns} scores near {middle:g} and BLOCK = {block}"
        return Case(label, (scores, np.full_like(scores, np.nan), columns, block))

    return [
        case(5, 100, 128), case(3, 64, 64), case(4, 70, 128, -200.0), case(4, 40, 64, 800.0),
        case(1, 1, 16), case(2, 33, 256), case(12, 3, 4), case(3, 6, 8, -5.0),
    ]  # fmt: skip


EXERCISE = tile_exercise(
    softmax_tile,
    task="Write the softmax of each row, with a program for each row.",
    cases=cases,
    inputs=1,
    grid=lambda scores, *others: (len(scores),),
    expected=lambda scores: scores.softmax(1),
)
