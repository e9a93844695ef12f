"""The passes in which a warp reads columns of a tile, foreseen from its shape."""

from __future__ import annotations

from gpulearn.judge.exercise import Case, Exercise
from gpulearn.kernels.transpose_tiled import column_passes


def cases() -> list[Case]:
    """Tiles of one column for a warp and of several, with and without room between rows."""
    shapes = (
        *((32, 32), (32, 33), (32, 34), (32, 36), (32, 40), (32, 48)),
        *((16, 16), (16, 17), (16, 18), (16, 20), (16, 24), (16, 32)),
        *((8, 8), (8, 9), (8, 10), (8, 12), (8, 32), (8, 64), (8, 33), (8, 11)),
    )
    return [Case(f"side, width = {side}, {width}", (side, width)) for side, width in shapes]


EXERCISE = Exercise(
    task="Foresee in how many passes a warp reads tile[tx, ty], for a block of side × side.",
    reference=column_passes,
    cases=cases,
)
