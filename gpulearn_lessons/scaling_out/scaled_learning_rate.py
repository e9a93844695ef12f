"""The learning rate of a larger batch, with warm-up."""

from gpulearn.judge.exercise import Case, Exercise
from gpulearn.optim.schedules import scaled_learning_rate


def cases() -> list[Case]:
    """Every step of a warm-up and after it; no warm-up; factors below and above 1; small rates."""
    works = [
        *((step, 0.1, 8, 4) for step in (0, 1, 2, 3, 4, 5, 9, 100, 50_000)),
        *((step, 0.3, 2.5, 0) for step in (0, 1, 7, 10_000)),
        *((step, 0.02, 4, 1) for step in (0, 1, 2)),
        *((step, 0.5, 1, 10) for step in (0, 5, 20)),
        *((step, 1.6, 0.25, 5) for step in (0, 2, 5, 6)),
        *((step, 0.1, 32, 500) for step in (1, 499, 501)),
        *((step, 3e-7, 6, 7) for step in (1, 3, 8)),
    ]
    return [
        Case(f"step {step}, rate {lr}, factor {factor} and warm_up {warm_up}", work)
        for work in works
        for step, lr, factor, warm_up in [work]
    ]


EXERCISE = Exercise(
    task="Return a step's learning rate for a batch factor times as large, with warm-up.",
    reference=scaled_learning_rate,
    cases=cases,
)
