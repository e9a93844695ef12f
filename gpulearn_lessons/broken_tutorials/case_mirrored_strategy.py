"""A training under a mirrored strategy that trains each replica on everything: to be mended."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gpulearn.judge.answers import Answer, Answers
from gpulearn.judge.exercise import Case, Exercise
from gpulearn.judge.trial import Raised
from gpulearn.require import shown
from gpulearn_lessons.broken_tutorials.strategy import PerReplica, Strategy, case_mirrored_strategy

answers = Answers(case_mirrored_strategy)

TOLERANCE = 1e-9  # relative; all is in float64
WIDTH = 3


@dataclass(frozen=True)
class MirroredRun:
    """What a strategy trains.

    Attributes:
        replicas: how many.
        rows: of each batch.
        lr: learning rate.
        momentum: of the optimiser.
    """

    replicas: int
    rows: tuple[int, ...]
    lr: float = 0.05
    momentum: float = 0.9

    def batches(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """Inputs and targets."""
        random = np.random.default_rng(self.rows)
        return [(random.normal(size=(n, WIDTH)), random.normal(size=n)) for n in self.rows]


class CountingStrategy(Strategy):
    """A strategy that notes how many rows it hands to each replica's function."""

    def __init__(self, replicas: int) -> None:
        super().__init__(replicas)
        self.handed: list[tuple[int, ...]] = []

    def run(self, fn: Callable[..., Any], *args: Any) -> Any:
        """Note what each replica is given first, then run."""
        whole = [PerReplica((a,) * self.replicas) if isinstance(a, np.ndarray) else a for a in args]
        parts = next((a.values for a in whole if isinstance(a, PerReplica)), None)
        if parts is not None and all(isinstance(one, np.ndarray) for one in parts):
            self.handed.append(tuple(len(one) for one in parts))
        return super().run(fn, *args)


@dataclass(frozen=True)
class RanMirrored:
    """What came of it.

    Attributes:
        weights: afterwards.
        losses: as they are returned; described if they are no list of numbers.
        handed: rows that each replica was given, call by call.
    """

    weights: np.ndarray
    losses: Any
    handed: list[tuple[int, ...]] = field(default_factory=list)


def cases() -> list[Case]:
    """One replica and several; batches that can be cut evenly, and that cannot."""
    plans = {
        "1 replica": MirroredRun(1, (4, 4)),
        "2 replicas and one batch of 4 rows": MirroredRun(2, (4,)),
        "2 replicas and three batches of 4 rows": MirroredRun(2, (4, 4, 4)),
        "2 replicas and batches of 4, 4 and 3 rows": MirroredRun(2, (4, 4, 3)),
        "4 replicas and batches of 8 and 8 rows": MirroredRun(4, (8, 8)),
        "3 replicas and batches of 5 and 2 rows": MirroredRun(3, (5, 2)),
    }
    return [Case(label, (plan,)) for label, plan in plans.items()]


def run(answer: Answer, case: Case) -> RanMirrored:
    """Train with the model of a strategy; means of no rows are no numbers, and no warnings."""
    plan: MirroredRun = case.args[0]
    strategy, weights = CountingStrategy(plan.replicas), np.ones(WIDTH)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        losses = answer(strategy, weights, plan.batches(), plan.lr, plan.momentum)
    return RanMirrored(weights, numbers(losses), strategy.handed)


def numbers(losses: Any) -> Any:
    """The losses as plain numbers; in words what else was given."""
    if not isinstance(losses, list | tuple | np.ndarray):
        return shown(losses)
    try:
        return [float(one) for one in losses]
    except (TypeError, ValueError):
        return shown(losses)


def expected(case: Case) -> RanMirrored:
    """One process with whole batches."""
    plan: MirroredRun = case.args[0]
    weights, velocity, losses = np.ones(WIDTH), np.zeros(WIDTH), []
    for inputs, targets in plan.batches():
        errors = inputs @ weights - targets
        losses.append(float((errors**2).mean()))
        velocity = plan.momentum * velocity + 2 * inputs.T @ errors / len(errors)
        weights = weights - plan.lr * velocity
    return RanMirrored(weights, losses, [])


