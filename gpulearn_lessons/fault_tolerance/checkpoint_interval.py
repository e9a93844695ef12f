"""The interval between checkpoints and what is lost with it, from four numbers in four units."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from gpulearn.judge.answers import Answer, Answers
from gpulearn.judge.exercise import Case, Exercise
from gpulearn.require import shown
from gpulearn_lessons.fault_tolerance.intervals import (
    best_interval,
    checkpoint_interval,
    daly_interval,
    lost_share,
    young_interval,
)

answers = Answers(checkpoint_interval)

MORE_TIME = 1e-3  # that a training may take with the answer's interval, as a part of the least
SHARE = 1e-4  # by which the lost share may be off


class SavingPlan(NamedTuple):
    """An answer's two numbers, and the case: seconds of saving and restart, the whole's MTBF."""

    interval: Any
    lost: Any
    cost: float
    restart: float
    mtbf: float


def cases() -> list[Case]:
    """Cheap and dear checkpoints; one GPU; no restart; saves as long as the MTBF; a big cluster."""
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
    """A number, whatever its type; anything else as it is."""
    try:
        return float(value) if np.ndim(value) == 0 else value
    except (TypeError, ValueError):
        return value


def run(answer: Answer, case: Case) -> Any:
    """Call an answer; its two numbers beside the case's in seconds."""
    save, restart, hours, gpus = case.args
    got = answer(*case.args)
    try:
        interval, lost = got
    except (TypeError, ValueError):
        return got
    return SavingPlan(number(interval), number(lost), save, 60 * restart, 3600 * hours / gpus)


def is_number(value: Any) -> bool:
    """Whether a value is a finite number."""
    return isinstance(value, float) and math.isfinite(value)


def difference(got: Any, wanted: Any) -> str | None:
    """Whether the interval is good enough, and the share that of this very interval."""
    if not isinstance(got, SavingPlan):
        return f"it returns {shown(got)}, expected two numbers: an interval in seconds, and a share"
    cost, restart, mtbf = got.cost, got.restart, got.mtbf
    if not is_number(got.interval) or got.interval <= 0:
        return f"the interval is {shown(got.interval)}, expected a number of seconds above zero"
    if not is_number(got.lost):
        return f"the lost share is {shown(got.lost)}, expected a number from 0 to 1"
    lasts = 1 - lost_share(got.interval, cost, restart, mtbf)
    longer = math.inf if lasts <= 0 else (1 - wanted.lost) / lasts - 1
    if longer > MORE_TIME:
        much = "more than twice the time of that"
        if longer < 1:
            much = f"{100 * longer:.3g}% more time than"  # never 0.1%, which is allowed
        return (
            f"with {got.interval:,.0f} s between two checkpoints, training takes {much} "
            f"with the best interval; the system's MTBF is {mtbf:,.0f} s"
        )
    if abs(got.lost - (1 - lasts)) > SHARE:
        return (
            f"the interval is good, and {got.lost:.4g} is not what is lost with it: the formula "
            f"gives {1 - lasts:.4f}"
        )
    return None


def close(one: Any, other: Any) -> bool:
    """Whether two answers give the same two numbers."""
    if not (isinstance(one, SavingPlan) and isinstance(other, SavingPlan)):
        return False
    return same(one.interval, other.interval) and same(one.lost, other.lost)


def same(one: Any, other: Any) -> bool:
    """Whether two values are the same number."""
    return is_number(one) and is_number(other) and math.isclose(one, other, rel_tol=1e-6)


def same_mistake(one: Any, other: Any) -> bool:
    """Whether two answers give the same wrong interval, whatever they say is lost with it.

    Where it is right, the second number has to be the same as well: a hint may speak of it.
    """
    if not (isinstance(one, SavingPlan) and isinstance(other, SavingPlan)):
        return False
    if is_number(one.interval) and same(one.interval, best_interval(one.cost, one.mtbf)):
        return close(one, other)
    return same(one.interval, other.interval)


MTBF = "gpu_mtbf_hours * 3600 / gpus"
BEST = "best_interval(save_seconds, mtbf)"
LOST = "lost_share(interval, save_seconds, restart, mtbf)"

