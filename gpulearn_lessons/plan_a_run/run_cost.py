"""Days, dollars and kilowatt-hours of a run."""

from functools import partial
from typing import Any

import numpy as np

from gpulearn.judge import compare
from gpulearn.judge.answers import Answer
from gpulearn.judge.exercise import Case, Exercise
from gpulearn.require import shown
from gpulearn_lessons.plan_a_run.plan.by_hand import run_cost


def cases() -> list[Case]:
    """One GPU and thousands; with interruptions and without; a price and a power of zero."""
    plans: list[tuple[float, float, int, float, float, dict[str, float]]] = [
        (86.4e9, 1e6, 1, 1.0, 1000.0, {}),
        (86.4e9, 1e6, 10, 2.0, 500.0, {}),
        (86.4e9, 1e6, 10, 2.0, 500.0, {"availability": 0.5}),
        (1.4e12, 778_240.0, 2048, 0.8, 400.0, {}),
        (366e9, 38_500.0, 384, 1.29, 400.0, {"availability": 0.87}),
        (1e9, 3_210.0, 3, 0.0, 70.0, {"availability": 0.9}),
        (1e9, 3_210.0, 3, 0.53, 0.0, {}),
    ]
    return [
        Case(
            f"{plan[2]:,} GPU{'s' * (plan[2] > 1)}, {plan[0]:.3g} tokens"
            f"{', interrupted' if plan[5] else ''}",
            plan,
        )
        for plan in plans
    ]


def run(answer: Answer, case: Case) -> Any:
    *numbers, more = case.args
    return partial(answer, *numbers)(**more)


def difference(got: Any, want: Any) -> str | None:
    if isinstance(got, np.ndarray) and got.shape == (3,):
        got = got.tolist()
    if not isinstance(got, tuple | list) or len(got) != 3:
        return f"it returns {shown(got)}, expected three numbers: days, dollars, kilowatt-hours"
    for name, value, right in zip(("days", "dollars", "kilowatt-hours"), got, want, strict=True):
        if compare.numbers_or_none(value, right) is not None:
            return f"the {name} are {shown(value)}, expected {shown(right)}"
    return None


EXERCISE = Exercise(
    task="Say how many days, dollars and kilowatt-hours a run takes.",
    reference=run_cost,
    cases=cases,
    run=run,
    difference=difference,
    kinships=(compare.same_numbers,),
)
