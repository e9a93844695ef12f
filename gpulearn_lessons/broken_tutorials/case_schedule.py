"""A schedule that was used up while it was drawn, to be mended."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch.nn import functional
from torch.optim.lr_scheduler import MultiStepLR

from gpulearn.judge.answers import Answer, Answers
from gpulearn.judge.exercise import Case, Exercise
from gpulearn_lessons.broken_tutorials import trial
from gpulearn_lessons.broken_tutorials.mended_loops import case_schedule
from gpulearn_lessons.training.trial import Seen

answers = Answers(case_schedule)


def cases() -> list[Case]:
    """Two milestones, none, one at the start, one that is never reached, a single epoch."""
    plans: tuple[tuple[list[int], int, int], ...] = (
        ([2, 4], 6, 2),
        ([], 3, 2),
        ([1], 3, 3),
        ([3, 9], 5, 1),
        ([1, 2, 3], 4, 2),
        ([5], 1, 2),
    )
    return [
        Case(f"milestones {stones}, {epochs} epochs of {count} batches", (stones, epochs, count))
        for stones, epochs, count in plans
    ]


def run(answer: Answer, case: Case) -> Seen:
    """Train once: the rates that it returns, and those of its steps."""
    stones, epochs, count = case.args
    images, labels = trial.pictures(5 * count, count)
    batches = list(zip(images.split(5), labels.split(5), strict=True))
    model, twin = trial.classifier(count), trial.classifier(count)
    with trial.watching(model, images) as seen:
        returned = answer(model, batches, list(stones), epochs)
    two = isinstance(returned, tuple | list) and len(returned) == 2
    planned, used = returned if two else ("nothing of the kind", "nothing of the kind")
    weights, _ = trial.replayed(twin, labels, seen, seen.rates)
    right = len(weights) == len(seen.weights) and all(map(np.allclose, weights, seen.weights))
    facts: dict[str, Any] = {
        "the rates that its steps are made with": np.array(seen.rates),
        "the rates that it plans": trial.numbers(planned),
        "the rates that it says it used": trial.numbers(used),
        "what it steps by": "each batch's gradient" if right else "something else",
    }
    return Seen(facts)


def expected(case: Case) -> Seen:
    """A tenth from each milestone on."""
    stones, epochs, count = case.args
    rates = np.array([0.1 ** (1 + sum(epoch >= m for m in stones)) for epoch in range(epochs)])
    return Seen(
        {
            "the rates that its steps are made with": rates.repeat(count),
            "the rates that it plans": rates,
            "the rates that it says it used": rates,
            "what it steps by": "each batch's gradient",
        }
    )


def differs(got: Seen, wanted: Seen) -> str | None:
    """Rates one after another; a length that is wrong says what came."""
    for phrase, right in wanted.facts.items():
        found = got.facts[phrase]
        if isinstance(right, str) or isinstance(found, str):
            if not (isinstance(right, str) and isinstance(found, str) and found == right):
                return f"{phrase}: {found}"
        elif found.shape != right.shape or not np.allclose(found, right, rtol=1e-6):
            return f"{phrase} are {written(found)}, expected {written(right)}"
    return None


def written(rates: np.ndarray[Any, Any]) -> str:
    """Rates in a sentence."""
    return ", ".join(f"{rate:g}" for rate in rates) or "none"


PLAN = (
    "    planned = [0.1 * 0.1 ** sum(epoch >= m for m in milestones) for epoch in range(epochs)]\n"
    "    used = []\n"
)
MADE = "schedule = MultiStepLR(optimizer, milestones, gamma=0.1)\n"
USED = "        used.append(float(schedule.get_last_lr()[0]))\n"
STEP = "            optimizer.step()\n        schedule.step()\n"
DRAWN = """\
    for _ in range(epochs):
        planned.append(schedule.get_last_lr()[0])
        schedule.step()
"""
DRAWS = {PLAN: "    planned, used = [], []\n", MADE: MADE + DRAWN}

BEHIND = (
    "the count of epochs begins anew, and the optimiser's rate does not: the training begins with "
    "that of the last milestone and falls from there."
)

answers.give(DRAWS)
answers.edit(
    DRAWS,
    "drawing the plan steps the schedule, and the training gets what is left of it: the rate after "
    "the last milestone. Plan with a schedule of its own, or by the formula.",
)
answers.edit(
    {
        PLAN: "    planned, used = [], []\n",
        MADE: f'{MADE}{DRAWN}    for group in optimizer.param_groups:\n        group["lr"] = 0.1\n',
    },
    "the rate is set back to 0.1, but the schedule still stands behind its milestones: its count "
    "of epochs has to begin anew too.",
)
answers.edit(
    {PLAN: "    planned, used = [], []\n", MADE: f"{MADE}{DRAWN}    schedule.last_epoch = 0\n"},
    BEHIND,
)
answers.edit(
    {
        PLAN: "    planned, used = [], []\n",
        MADE: f"{MADE}{DRAWN}    {MADE}",
    },
    BEHIND,
)
answers.edit(
    {STEP: "            optimizer.step()\n            schedule.step()\n"},
    "the schedule steps after each batch: milestones count epochs.",
)
answers.edit(
    {
        STEP: "            optimizer.step()\n",
        USED: "        schedule.step()\n" + USED,
    },
    "the schedule steps before the epoch: each rate comes one epoch too early.",
)
answers.edit(
    {STEP: "            optimizer.step()\n"},
    "all epochs are trained with 0.1: the schedule has to step after each of them, and to be that "
    "of the optimiser that trains.",
)
answers.edit(
    {"epoch >= m": "epoch > m"},
    "the training is right; the plan falls one epoch too late: the rate of a milestone is the new "
    "one.",
)
answers.edit(
    {STEP: "            optimizer.step()\n        schedule.step()\n" + USED, USED: ""},
    "the training is right; the rates that it says it used are read after the step of the "
    "schedule, so that they are those of the next epoch.",
)
answers.edit(
    {"gamma=0.1": "gamma=0.5"},
    "the rate is halved at a milestone: leave gamma as it was, a tenth.",
)

FRESH = """\
    other = torch.optim.SGD([torch.zeros(1)], lr=0.1)
    plan, planned, used = MultiStepLR(other, milestones, gamma=0.1), [], []
    for _ in range(epochs):
        planned.append(plan.get_last_lr()[0])
        other.step()
        plan.step()
"""
answers.variant({PLAN: FRESH})


@answers.right
def planned_in_training(model: Any, batches: Any, milestones: Any, epochs: Any) -> Any:
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    schedule = MultiStepLR(optimizer, milestones=milestones, gamma=0.1)
    rates = []
    for _ in range(epochs):
        rates.append(optimizer.param_groups[0]["lr"])
        for inputs, targets in batches:
            loss: Any = functional.cross_entropy(model(inputs), targets)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        schedule.step()
    return rates, list(rates)


@answers.right
def set_by_hand(model: Any, batches: Any, milestones: Any, epochs: Any) -> Any:
    plan = np.array([0.1 ** (1 + sum(e >= m for m in milestones)) for e in range(epochs)])
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    used = []
    for rate in plan:
        optimizer.param_groups[0]["lr"] = float(rate)
        used.append(rate)
        for x, y in batches:
            model.zero_grad()
            loss: Any = functional.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
    return plan, used


EXERCISE = Exercise(
    task="Mend the program: what is planned is drawn, and what is planned is used.",
    reference=case_schedule,
    cases=cases,
    answers=answers,
    run=run,
    expect=expected,
    difference=differs,
    kinships=(trial.same_way,),
    by_hand=False,
)
