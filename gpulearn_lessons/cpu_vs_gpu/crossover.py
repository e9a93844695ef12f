"""The size from which the GPU stays faster."""

from gpulearn.judge.exercise import Case, Exercise
from gpulearn.perf.series import crossover


def cases() -> list[Case]:
    """Tables with one crossing, several, none, ties, and sizes that are no powers of two."""
    tables: tuple[tuple[str, list[int], list[float], list[float]], ...] = (
        ("one crossing", [64, 128, 256, 512], [1.0, 2.0, 8.0, 60.0], [5.0, 5.0, 5.0, 6.0]),
        ("a lead lost and won back", [10, 20, 30, 40], [3.0, 4.0, 5.0, 9.0], [4.0, 3.0, 6.0, 8.0]),
        ("a GPU that is never faster", [64, 128, 256], [1.0, 2.0, 3.0], [5.0, 5.0, 5.0]),
        ("a GPU that is always faster", [3, 5, 9], [2.0, 3.0, 4.0], [1.0, 1.0, 1.0]),
        ("a tie before the crossing", [100, 200, 300], [1.0, 5.0, 9.0], [5.0, 5.0, 6.0]),
        ("a GPU that leads only in the middle", [1, 2, 3], [1.0, 9.0, 4.0], [2.0, 5.0, 6.0]),
        ("a lead lost at once", [8, 16, 24, 32], [9.0, 1.0, 9.0, 9.0], [5.0, 5.0, 5.0, 5.0]),
        ("a single size", [77], [2.0], [1.0]),
        ("a tie inside the lead", [1, 2, 3], [2.0, 2.0, 2.0], [1.0, 2.0, 1.0]),
        ("a tie at the end", [1, 2], [2.0, 2.0], [1.0, 2.0]),
        ("a lead lost for two sizes", [1, 2, 3, 4, 5], [2.0] * 5, [1.0, 1.0, 3.0, 3.0, 1.0]),
        ("times of microseconds", [1, 2, 3], [2e-6] * 3, [3e-6, 1.999e-6, 1e-6]),
    )
    return [Case(label, (sizes, cpu, gpu)) for label, sizes, cpu, gpu in tables]


EXERCISE = Exercise(
    task="Find the smallest size from which the GPU stays faster.",
    reference=crossover,
    cases=cases,
)
