"""The floating-point operations of C = A·B."""

from gpulearn.judge.exercise import Case, Exercise
from gpulearn.kernels.matmul import matmul_flops


def cases() -> list[Case]:
    """Sizes that tell the three apart, and one whose count overflows 32 and 53 bits."""
    all_sizes = ((1, 1, 1), (2, 3, 5), (7, 4, 7), (64, 64, 64), (300_007, 200_003, 100_003))
    return [Case(f"m, n, p = {m}, {n}, {p}", (m, n, p)) for m, n, p in all_sizes]


EXERCISE = Exercise(
    task="Count the floating-point operations of C = A·B.",
    reference=matmul_flops,
    cases=cases,
)
