"""Gradient accumulation that updates after the wrong batch, to be mended."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from gpulearn.judge.answers import Answer, Answers
from gpulearn.judge.exercise import Case, Exercise
from gpulearn_lessons.broken_tutorials import trial
from gpulearn_lessons.broken_tutorials.mended_loops import case_accumulation
from gpulearn_lessons.training.trial import Seen, number, same

answers = Answers(case_accumulation)


def cases() -> list[Case]:
    """Groups that come out even and that do not, one group, one batch, a step for each."""
    plans = ((8, 4), (10, 4), (3, 5), (1, 1), (5, 1), (6, 3), (7, 3))
    return [Case(f"{count} batches, {every} to a step", (count, every)) for count, every in plans]


def run(answer: Answer, case: Case) -> Seen:
    """Train once: which batches are behind each step, and what each step does."""
    count, every = case.args
    images, labels = trial.pictures(4 * count, count)
    batches = list(zip(images.split(4), labels.split(4), strict=True))
    model, twin = trial.classifier(count), trial.classifier(count)
    with trial.watching(model, images) as seen:
        returned = number(answer(model, batches, every))
    behind = np.diff([0, *seen.steps]).astype(float)
    weights, _ = trial.replayed(twin, labels, seen, [0.1] * len(seen.steps), divide=True)
    away = [np.abs(np.asarray(a) - b).max() for a, b in zip(seen.weights, weights, strict=True)]
    facts: dict[str, Any] = {
        "the number of batches that go forward": len(seen.batches),
        "the batches behind each step": ", ".join(f"{n:g}" for n in behind) or "no step",
        "what each step does with them": "a step of 0.1 times their mean gradient"
        if max(away, default=0.0) < 1e-9
        else "something else than a step of 0.1 times their mean gradient",
        "the number of steps that it returns": returned,
    }
    return Seen(facts, (trial.numbers([w.sum() for w in seen.weights]),))


def expected(case: Case) -> Seen:
    """Full groups, then what is left."""
    count, every = case.args
    groups = [min(every, count - first) for first in range(0, count, every)]
    return Seen(
        {
            "the number of batches that go forward": count,
            "the batches behind each step": ", ".join(map(str, groups)),
            "what each step does with them": "a step of 0.1 times their mean gradient",
            "the number of steps that it returns": len(groups),
        }
    )


def alike(one: Seen, other: Seen) -> bool:
    """Whether two loops step in the same places, to the same weights."""
    (mine,), (its,) = one.ways, other.ways
    return (
        trial.same_way(one, other) and mine.shape == its.shape and np.allclose(mine, its, rtol=1e-9)
    )


TOGETHER = "min(every, len(batches) - number // every * every)"
WHEN = "(number + 1) % every == 0 or number + 1 == len(batches)"
CLEAR = "            optimizer.zero_grad()\n"
START = "    steps = 0\n"
LOSS = "functional.cross_entropy(model(x), y) / together"

answers.give({TOGETHER: "every", WHEN: "number % every == 0"})

EARLY = (
    "number counts from 0, and 0 % every is 0: the first step follows the first batch, and the "
    "last batches are behind no step at all."
)
REST = (
    "the batches that are left at the end are behind no step: where `every` does not divide their "
    "number, a smaller group has to step too."
)

answers.edit({TOGETHER: "every", WHEN: "number % every == 0"}, EARLY)
answers.edit({WHEN: "number % every == 0"}, f"the divisor is right; but {EARLY}")
answers.edit({TOGETHER: "every", WHEN: "(number + 1) % every == 0"}, REST)
answers.edit({WHEN: "(number + 1) % every == 0"}, REST)
answers.edit(
    {TOGETHER: "every"},
    "the smaller group at the end is divided by `every`: the mean is over the batches that are "
    "there.",
)
answers.edit(
    {TOGETHER: "every", WHEN: "number % every == 0 or number + 1 == len(batches)"},
    "the last batches have their step now; the first still steps alone, since number counts "
    "from 0.",
)
answers.edit(
    {LOSS: "functional.cross_entropy(model(x), y)"},
    "the gradients are added up and never divided: the step is as many times too long as there "
    "are batches behind it.",
)
answers.edit(
    {CLEAR: ""},
    "gradients are never set to zero, so that each step goes by all the batches since the start.",
)
answers.edit(
    {CLEAR: "", "        together =": "        optimizer.zero_grad()\n        together ="},
    "gradients are thrown away before each batch: a step goes by the last batch alone.",
)
answers.edit(
    {f"if {WHEN}:": "if True:"},
    "it steps after each batch: nothing is accumulated.",
)
answers.edit(
    {TOGETHER: "len(batches)"},
    "each gradient is divided by the number of all batches: a step is the mean of its own group.",
)
answers.edit(
    {"steps += 1": "steps = number"},
    "the training is right; the number of steps that it returns is that of a batch.",
)


@answers.right
def by_groups(model: Any, batches: Any, every: Any) -> int:
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    groups = [batches[i : i + every] for i in range(0, len(batches), every)]
    for group in groups:
        optimizer.zero_grad()
        for x, y in group:
            (nn.CrossEntropyLoss()(model(x), y) / len(group)).backward()
        optimizer.step()
    return len(groups)


@answers.right
def divided_at_the_step(model: Any, batches: Any, every: Any) -> int:
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    steps = waiting = 0

    def step() -> None:
        for p in model.parameters():
            p.grad /= waiting
        optimizer.step()
        optimizer.zero_grad(set_to_none=False)

    for x, y in batches:
        loss: Any = functional.cross_entropy(model(x), y)
        loss.backward()
        waiting += 1
        if waiting == every:
            step()
            steps, waiting = steps + 1, 0
    if waiting:
        step()
        steps += 1
    return steps


EXERCISE = Exercise(
    task="Mend the loop: each step goes by the mean gradient of its own batches, and none is lost.",
    reference=case_accumulation,
    cases=cases,
    answers=answers,
    run=run,
    expect=expected,
    difference=same,
    kinships=(alike, trial.same_way),
    by_hand=False,
)
