"""Early stopping: train until the validation loss has had no new best for a while."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from gpulearn.judge.answers import Answer
from gpulearn.judge.compare import NOTHING, is_number
from gpulearn.judge.exercise import Case, Exercise, Violation
from gpulearn.require import shown
from gpulearn_lessons.training.loop import stop_early
from gpulearn_lessons.training.trial import Outcome, same


def cases() -> list[Case]:
    """Losses that fall, rise, stay, or recover; not finite; patience that is not used up."""
    nan, inf = math.nan, math.inf
    work: tuple[tuple[str, tuple[float, ...], int], ...] = (
        ("a best loss in epoch 3, patience 2", (2.3, 1.4, 1.1, 1.3, 1.2, 0.9, 0.8, 0.7), 2),
        ("a loss that falls to the end", (2.0, 1.5, 1.2, 1.0), 2),
        ("a single bad epoch, patience 2", (2.0, 1.0, 1.5, 0.8, 0.9, 0.7, 0.6), 2),
        ("losses that fall again after a peak, patience 3", (1.0, 3.0, 2.5, 2.0, 0.5), 3),
        ("a loss that equals the best one", (1.0, 0.5, 0.5, 0.5, 0.4), 2),
        ("patience 1", (1.0, 0.9, 0.95, 0.5), 1),
        ("bad epochs with good ones between", (1.0, 1.1, 0.9, 1.0, 0.8, 0.9, 0.7), 2),
        ("a loss that is nan at first", (nan, 1.0, 0.9, 1.2, 1.3, 0.1), 2),
        ("a loss that becomes nan", (1.0, 0.9, nan, nan, nan, 0.1), 3),
        ("losses that are not finite", (nan, inf, nan, 0.5), 3),
        ("bests by a hair", (1.0, 0.999, 0.9985, 0.9984, 0.99841, 0.99842, 0.5), 2),
        ("bests by less than a hair", (1.0, 0.99995, 2.0, 2.0), 2),
        ("a loss of zero", (0.0, 0.5, 0.6), 2),
        ("patience longer than the training", (1.0, 2.0, 3.0), 5),
        ("losses far above 1", (9e9, 8e9, 8.5e9, 8.6e9, 1.0), 2),
        ("a loss that only rises", (1.0, 1.1, 1.2, 1.3, 1.4, 1.5), 2),
        ("losses below zero", (-1.0, -2.0, -1.5, -1.9, -3.0), 2),
        ("no epochs at all", (), 2),
        ("a loss of minus infinity", (1.0, 0.9, -inf, 0.8, 0.9, 1.0, 0.1), 2),
    )
    return [Case(label, (losses, patience)) for label, losses, patience in work]


def run(answer: Answer, case: Case) -> Outcome:
    """Hand out the losses one by one, and count how many epochs are trained for them."""
    losses, patience = case.args
    trained = 0

    def epochs() -> Iterator[float]:
        nonlocal trained
        for loss in losses:
            trained += 1
            yield loss

    returned = answer(epochs(), patience)
    pair = returned if isinstance(returned, tuple | list) and len(returned) == 2 else None
    if returned is not None and (pair is None or not all(map(is_number, pair))):
        raise Violation(f"it returns {shown(returned)}, expected two numbers: epoch kept, trained")
    best, done = pair or (None, None)
    return Outcome(
        {
            "the number of epochs that it trains": trained,
            "the epoch that it keeps": best,
            "the number of epochs that it reports": done,
        }
    )


def difference(got: Any, expected: Any) -> str | None:
    return same(got, expected, tolerance=0.0) if got is not None else NOTHING


EXERCISE = Exercise(
    task="Train until the validation loss has had no new best for `patience` epochs in a row.",
    reference=stop_early,
    cases=cases,
    run=run,
    difference=difference,
)