def difference(got: RanMirrored, wanted: RanMirrored) -> str | None:
    """One sentence on what each replica was given, the weights or the losses, or None."""
    away = np.linalg.norm(got.weights - wanted.weights) / np.linalg.norm(wanted.weights)
    if not away <= TOLERANCE:
        return (
            f"the weights end {away:.2g} away from those of one process with whole batches, "
            f"relative to their length"
        )
    if isinstance(got.losses, str):
        return f"it returns {got.losses}, expected a list of losses, one for each batch"
    if len(got.losses) != len(wanted.losses):
        return f"it returns {len(got.losses)} losses, expected {len(wanted.losses)}"
    for step, (one, other) in enumerate(zip(got.losses, wanted.losses, strict=True)):
        if not abs(one - other) <= TOLERANCE * abs(other):
            return (
                f"the loss of batch {step} is {one:.6g}, and the mean over the whole batch is "
                f"{other:.6g}"
            )
    return None


def demand(answer: Answer, outcomes: Any) -> str | None:
    """That the work is shared: no replica is given what another has."""
    for case, ran in zip(cases(), outcomes, strict=True):
        plan: MirroredRun = case.args[0]
        for rows, handed in zip(plan.rows, ran.handed, strict=False):
            if plan.replicas > 1 and sum(handed) > rows:
                return (
                    f"the numbers are right, but the {plan.replicas} replicas are given "
                    f"{sum(handed)} rows of a batch of {rows}: distribute it, so that each works "
                    f"on its own part."
                )
    return None


def same(one: RanMirrored, other: RanMirrored) -> bool:
    """Whether two outcomes are the same numbers, from the same parts."""
    if isinstance(one, Raised) or isinstance(other, Raised):
        return False
    if isinstance(one.losses, str) or isinstance(other.losses, str):
        alike = isinstance(one.losses, str) and isinstance(other.losses, str)
    else:
        alike = len(one.losses) == len(other.losses) and np.allclose(
            one.losses, other.losses, rtol=1e-7, equal_nan=True
        )
    close = np.allclose(one.weights, other.weights, rtol=1e-7, equal_nan=True)
    return bool(alike and close and one.handed == other.handed)


MADE = "    optimizer = strategy.optimizer(weights, lr, momentum)\n"
HEAD = "    def replica_step(inputs, targets, rows):\n"
INSIDE = {MADE: "", HEAD: f"{HEAD}    {MADE}"}
GRADIENT = "@ errors / rows)"
LOSS = "(errors**2).sum() / rows"
PARTS = "strategy.distribute(inputs), strategy.distribute(targets)"
REPORT = 'float(strategy.reduce("sum", loss))'
OWN_MEAN = {GRADIENT: "@ errors / len(errors))", LOSS: "(errors**2).mean()"}
PLAIN = {PARTS: "inputs, targets"}
ITEM = {REPORT: "loss.item()"}

answers.give({**INSIDE, **OWN_MEAN, **PLAIN, **ITEM})

ALL_THE_SAME = (
    "a plain batch is given whole to every replica, so that all compute the same: distribute the "
    "inputs and the targets first."
)
OF_OWN = (
    "each replica divides by its own rows, and the gradients of N replicas are added up: divide by "
    "the rows of the whole batch."
)
FORGETS = (
    "its steps have no momentum. A new optimiser begins without a velocity: make one, before the "
    "first batch and outside the replicas' function, with the momentum that is given."
)
NOT_REDUCED = (
    "what strategy.run returns holds a value of each replica and has no .item(); it works with one "
    "replica alone. Reduce it over the replicas first."
)

