"""A schedule, given with two bugs to fix from its curve."""

from typing import Any

from gpulearn.judge import compare
from gpulearn.judge.exercise import Case, Exercise
from gpulearn.optim.schedules import warm_up_cosine_rate


def cases() -> list[Case]:
    """The first step, the last of the warm-up, the one after it, on the way, the end and beyond."""
    steps = (0, 3, 9, 10, 11, 60, 109, 110, 125)
    usual = [Case(f"step {k} of 110, 10 of them warm-up", (k, 0.3, 10, 110)) for k in steps]
    floor = [Case(f"step {k} of 40, down to 0.1", (k, 0.5, 4, 40, 0.1)) for k in (0, 4, 22, 40, 99)]
    short = [Case(f"step {k} of 5, one of them warm-up", (k, 2.0, 1, 5)) for k in (0, 1, 4)]
    high = [Case(f"step {k} of 30, down to 0.2", (k, 0.5, 5, 30, 0.2)) for k in (0, 1, 5, 29)]
    return usual + floor + short + high


def difference(got: Any, expected: Any) -> str | None:
    """Compare two rates; at the end of a cosine rounding may leave a trace of one."""
    if isinstance(got, float) and isinstance(expected, float) and abs(got - expected) < 1e-12:
        return None
    return compare.numbers_or_none(got, expected)


EXERCISE = Exercise(
    task="Fix the schedule: it grows to lr in the warm-up, then falls along a cosine to lowest.",
    reference=warm_up_cosine_rate,
    cases=cases,
    difference=difference,
)