answers.edit(
    {MTBF: "gpu_mtbf_hours * 3600"},
    "the MTBF is that of one GPU. Any one of them ends the step of all: divide by their number.",
)
answers.edit(
    {MTBF: "gpu_mtbf_hours * 3600 * gpus"},
    "more GPUs fail more often, not less often: divide the MTBF by their number.",
)
answers.edit(
    {MTBF: "gpu_mtbf_hours / gpus"},
    "the MTBF is taken in hours, and the saving in seconds: an hour has 3600 of them.",
)
answers.edit(
    {MTBF: "gpu_mtbf_hours * 60 / gpus"},
    "the MTBF is taken in minutes, and the saving in seconds: an hour has 3600 of them.",
)
answers.edit(
    {MTBF: "gpu_mtbf_hours * 3600 / math.sqrt(gpus)"},
    "the MTBF is divided by the root of the number of GPUs. Failures of N GPUs are N times as many "
    "as those of one: divide by N itself.",
)
answers.edit(
    {"restart_minutes * 60": "restart_minutes"},
    "the interval is right, and for what is lost the restart counts as so many seconds: they are "
    "minutes.",
)
answers.edit(
    {"restart_minutes * 60": "0.0"},
    "the interval is right, and what is lost lacks the restarts. They do not change which interval "
    "is best, but nobody trains while they last.",
)
answers.edit(
    {BEST: "young_interval(save_seconds, mtbf)"},
    "this is Young's formula. It is good while saving takes much less than the MTBF; it is not in "
    "the cases where the two are of the same size.",
    young_interval=young_interval,
)
answers.edit(
    {BEST: "math.sqrt(save_seconds * mtbf)"},
    "Young's formula has a 2 under the root: half of an interval is lost on average, not a whole "
    "one.",
)
answers.edit(
    {BEST: "mtbf"},
    "saving once in each MTBF, more than 40% of the time is lost to failures: save more often.",
)
answers.edit(
    {"return interval, ": "return interval + save_seconds, "},
    "this is the time from the start of a save to the start of the next. Asked is how long to "
    "train in between.",
)
answers.edit(
    {"return interval, ": "return interval / 60, "},
    "the interval is in minutes: seconds are asked for.",
)
answers.edit(
    {"return interval, ": "return interval / 3600, "},
    "the interval is in hours: seconds are asked for.",
)
answers.edit(
    {"return interval, " + LOST: f"return {LOST}, interval"},
    "the two numbers are swapped: first the interval, then the share.",
)
answers.edit(
    {LOST: "1 - " + LOST},
    "the second number is the share that lasts. What is lost is 1 minus that.",
)
answers.edit(
    {LOST: "100 * " + LOST},
    "the second number is in per cent: a share from 0 to 1 is asked for.",
)
answers.edit(
    {LOST: "1 / (1 - " + LOST + ") - 1"},
    "the second number is lost time for each second that lasts. Asked is its share of all time.",
)
answers.edit(
    {LOST: "save_seconds / interval + (interval / 2 + restart) / mtbf"},
    "the interval is right, and the second number only an approximation: it adds what is saved, "
    "repeated and restarted, each by itself. The formula is exact, and here the two differ.",
)
answers.edit(
    {LOST: "save_seconds / interval + interval / (2 * mtbf)"},
    "the interval is right, and the second number an approximation without the restarts: take the "
    "exact formula.",
)
answers.edit(
    {BEST: "best_interval(save_seconds + restart, mtbf)"},
    "the restart is counted as a part of each save. It comes once after a failure, and does not "
    "change which interval is best.",
)
answers.edit(
    {BEST: "best_interval(mtbf, save_seconds)"},
    "the MTBF stands where the cost of a save belongs: first the cost, then the MTBF.",
)
answers.edit(
    {LOST: "lost_share(interval, restart, save_seconds, mtbf)"},
    "the interval is right, and for what is lost the save and the restart are swapped: first what "
    "a save costs, then the restart.",
)
answers.edit(
    {LOST: "save_seconds / (interval + save_seconds)"},
    "the second number is the share of the saving alone. Failures lose work, too, and restarts "
    "time.",
)


@answers.right
def by_daly(save_seconds: Any, restart_minutes: Any, gpu_mtbf_hours: Any, gpus: Any) -> Any:
    mtbf, restart = 3600 * gpu_mtbf_hours / gpus, 60 * restart_minutes
    tau = daly_interval(save_seconds, mtbf)
    lasts = tau / mtbf * math.exp(-restart / mtbf) / (math.exp((tau + save_seconds) / mtbf) - 1)
    return [tau, 1 - lasts]


@answers.right
def by_trying(save_seconds: Any, restart_minutes: Any, gpu_mtbf_hours: Any, gpus: Any) -> Any:
    mtbf = np.float64(gpu_mtbf_hours) * 3600 / gpus
    tried = mtbf * np.geomspace(1e-4, 3, 20_000)
    lost = lost_share(tried, save_seconds, restart_minutes * 60, mtbf)
    return tried[np.argmin(lost)], lost.min()


@answers.right
def young_where_it_is_good(
    save_seconds: Any, restart_minutes: Any, gpu_mtbf_hours: Any, gpus: Any
) -> Any:
    mtbf = gpu_mtbf_hours * 3600 / gpus
    formula = young_interval if save_seconds < mtbf / 100 else best_interval
    tau = formula(save_seconds, mtbf)
    return np.array([tau, lost_share(tau, save_seconds, restart_minutes * 60, mtbf)])


EXERCISE = Exercise(
    task="Say how long to train between two checkpoints, and what share of the time is lost.",
    reference=checkpoint_interval,
    cases=cases,
    answers=answers,
    run=run,
    difference=difference,
    kinships=(close, same_mistake),
)