answers.edit(
    {**INSIDE, **OWN_MEAN, **PLAIN, **ITEM},
    f"there is more than one mistake. The error shows the first: {NOT_REDUCED}",
)
LASTS = f"the optimiser is made once, but {NOT_REDUCED}"
answers.edit({**OWN_MEAN, **PLAIN, **ITEM}, LASTS)
answers.edit(ITEM, LASTS)
AT_ONCE = f"the loss is a number now, but {ALL_THE_SAME} (That is not all.)"
answers.edit({**INSIDE, **OWN_MEAN, **PLAIN}, AT_ONCE)
answers.edit({**INSIDE, **OWN_MEAN}, f"each replica has its part; now {OF_OWN} (Not all yet.)")
answers.edit({**OWN_MEAN, **PLAIN}, ALL_THE_SAME)
answers.edit({**INSIDE, **PLAIN}, AT_ONCE)
answers.edit(OWN_MEAN, OF_OWN)
OWN_ROWS = "max(1, len(errors))"  # parts may be empty
answers.edit({GRADIENT: "@ errors / len(errors))"}, OF_OWN)
answers.edit({GRADIENT: f"@ errors / {OWN_ROWS})"}, OF_OWN)
answers.edit({GRADIENT: f"@ errors / {OWN_ROWS})", LOSS: f"(errors**2).sum() / {OWN_ROWS}"}, OF_OWN)
answers.edit(PLAIN, ALL_THE_SAME)
answers.edit(INSIDE, FORGETS)
MEAN_OF_MEANS = (
    "the reported loss is the mean of the replicas' means, each counted the same: where the parts "
    "are not equal that is another number."
)
SUM_OF_MEANS = (
    "each replica reports the mean over its own rows, and these are added up: divide by the rows "
    "of the whole batch."
)
for own_mean in ("(errors**2).mean()", f"(errors**2).sum() / {OWN_ROWS}"):
    answers.edit({LOSS: own_mean, REPORT: 'float(strategy.reduce("mean", loss))'}, MEAN_OF_MEANS)
    answers.edit({LOSS: own_mean}, SUM_OF_MEANS)
answers.edit(
    {LOSS: "(errors**2).sum()"},
    "the reported loss is the sum over the rows, and their mean is wanted.",
)
answers.edit(
    {REPORT: 'float(strategy.reduce("mean", loss))'},
    "the reported loss is divided twice: by all rows in each replica, and by the replicas at the "
    "end.",
)
for own_rows in ("len(errors)", OWN_ROWS):
    answers.edit(
        {GRADIENT: f"@ errors / {own_rows} / strategy.replicas)"},
        "each replica divides by its own rows and by the number of replicas, which is right for "
        "equal parts alone: a replica with fewer rows counts too much.",
    )
answers.edit(
    {GRADIENT: "@ errors)"},
    "the gradient is that of a sum of squares: divide by the rows of the whole batch.",
)
answers.edit(
    {PARTS: "strategy.distribute(inputs), targets"},
    "the inputs are distributed and the targets are not, so that rows do not fit: distribute both.",
)
answers.edit(
    {"optimizer(weights, lr, momentum)": "optimizer(weights, lr)"},
    FORGETS,
)
EACH_BATCH = "    for inputs, targets in batches:\n"
answers.edit({MADE: "", EACH_BATCH: f"{EACH_BATCH}    {MADE}"}, FORGETS)
answers.edit(
    {REPORT: "float(loss.values[0]) if strategy.replicas > 1 else float(loss)"},
    "the loss is that of the first replica's part: add up over all of them.",
)

answers.variant(
    {
        LOSS: "(errors**2).sum()",
        REPORT: 'float(strategy.reduce("sum", loss)) / len(targets)',
    }
)
answers.variant(
    {
        HEAD: "    def replica_step(inputs, targets):\n",
        "        optimizer.apply(2 * inputs.T @ errors / rows)\n": "",
        LOSS: "(errors**2).sum(), 2 * inputs.T @ errors",
        "        loss = strategy.run(replica_step, *parts, len(targets))\n": (
            "        loss, gradient = strategy.run(replica_step, *parts)\n"
            '        optimizer.apply(strategy.reduce("sum", gradient) / len(targets))\n'
        ),
        REPORT: 'float(strategy.reduce("sum", loss)) / len(targets)',
    }
)


EXERCISE = Exercise(
    task="Mend the training, so that N replicas learn as one with whole batches.",
    reference=case_mirrored_strategy,
    cases=cases,
    answers=answers,
    run=run,
    by_hand=False,
    expect=expected,
    difference=difference,
    demand=demand,
    kinships=(same,),
)
