"""The sectors of a request, predicted from steps in bytes and the width of a block."""

from gpulearn.judge.exercise import Case, Exercise
from gpulearn.kernels.indexing import sectors_of_a_warp


def cases() -> list[Case]:
    """Rows and columns of pictures, records, gaps, shifts, backwards, one for all; wide blocks."""
    arguments = (
        *((0, 4, 2048, 32), (0, 2048, 4, 32), (0, 2048, 4, 16), (0, 2048, 4, 8), (0, 2048, 4, 4)),
        *((0, 4, 2048, 16), (0, 4, 2048, 4), (0, 4, 100, 8), (16, 4, 100, 8), (0, 12, 6144, 32)),
        *((4, 4, 0, 64), (32, 4, 0, 64), (0, 24, 0, 128), (8, 24, 0, 32), (124, -4, 0, 32)),
        *((0, 1, 480, 32), (8, 8, 4096, 16), (0, 0, 0, 32), (0, 0, 64, 8), (4, 32, 0, 32)),
        *((12, -4, 2048, 32), (8, 4, -48, 8), (0, 4, 2048, 24)),
    )
    names = "start, step_x, step_y, block_x"
    return [Case(f"{names} = {', '.join(map(str, args))}", args) for args in arguments]


EXERCISE = Exercise(
    task="Return how many sectors one request of the first warp of a block takes.",
    reference=sectors_of_a_warp,
    cases=cases,
)
