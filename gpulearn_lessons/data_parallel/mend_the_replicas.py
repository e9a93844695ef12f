"""A training on ranks that runs without an error and does not train one network: to be mended."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from gpulearn.judge.answers import Answer
from gpulearn.judge.exercise import Case, Exercise
from gpulearn.judge.one_process import draw_weights, flat_weights, train_as_one
from gpulearn.judge.ranks import RankFailure, apart, failed_alike, on_simulated_ranks, same_result
from gpulearn.parallel.communicator import rank
from gpulearn.require import shown
from gpulearn_lessons.data_parallel.replicas import mend_the_replicas
from gpulearn_lessons.data_parallel.trial import torch_on_simulated_ranks

TOLERANCE = 1e-9  # relative; all is in float64
OF_A_LOSS = 1e-5  # relative; what is only reported may be rounded to float32


@dataclass(frozen=True)
class ReplicaRun:
    """What the ranks train."""

    ranks: int  # how many
    rows: tuple[int, ...]  # of each batch
    lr: float  # learning rate
    again: bool = False  # whether the ranks have trained another model before

    def batches(self) -> list[tuple[torch.Tensor, torch.Tensor]]:
        """The whole batches, the same on all ranks."""
        random = np.random.default_rng(self.rows)
        return [
            (
                torch.from_numpy(random.normal(size=(n, 3))),
                torch.from_numpy(random.integers(2, size=n)),
            )
            for n in self.rows
        ]

    def model(self, seed: int) -> nn.Module:
        """A small network in float64, with weights of its own for each seed."""
        model = nn.Sequential(nn.Linear(3, 5), nn.Tanh(), nn.Linear(5, 2)).double()
        draw_weights(model, np.random.default_rng(seed))
        return model


@dataclass(frozen=True)
class ReplicasOutcome:
    """The outcome of a run."""

    failure: RankFailure | None = None  # how it failed, if it did
    weights: list[Any] = field(default_factory=list)  # of each rank, afterwards
    # of each rank, as it returned them; described if they are no list of numbers
    losses: list[Any] = field(default_factory=list)
    rows: list[int] = field(default_factory=list)  # how many each rank puts through its model
    others: list[int] = field(default_factory=list)  # of these rows, how many are not its own
    # of these rows, how many go through a model in evaluation mode
    untrained: list[int] = field(default_factory=list)


def cases() -> list[Case]:
    """A rate of 0, equal parts and unequal ones, one rank to four."""
    plans = {
        "2 ranks and a rate of 0, which leaves all weights where they start": ReplicaRun(
            2, (4,), 0.0
        ),
        "2 ranks and one batch of 8 rows": ReplicaRun(2, (8,), 0.3),
        "2 ranks and three batches of 8, 8 and 5 rows": ReplicaRun(2, (8, 8, 5), 0.2),
        "3 ranks and batches of 9, 9 and 4 rows": ReplicaRun(3, (9, 9, 4), 0.2),
        "4 ranks and batches of 6 and 5 rows": ReplicaRun(4, (6, 5), 0.1),
        "2 ranks and two batches of 6 rows, after another model": ReplicaRun(2, (6, 6), 0.3, True),
        "1 rank": ReplicaRun(1, (4, 3), 0.2),
    }
    return [Case(label, (plan,)) for label, plan in plans.items()]


def act(answer: Answer, plan: ReplicaRun) -> tuple[Any, Any, int, int, int]:
    """Be one rank, with weights of its own at the start."""
    if plan.again:
        answer(plan.model(200 + rank()), plan.batches()[:1], plan.lr)
    model: Any = plan.model(100 + rank())
    rows: list[Any] = []
    modes: list[bool] = []

    def note(layer: nn.Module, inputs: Any, out: Any) -> None:
        rows.extend(inputs[0].tolist())
        modes.extend([layer.training] * len(inputs[0]))

    model[0].register_forward_hook(note)
    losses = answer(model, plan.batches(), plan.lr)
    own = [row for x, _ in plan.batches() for row in x[rank() :: plan.ranks].tolist()]
    others = sum(row not in own for row in rows)
    return flat_weights(model), numbers(losses), len(rows), others, modes.count(False)


def numbers(losses: Any) -> Any:
    """The losses as plain numbers; in words what else was given."""
    if not isinstance(losses, list | tuple):
        return shown(losses)
    try:
        return [float(loss) for loss in losses]
    except (TypeError, ValueError):
        return shown(losses)


def run(answer: Answer, case: Case) -> ReplicasOutcome:
    plan: ReplicaRun = case.args[0]
    torch.optim.SGD(plan.model(0).parameters())  # torch loads much for its first; no rank's time
    with torch_on_simulated_ranks():
        ran = on_simulated_ranks(act, plan.ranks, answer, plan)
    if isinstance(ran, RankFailure):
        return ReplicasOutcome(ran)
    return ReplicasOutcome(None, *map(list, zip(*ran.results, strict=True)))


def expected(case: Case) -> ReplicasOutcome:
    """One process with the whole batches."""
    plan: ReplicaRun = case.args[0]
    model = plan.model(100)
    rows = [sum(len(range(r, n, plan.ranks)) for n in plan.rows) for r in range(plan.ranks)]
    batches = ([whole] for whole in plan.batches())
    losses = train_as_one(model, batches, functional.cross_entropy, plan.lr)
    none = [0] * plan.ranks
    weights = [flat_weights(model)] * plan.ranks
    return ReplicasOutcome(None, weights, [losses] * plan.ranks, rows, none, none)


def difference(got: ReplicasOutcome, want: ReplicasOutcome) -> str | None:
    """One sentence on the replicas, then on what they report, or None."""
    if got.failure:
        return got.failure.sentence
    for number, weights in enumerate(got.weights):
        if sentence := apart(number, weights, got.weights[0]):
            return sentence
    away = np.linalg.norm(got.weights[0] - want.weights[0]) / np.linalg.norm(want.weights[0])
    if not away <= TOLERANCE:
        return (
            f"the replicas are equal, and {away:.2g} away from one process with the whole batches, "
            f"relative to its weights"
        )
    for number, (rows, own) in enumerate(zip(got.rows, want.rows, strict=True)):
        if rows != own:
            return (
                f"rank {number} puts {rows} rows through its model, and its own are {own}: r, "
                f"r + N, r + 2·N, … of every batch"
            )
        if got.others[number]:
            return (
                f"rank {number} computes {got.others[number]} rows that are another rank's: its "
                f"own are r, r + N, r + 2·N, … of every batch"
            )
        if got.untrained[number]:
            return (
                f"rank {number} trains with its model in evaluation mode, in which dropout and "
                f"batch normalization behave differently"
            )
    for number, (losses, right) in enumerate(zip(got.losses, want.losses, strict=True)):
        if isinstance(losses, str):
            return f"rank {number} returns {losses}, expected a list of losses, one for each batch"
        if len(losses) != len(right):
            return f"rank {number} returns {len(losses)} losses, expected {len(right)}"
        for step, (one, other) in enumerate(zip(losses, right, strict=True)):
            if not abs(one - other) <= OF_A_LOSS * abs(other):
                return (
                    f"rank {number} reports a loss of {one:.6g} for batch {step}, and the mean "
                    f"over the whole batch is {other:.6g}"
                )
    return None


@failed_alike
def same(one: ReplicasOutcome, other: ReplicasOutcome) -> bool:
    modes = one.untrained == other.untrained
    return (one.rows, one.others, modes) == (other.rows, other.others, True) and all(
        map(same_result, [*one.weights, *one.losses], [*other.weights, *other.losses])
    )


EXERCISE = Exercise(
    task="Fix the program, so that N replicas learn as one process, and report its loss.",
    reference=mend_the_replicas,
    cases=cases,
    run=run,
    by_hand=False,
    expect=expected,
    difference=difference,
    kinships=(same,),
)
