"""The index of a thread in the whole grid."""

from gpulearn.judge.exercise import Case, Exercise
from gpulearn.kernels.indexing import global_index


def cases() -> list[Case]:
    """Numbers that tell all three apart, the two ends of a grid, and one beyond 32 bits."""
    all_numbers = (
        *((2, 125, 7), (0, 128, 31), (3, 32, 0), (0, 64, 0), (5, 3, 2), (2**24, 1024, 5)),
        (4, 128, 100),
    )
    return [
        Case(f"block, block_size, thread = {b}, {n}, {t}", (b, n, t)) for b, n, t in all_numbers
    ]


EXERCISE = Exercise(
    task="Compute the index of a thread in the whole grid.",
    reference=global_index,
    cases=cases,
)
