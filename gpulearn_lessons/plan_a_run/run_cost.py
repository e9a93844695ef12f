"""Days, dollars and kilowatt-hours of a run."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from gpulearn.judge import compare
from gpulearn.judge.answers import Answer, Answers
from gpulearn.judge.exercise import Case, Exercise
from gpulearn.require import shown
from gpulearn_lessons.plan_a_run.plan.by_hand import run_cost

answers = Answers(run_cost)


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
            f"{one[2]:,} GPU{'s' * (one[2] > 1)}, {one[0]:.3g} tokens"
            f"{', interrupted' if one[5] else ''}",
            one,
        )
        for one in plans
    ]


def run(answer: Answer, case: Case) -> Any:
    """Call an answer; the availability by name, or by default."""
    *numbers, more = case.args
    return partial(answer, *numbers)(**more)


def difference(got: Any, wanted: Any) -> str | None:
    """Three numbers, by what they are."""
    if isinstance(got, np.ndarray) and got.shape == (3,):
        got = got.tolist()
    if not isinstance(got, tuple | list) or len(got) != 3:
        return f"it returns {shown(got)}, expected three numbers: days, dollars, kilowatt-hours"
    for name, found, right in zip(("days", "dollars", "kilowatt-hours"), got, wanted, strict=True):
        if compare.numbers_or_none(found, right) is not None:
            return f"the {name} are {shown(found)}, expected {shown(right)}"
    return None


SECONDS = "tokens / (tokens_per_second * availability)"
DOLLARS = "gpus * hours * price"
ENERGY = "gpus * hours * power / 1000"

answers.edit(
    {SECONDS: "tokens / (tokens_per_second * availability * gpus)"},
    "the tokens per second are those of all GPUs together: dividing by their number counts them "
    "twice.",
)
answers.edit(
    {SECONDS: "tokens / tokens_per_second"},
    "the availability is left out: in part of the time no step is made that counts, and the run "
    "takes that much longer.",
)
answers.edit(
    {SECONDS: "tokens / tokens_per_second * availability"},
    "interruptions make a run longer, not shorter: divide by the availability.",
)
answers.edit(
    {SECONDS: "tokens / tokens_per_second * (2 - availability)"},
    "half the time lost makes a run twice as long, not one and a half times: divide by the "
    "availability.",
)
answers.edit(
    {DOLLARS: "hours * price"},
    "the price is that of one GPU: multiply by their number.",
)
answers.edit(
    {DOLLARS: "gpus * hours / 24 * price"},
    "the price is for an hour, and this multiplies it by days.",
)
answers.edit(
    {DOLLARS: "gpus * hours * availability * price"},
    "the GPUs are rented all of the time, also while nothing is trained.",
)
answers.edit(
    {ENERGY: "gpus * hours * availability * power / 1000"},
    "the GPUs are taken to draw their power all of the time, also while nothing is trained.",
)
answers.edit(
    {
        DOLLARS: "gpus * hours * availability * price",
        ENERGY: "gpus * hours * availability * power / 1000",
    },
    "the GPUs are rented, and are taken to draw their power, all of the time: also while nothing "
    "is trained.",
)
answers.edit(
    {
        DOLLARS: "gpus * hours / availability * price",
        ENERGY: "gpus * hours / availability * power / 1000",
    },
    "the time that is lost counts twice in dollars and kilowatt-hours: the days already have it.",
)
answers.edit(
    {ENERGY: "gpus * hours * power"},
    "these are watt-hours: a kilowatt-hour is 1,000 of them.",
)
answers.edit(
    {ENERGY: "hours * power / 1000"},
    "the watts are those of one GPU: multiply by their number.",
)
answers.edit(
    {DOLLARS: "hours * price", ENERGY: "hours * power / 1000"},
    "the price and the watts are those of one GPU: multiply both by their number.",
)
answers.edit(
    {DOLLARS: ENERGY, ENERGY: DOLLARS},
    "dollars and kilowatt-hours are swapped: return days, dollars, kilowatt-hours.",
)
answers.edit(
    {ENERGY: "gpus * hours * 3600 * power / 1000"},
    "these are kilojoules, watts times seconds: a kilowatt-hour is a kilowatt for an hour.",
)
answers.edit(
    {ENERGY: "gpus * hours * 3600 * power"},
    "these are joules, watts times seconds: a kilowatt-hour is 3.6 million of them.",
)
answers.edit(
    {"hours / 24,": "hours,"},
    "the first number is in hours: return days.",
)
answers.edit(
    {"hours / 24,": "seconds,"},
    "the first number is in seconds: return days.",
)
answers.edit(
    {"hours / 24,": "-(-hours // 24),"},
    "the days are rounded: return them with their part after the point.",
)
answers.edit(
    {"hours = seconds / 3600": "hours = seconds / 60"},
    "an hour has 3,600 seconds; 60 of them are a minute.",
)
answers.edit(
    {ENERGY: "gpus * hours / 24 * power / 1000"},
    "a kilowatt-hour is a kilowatt for an hour, and this multiplies by days.",
)
answers.variant({DOLLARS: "price * (seconds / 3600) * gpus"})


@answers.right
def as_an_array(
    tokens: Any, tokens_per_second: Any, gpus: Any, price: Any, power: Any, *, availability: Any = 1
) -> Any:
    days = np.float64(tokens) / tokens_per_second / availability / 86_400
    return days * np.array([1, 24 * gpus * price, 24 * gpus * power / 1e3])


EXERCISE = Exercise(
    task="Say how many days, dollars and kilowatt-hours a run takes.",
    reference=run_cost,
    cases=cases,
    answers=answers,
    run=run,
    difference=difference,
    kinships=(compare.same_numbers,),
)
