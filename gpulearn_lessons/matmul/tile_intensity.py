"""Operations per byte of a product that goes tile by tile, foreseen from the tile's size."""

from gpulearn.judge.exercise import Case, Exercise
from gpulearn_lessons.matmul.matmul_ladder import tile_intensity


def cases() -> list[Case]:
    """Square tiles and others, matrices of one tile and of many."""
    sizes = (
        *((32, 32, 256), (64, 64, 256), (128, 64, 256), (64, 128, 1024)),
        *((32, 32, 32), (128, 128, 128), (16, 64, 4096)),
    )
    return [Case(f"rows, columns, n = {r}, {c}, {n}", (r, c, n)) for r, c, n in sizes]


EXERCISE = Exercise(
    task="Return the operations per byte of a product whose blocks compute rows × columns of C.",
    reference=tile_intensity,
    cases=cases,
)
