"""The interval between checkpoints and the time lost with it, from four numbers in four units."""

import math
from typing import Any, NamedTuple

import numpy as np

from gpulearn.judge.answers import Answer
from gpulearn.judge.exercise import Case, Exercise
from gpulearn.require import shown
from gpulearn_lessons.fault_tolerance.intervals import (
    best_interval,
    checkpoint_interval,
    lost_share,
)

MORE_TIME = 1e-3  # that training may take with the answer's interval, as a fraction of the least
SHARE = 1e-4  # by which the fraction lost may be off


class SavingPlan(NamedTuple):
    """An answer's two numbers, and the case: seconds per save and restart, the system's MTBF."""

    interval: Any
    lost: Any
    cost: float
    restart: float
    mtbf: float


def cases() -> list[Case]:
    """Cheap and costly saves; one GPU; no restart; saves as long as the MTBF; a big cluster."""
    plans = [
        (30.0, 5.0, 50_000.0, 1000),
        (120, 10, 50_000, 16_384),
        (60.0, 0.0, 9000.0, 1),
        (5.0, 20.0, 40_000.0, 8000),
        (600.0, 15.0, 10_000.0, 1024),
        (300.0, 5.0, 20_000.0, 100_000),
        (900.0, 2.0, 25_000.0, 100_000),
        (2.0, 1.0, 50_000.0, 100_000),
    ]
    return [
        Case(f"saving {s:g} s, restart {r:g} min, MTBF of a GPU {h:,.0f} h, "
             f"{n:,} GPU{'s' * (n > 1)}",
             (s, r, h, n))
        for s, r, h, n in plans
    ]  # fmt: skip


def number(value: Any) -> Any:
    """A number as a float; anything else unchanged."""
    try:
        return float(value) if np.ndim(value) == 0 else value
    except (TypeError, ValueError):
        return value


def run(answer: Answer, case: Case) -> Any:
    """Call an answer; its two numbers with those of the case in seconds."""
    save, restart, hours, gpus = case.args
    result = answer(*case.args)
    try:
        interval, lost = result
    except (TypeError, ValueError):
        return result
    return SavingPlan(number(interval), number(lost), save, 60 * restart, 3600 * hours / gpus)


def is_number(value: Any) -> bool:
    """Whether a value is a finite number."""
    return isinstance(value, float) and math.isfinite(value)


def difference(got: Any, want: Any) -> str | None:
    if not isinstance(got, SavingPlan):
        return (
            f"it returns {shown(got)}, expected two numbers: an interval in seconds and a fraction"
        )
    cost, restart, mtbf = got.cost, got.restart, got.mtbf
    if not is_number(got.interval) or got.interval <= 0:
        return f"the interval is {shown(got.interval)}, expected a number of seconds above zero"
    if not is_number(got.lost):
        return f"the fraction lost is {shown(got.lost)}, expected a number from 0 to 1"
    lasts = 1 - lost_share(got.interval, cost, restart, mtbf)
    longer = math.inf if lasts <= 0 else (1 - want.lost) / lasts - 1
    if longer > MORE_TIME:
        much = "more than twice as long as"
        if longer < 1:
            much = f"{100 * longer:.3g}% longer than"  # never 0.1%, which is allowed
        return (
            f"with {got.interval:,.0f} s between two checkpoints, training takes {much} "
            f"with the best interval; the system's MTBF is {mtbf:,.0f} s"
        )
    if abs(got.lost - (1 - lasts)) > SHARE:
        return (
            f"the interval is good, but the fraction lost with it is {1 - lasts:.4f} by the "
            f"formula, not {got.lost:.4g}"
        )
    return None


def close(one: Any, other: Any) -> bool:
    if not (isinstance(one, SavingPlan) and isinstance(other, SavingPlan)):
        return False
    return same(one.interval, other.interval) and same(one.lost, other.lost)


def same(one: Any, other: Any) -> bool:
    return is_number(one) and is_number(other) and math.isclose(one, other, rel_tol=1e-6)


def same_mistake(one: Any, other: Any) -> bool:
    """Whether two answers give the same wrong interval, with any second number.

    If the interval is right, the second numbers must agree as well, since a hint may be about them.
    """
    if not (isinstance(one, SavingPlan) and isinstance(other, SavingPlan)):
        return False
    if is_number(one.interval) and same(one.interval, best_interval(one.cost, one.mtbf)):
        return close(one, other)
    return same(one.interval, other.interval)


EXERCISE = Exercise(
    task="Compute how long to train between two checkpoints, and the fraction of time lost.",
    reference=checkpoint_interval,
    cases=cases,
    run=run,
    difference=difference,
    kinships=(close, same_mistake),
)
