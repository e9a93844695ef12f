"""Early stopping: train until the validation loss has had no new best for a while."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any

from gpulearn.judge.answers import Answer, Answers
from gpulearn.judge.compare import NOTHING, is_number
from gpulearn.judge.exercise import Case, Exercise, Refused
from gpulearn.require import shown
from gpulearn_lessons.training.loop import stop_early
from gpulearn_lessons.training.trial import Seen, same

answers = Answers(stop_early)


def cases() -> list[Case]:
    """Losses that fall, rise, stand still, come back; no numbers; patience that is not used up."""
    nan, inf = math.nan, math.inf
    work: tuple[tuple[str, tuple[float, ...], int], ...] = (
        ("a best loss in epoch 3, patience 2", (2.3, 1.4, 1.1, 1.3, 1.2, 0.9, 0.8, 0.7), 2),
        ("a loss that falls to the end", (2.0, 1.5, 1.2, 1.0), 2),
        ("a single bad epoch, patience 2", (2.0, 1.0, 1.5, 0.8, 0.9, 0.7, 0.6), 2),
        ("losses that fall after a peak, patience 3", (1.0, 3.0, 2.5, 2.0, 0.5), 3),
        ("a loss that equals the best one", (1.0, 0.5, 0.5, 0.5, 0.4), 2),
        ("patience 1", (1.0, 0.9, 0.95, 0.5), 1),
        ("bad epochs with good ones between", (1.0, 1.1, 0.9, 1.0, 0.8, 0.9, 0.7), 2),
        ("a loss that is nan at first", (nan, 1.0, 0.9, 1.2, 1.3, 0.1), 2),
        ("a loss that becomes nan", (1.0, 0.9, nan, nan, nan, 0.1), 3),
        ("losses that are no numbers", (nan, inf, nan, 0.5), 3),
        ("bests by a hair", (1.0, 0.999, 0.9985, 0.9984, 0.99841, 0.99842, 0.5), 2),
        ("patience longer than the training", (1.0, 2.0, 3.0), 5),
        ("losses far above 1", (9e9, 8e9, 8.5e9, 8.6e9, 1.0), 2),
        ("a loss that only rises", (1.0, 1.1, 1.2, 1.3, 1.4, 1.5), 2),
        ("losses below zero", (-1.0, -2.0, -1.5, -1.9, -3.0), 2),
        ("no epochs at all", (), 2),
        ("a loss of minus infinity", (1.0, 0.9, -inf, 0.8, 0.9, 1.0, 0.1), 2),
    )
    return [Case(label, (losses, patience)) for label, losses, patience in work]


def run(answer: Answer, case: Case) -> Seen:
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
        raise Refused(f"it returns {shown(returned)}, expected two numbers: epoch kept, trained")
    kept, done = pair or (None, None)
    return Seen(
        {
            "the number of epochs that it trains": trained,
            "the epoch that it keeps": kept,
            "the number of epochs that it reports": done,
        }
    )


def difference(got: Any, expected: Any) -> str | None:
    """The first fact that differs."""
    return same(got, expected, tolerance=0.0) if got is not None else NOTHING


BETTER = "loss < best"
NEW = f"math.isfinite(loss) and {BETTER}"
PATIENT = "done - kept >= patience"

answers.edit(
    {BETTER: "loss <= best"},
    "a loss that only equals the best one is taken for a new best: it must be below it.",
)
answers.edit(
    {PATIENT: "done - kept > patience"},
    "it trains one epoch too many: after `patience` bad epochs in a row it is over.",
)
answers.edit(
    {f"        elif {PATIENT}:\n            break\n": ""},
    "it never stops: after `patience` epochs in a row without a new best it is over.",
)
answers.edit(
    {PATIENT: "True"},
    "it ends at the first epoch without a new best, whatever the patience: one bad epoch is "
    "often only noise.",
)
answers.edit(
    {"best, kept, done = float(\"inf\"), 0, 0": "best, kept, done, bad = math.inf, 0, 0, 0",
     f"elif {PATIENT}:\n            break": (
         "else:\n            bad += 1\n            if bad >= patience:\n                break"
     )},
    "it counts all bad epochs, not those in a row: a new best starts the count again.",
)  # fmt: skip
answers.edit(
    {
        "            best, kept = loss, done\n": "            kept = done\n",
        f"        elif {PATIENT}:\n            break": (
            f"        elif {PATIENT}:\n            break\n        best = loss"
        ),
    },
    "each loss is compared with the one before it, not with the best so far: losses that fall "
    "again after a peak are then taken for new bests.",
)
answers.edit(
    {"in losses": "in list(losses)"},
    "the result is right, but all epochs are trained before the first loss is looked at: take "
    "one loss at a time, in a for loop over `losses` itself.",
)
answers.edit(
    {
        "in losses:\n": f"in losses:\n        if {PATIENT}:\n            break\n",
        f"        elif {PATIENT}:\n            break\n": "",
    },
    "the result is right, and one epoch more is trained than it takes: by the time that it asks, "
    "the next loss has been taken. Ask as soon as a loss is there.",
)
answers.edit(
    {"return kept": "return kept - 1"},
    "the epoch that it keeps is counted from 0: count from 1.",
)
answers.edit(
    {"return kept, done": "return best, done"},
    "it returns the best loss in place of its epoch.",
)
answers.edit(
    {"return kept, done": "return done, done"},
    "it keeps the last epoch's weights, which are not the best: keep those of the best loss.",
)
answers.edit({"return kept, done": "return done, kept"}, "the two numbers are swapped.")
answers.edit(
    {'best, kept, done = float("inf"), 0, 0': "best, kept, done = 1e9, 0, 0"},
    "the best loss begins at a number that a loss can exceed: begin with infinity.",
)
answers.edit(
    {NEW: "not loss >= best"},
    "a loss that is nan counts as a new best: every comparison with nan is False, so ask whether "
    "loss < best, and not the contrary.",
)
answers.edit(
    {NEW: BETTER},
    "a loss of minus infinity is taken for the best: it is no finite number, and never a new best.",
)


@answers.right
def with_a_count(losses: Any, patience: int) -> Any:
    best, bad, kept, epoch = None, 0, 0, 0
    for epoch, loss in enumerate(losses, 1):
        if math.isfinite(loss) and (best is None or loss < best):
            best, bad, kept = loss, 0, epoch
        else:
            bad += 1
        if bad == patience:
            break
    return kept, epoch


@answers.right
def by_hand(losses: Any, patience: int) -> Any:
    seen: list[float] = []
    kept = 0
    for loss in itertools.chain(losses):
        seen.append(loss)
        if -math.inf < loss < min([math.inf, *filter(math.isfinite, seen[:-1])]):
            kept = len(seen)
        if len(seen) >= kept + patience:
            return [kept, len(seen)]
    return [kept, len(seen)]


EXERCISE = Exercise(
    task="Train until the validation loss has had no new best for `patience` epochs in a row.",
    reference=stop_early,
    cases=cases,
    answers=answers,
    run=run,
    difference=difference,
)
