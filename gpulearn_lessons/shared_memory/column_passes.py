"""The passes in which a warp reads columns of a tile, predicted from its shape."""

from gpulearn.judge.exercise import Case, Exercise
from gpulearn.kernels.transpose import column_passes


def cases() -> list[Case]:
    """Tiles of which a warp reads one column or several, with and without padding."""
    shapes = (
        *((32, 32), (32, 33), (32, 34), (32, 36), (32, 40), (32, 48)),
        *((16, 16), (16, 17), (16, 18), (16, 20), (16, 24), (16, 32)),
        *((8, 8), (8, 9), (8, 10), (8, 12), (8, 32), (8, 64), (8, 33), (8, 11)),
    )
    return [Case(f"side, width = {side}, {width}", (side, width)) for side, width in shapes]


EXERCISE = Exercise(
    task="Return the number of passes in which a warp of a side × side block reads tile[tx, ty].",
    reference=column_passes,
    cases=cases,
)
