"""A training under a mirrored strategy that trains each replica on everything: to be mended."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gpulearn.judge.answers import Answer
from gpulearn.judge.exercise import Case, Exercise
from gpulearn_lessons.broken_tutorials.strategy import PerReplica, Strategy, case_mirrored_strategy
from gpulearn_lessons.data_parallel.rank_exercise import alike, plain_losses

TOLERANCE = 1e-9  # relative; all is in float64
WIDTH = 3


@dataclass(frozen=True)
class MirroredRun:
    replicas: int  # how many
    rows: tuple[int, ...]  # of each batch
    lr: float = 0.05  # learning rate
    momentum: float = 0.9  # of the optimizer

    def batches(self) -> list[tuple[np.ndarray, np.ndarray]]:
        random = np.random.default_rng(self.rows)
        return [(random.normal(size=(n, WIDTH)), random.normal(size=n)) for n in self.rows]


class CountingStrategy(Strategy):
    """A strategy that notes how many rows it hands to each replica's function."""

    def __init__(self, replicas: int) -> None:
        super().__init__(replicas)
        self.shares: list[tuple[int, ...]] = []

    def run(self, fn: Callable[..., Any], *args: Any) -> Any:
        """Note what each replica is given first, then run."""
        whole = [PerReplica((a,) * self.replicas) if isinstance(a, np.ndarray) else a for a in args]
        parts = next((a.values for a in whole if isinstance(a, PerReplica)), None)
        if parts is not None and all(isinstance(part, np.ndarray) for part in parts):
            self.shares.append(tuple(len(part) for part in parts))
        return super().run(fn, *args)


@dataclass(frozen=True)
class MirroredOutcome:
    weights: np.ndarray  # afterwards
    losses: Any  # as they are returned; described if they are no list of numbers
    # rows that each replica was given, call by call
    shares: list[tuple[int, ...]] = field(default_factory=list)


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


def run(answer: Answer, case: Case) -> MirroredOutcome:
    """Train with the model of a strategy; means of no rows are no numbers, and no warnings."""
    plan: MirroredRun = case.args[0]
    strategy, weights = CountingStrategy(plan.replicas), np.ones(WIDTH)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        losses = answer(strategy, weights, plan.batches(), plan.lr, plan.momentum)
    return MirroredOutcome(weights, plain_losses(losses), strategy.shares)


def expected(case: Case) -> MirroredOutcome:
    """One process with whole batches."""
    plan: MirroredRun = case.args[0]
    weights, velocity, losses = np.ones(WIDTH), np.zeros(WIDTH), []
    for inputs, targets in plan.batches():
        errors = inputs @ weights - targets
        losses.append(float((errors**2).mean()))
        velocity = plan.momentum * velocity + 2 * inputs.T @ errors / len(errors)
        weights = weights - plan.lr * velocity
    return MirroredOutcome(weights, losses, [])


def difference(got: MirroredOutcome, want: MirroredOutcome) -> str | None:
    away = np.linalg.norm(got.weights - want.weights) / np.linalg.norm(want.weights)
    if not away <= TOLERANCE:
        return (
            f"the weights end {away:.2g} away from those of one process with whole batches, "
            f"relative to their length"
        )
    if isinstance(got.losses, str):
        return f"it returns {got.losses}, expected a list of losses, one for each batch"
    if len(got.losses) != len(want.losses):
        return f"it returns {len(got.losses)} losses, expected {len(want.losses)}"
    for step, (one, other) in enumerate(zip(got.losses, want.losses, strict=True)):
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
        for rows, counts in zip(plan.rows, ran.shares, strict=False):
            if plan.replicas > 1 and sum(counts) > rows:
                return (
                    f"the numbers are right, but the {plan.replicas} replicas are given "
                    f"{sum(counts)} rows of a batch of {rows}: distribute it, so that each works "
                    f"on its own part."
                )
    return None


EXERCISE = Exercise(
    task="Mend the training, so that N replicas learn as one with whole batches.",
    reference=case_mirrored_strategy,
    cases=cases,
    run=run,
    by_hand=False,
    expect=expected,
    difference=difference,
    demand=demand,
    kinships=(alike,),
)
