"""Gradient accumulation that updates after the wrong batch, to be mended."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpulearn.judge.answers import Answer
from gpulearn.judge.exercise import Case, Exercise
from gpulearn.require import counted
from gpulearn_lessons.broken_tutorials import trial
from gpulearn_lessons.broken_tutorials.mended_loops import case_accumulation
from gpulearn_lessons.data_parallel.rank_exercise import alike
from gpulearn_lessons.training.trial import Outcome, number, same

MEAN = "0.1 times the mean gradient of its batches"
NO_STEP = "none, since no step has a gradient"


def cases() -> list[Case]:
    """Groups that come out even and that do not, one group, one batch, a step for each."""
    plans = ((8, 4), (10, 4), (3, 5), (1, 1), (5, 1), (6, 3), (7, 3))
    return [
        Case(f"{counted(count, 'batch', 'batches')}, {every} to a step", (count, every))
        for count, every in plans
    ]


def run(answer: Answer, case: Case) -> Outcome:
    """Train once: how many batches each step uses, and how it moves the weights."""
    count, every = case.args
    images, labels = trial.pictures(4 * count, count)
    batches = list(zip(images.split(4), labels.split(4), strict=True))
    model, twin = trial.classifier(count), trial.classifier(count)
    with trial.watching(model, images) as log:
        returned = number(answer(model, batches, every))
    used = np.diff([0, *log.steps]).astype(float)
    weights, _ = trial.replayed(twin, labels, log, [0.1] * len(log.steps), divide=True)
    facts: dict[str, Any] = {
        "the number of batches that go forward": len(log.batches),
        "the number of batches in each step": ", ".join(f"{n:g}" for n in used) or NO_STEP,
        "the update of each step": log.goes_by(weights, MEAN),
        "the number of steps that it returns": returned,
    }
    return Outcome(facts, (trial.numbers([w.sum() for w in log.weights]),))


def expected(case: Case) -> Outcome:
    """Full groups, then what is left."""
    count, every = case.args
    groups = [min(every, count - first) for first in range(0, count, every)]
    return Outcome(
        {
            "the number of batches that go forward": count,
            "the number of batches in each step": ", ".join(map(str, groups)),
            "the update of each step": MEAN,
            "the number of steps that it returns": len(groups),
        }
    )


EXERCISE = Exercise(
    task="Mend the loop: each step goes by the mean gradient of its own batches, and none is lost.",
    reference=case_accumulation,
    cases=cases,
    run=run,
    expect=expected,
    difference=same,
    kinships=(alike, trial.same_way),
    by_hand=False,
)
