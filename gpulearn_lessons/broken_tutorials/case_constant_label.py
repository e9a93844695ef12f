"""A training that learns one label by heart and calls it perfect, to be mended."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import torch

from gpulearn.judge.answers import Answer
from gpulearn.judge.exercise import Case, Exercise
from gpulearn.require import counted
from gpulearn_lessons.broken_tutorials import trial
from gpulearn_lessons.broken_tutorials.mended_loops import case_constant_label
from gpulearn_lessons.data_parallel.rank_exercise import alike
from gpulearn_lessons.training.trial import Outcome, number, same

SHARE = "the share of held-out images that are right"
OWN = "0.1 times the gradient of its images with their own labels"
ZERO = "0.1 times the gradient of its images with the label 0"


def cases() -> list[Case]:
    """Batches that come out even and that do not, one epoch and several."""
    plans = ((40, 2), (64, 1), (35, 3))
    return [Case(f"{n} images, {counted(epochs, 'epoch')}", (n, epochs)) for n, epochs in plans]


def run(answer: Answer, case: Case) -> Outcome:
    """Train once: what goes through the model, and what it says of the held-out images."""
    n, epochs = case.args
    images, labels = trial.pictures(n, n)
    fresh = trial.pictures(37, n + 1, common=2)
    model, twin = trial.classifier(n), partial(trial.classifier, n)
    with trial.watching(model, images) as log:
        returned = answer(model, (images, labels), fresh, epochs)
    two = isinstance(returned, tuple | list | np.ndarray | torch.Tensor) and len(returned) == 2
    accuracy, blind = returned if two else (None, None)
    goes_by = [
        log.goes_by(trial.replayed(twin(), given, log, [0.1] * len(log.steps))[0], words)
        for words, given in ((OWN, labels), (ZERO, torch.zeros_like(labels)))
    ]
    with torch.no_grad():
        truth = (model(fresh[0]).argmax(1) == fresh[1]).double().mean().item()
    sizes = [len(batch) for batch in log.batches]
    accuracy = number(accuracy)
    facts: dict[str, Any] = {
        "the number of values that it returns": 2 if two else 1,
        "the size of a batch": f"up to {max(sizes, default=0)}",
        "what it learns from": log.by_epoch(epochs),
        "the update of each step": goes_by[goes_by[1] == ZERO],
        "the first value": SHARE
        if isinstance(accuracy, float) and abs(accuracy - truth) < 1e-6
        else f"{accuracy:.3g} and not {truth:.3g}"
        if isinstance(accuracy, float)
        else str(accuracy),
        "the share of held-out images with the label that is commonest in training": number(blind),
    }
    return Outcome(facts, (trial.numbers([w.sum() for w in log.weights]),))


def expected(case: Case) -> Outcome:
    """Each image once in each epoch, with its own label."""
    n, _ = case.args
    _, labels = trial.pictures(n, n)
    _, held_out = trial.pictures(37, n + 1, common=2)
    blind = (held_out == labels.bincount().argmax()).double().mean().item()
    return Outcome(
        {
            "the number of values that it returns": 2,
            "the size of a batch": f"up to {min(32, n)}",
            "what it learns from": trial.ORDER,
            "the update of each step": OWN,
            "the first value": SHARE,
            "the share of held-out images with the label that is commonest in training": blind,
        }
    )


EXERCISE = Exercise(
    task="Mend the training and its report: what it has learned, beside what needs no learning.",
    reference=case_constant_label,
    cases=cases,
    run=run,
    expect=expected,
    difference=same,
    kinships=(alike, trial.same_way),
    by_hand=False,
)
