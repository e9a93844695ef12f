"""A schedule that was used up while it was drawn, to be mended."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpulearn.judge.answers import Answer
from gpulearn.judge.exercise import Case, Exercise
from gpulearn.require import counted
from gpulearn_lessons.broken_tutorials import trial
from gpulearn_lessons.broken_tutorials.mended_loops import case_schedule
from gpulearn_lessons.training.trial import Outcome

OWN = "the rate times the gradient of its batch"


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
        Case(
            f"milestones {stones}, {counted(epochs, 'epoch')} of "
            f"{counted(count, 'batch', 'batches')}",
            (stones, epochs, count),
        )
        for stones, epochs, count in plans
    ]


def run(answer: Answer, case: Case) -> Outcome:
    """Train once: the rates that it returns, and those of its steps."""
    stones, epochs, count = case.args
    images, labels = trial.pictures(5 * count, count)
    batches = list(zip(images.split(5), labels.split(5), strict=True))
    model, twin = trial.classifier(count), trial.classifier(count)
    with trial.watching(model, images) as log:
        returned = answer(model, batches, list(stones), epochs)
    two = isinstance(returned, tuple | list) and len(returned) == 2
    planned, used = returned if two else ("nothing of the kind", "nothing of the kind")
    weights, _ = trial.replayed(twin, labels, log, log.rates)
    facts: dict[str, Any] = {
        "the rates that its steps are made with": np.array(log.rates),
        "the rates that it plans": trial.numbers(planned),
        "the rates that it says it used": trial.numbers(used),
        "the update of each step": log.goes_by(weights, OWN),
    }
    return Outcome(facts)


def expected(case: Case) -> Outcome:
    """A tenth from each milestone on."""
    stones, epochs, count = case.args
    rates = np.array([0.1 ** (1 + sum(epoch >= m for m in stones)) for epoch in range(epochs)])
    return Outcome(
        {
            "the rates that its steps are made with": rates.repeat(count),
            "the rates that it plans": rates,
            "the rates that it says it used": rates,
            "the update of each step": OWN,
        }
    )


def differs(got: Outcome, want: Outcome) -> str | None:
    for phrase, right in want.facts.items():
        value = got.facts[phrase]
        wanted = right if isinstance(right, str) else written(right)
        if isinstance(value, str):
            if value != wanted:
                return f"{phrase}: {value}, expected {wanted}"
        elif value.shape != right.shape or not np.allclose(value, right, rtol=1e-6):
            return f"{phrase} are {written(value)}, expected {wanted}"
    return None


def written(rates: np.ndarray[Any, Any]) -> str:
    return ", ".join(f"{rate:g}" for rate in rates) or "none"


EXERCISE = Exercise(
    task="Mend the program: what is planned is drawn, and what is planned is used.",
    reference=case_schedule,
    cases=cases,
    run=run,
    expect=expected,
    difference=differs,
    kinships=(trial.same_way,),
    by_hand=False,
)
