"""Operations per byte."""

from gpulearn.judge.exercise import Case, Exercise
from gpulearn.perf.roofline import arithmetic_intensity


def cases() -> list[Case]:
    """Work below one operation per byte and far above, whole and broken ratios, a copy."""
    work = (
        ("2 operations on 12 bytes", 2, 12),
        ("a product of 1024 × 1024 matrices", 2 * 1024**3, 12 * 1024**2),
        ("7e9 operations on 3e9 bytes", 7e9, 3e9),
        ("a copy of 800 bytes, which computes nothing", 0, 800),
        ("5 operations on 8 bytes", 5, 8),
    )
    return [Case(label, (flops, moved)) for label, flops, moved in work]


EXERCISE = Exercise(
    task="Compute the operations per byte moved.",
    reference=arithmetic_intensity,
    cases=cases,
)
