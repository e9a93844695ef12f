"""A training on ranks that runs without an error and does not train one network: to be mended."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from gpulearn.judge.answers import Answer
from gpulearn.judge.exercise import Case
from gpulearn.judge.one_process import draw_weights, flat_weights, train_as_one
from gpulearn.judge.ranks import apart
from gpulearn.parallel.communicator import rank
from gpulearn_lessons.data_parallel.rank_exercise import (
    RanksOutcome,
    plain_losses,
    rank_exercise,
    with_optimizer_loaded,
)
from gpulearn_lessons.data_parallel.replicas import mend_the_replicas

TOLERANCE = 1e-9  # relative; all is in float64
OF_A_LOSS = 1e-5  # relative; what is only reported may be rounded to float32


@dataclass(frozen=True)
class ReplicaRun:
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
class TrainedReplica:
    weights: np.ndarray  # afterwards
    losses: Any  # as it returned them; described if they are no list of numbers
    rows: int  # how many it puts through its model
    others: int = 0  # of these rows, how many are not its own
    untrained: int = 0  # of these rows, how many go through a model in evaluation mode


def cases() -> list[Case]:
    """A rate of 0, equal parts and unequal ones, one rank to four."""
    plans = {
        "2 ranks and a learning rate of 0": ReplicaRun(2, (4,), 0.0),
        "2 ranks and one batch of 8 rows": ReplicaRun(2, (8,), 0.3),
        "2 ranks and three batches of 8, 8 and 5 rows": ReplicaRun(2, (8, 8, 5), 0.2),
        "3 ranks and batches of 9, 9 and 4 rows": ReplicaRun(3, (9, 9, 4), 0.2),
        "4 ranks and batches of 6 and 5 rows": ReplicaRun(4, (6, 5), 0.1),
        "2 ranks and two batches of 6 rows, after another model": ReplicaRun(2, (6, 6), 0.3, True),
        "1 rank": ReplicaRun(1, (4, 3), 0.2),
    }
    return [Case(label, (plan,)) for label, plan in plans.items()]


def act(answer: Answer, plan: ReplicaRun) -> TrainedReplica:
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
    untrained = modes.count(False)
    return TrainedReplica(flat_weights(model), plain_losses(losses), len(rows), others, untrained)


def target(plan: ReplicaRun) -> list[TrainedReplica]:
    """One process with the whole batches."""
    model = plan.model(100)
    batches = ([whole] for whole in plan.batches())
    losses = train_as_one(model, batches, functional.cross_entropy, plan.lr)
    rows = [sum(len(range(r, n, plan.ranks)) for n in plan.rows) for r in range(plan.ranks)]
    return [TrainedReplica(flat_weights(model), losses, own) for own in rows]


def difference(got: RanksOutcome, want: RanksOutcome) -> str | None:
    first, right = got.ranks[0].weights, want.ranks[0].weights
    for number, own in enumerate(got.ranks):
        if sentence := apart(number, own.weights, first):
            return sentence
    away = np.linalg.norm(first - right) / np.linalg.norm(right)
    if not away <= TOLERANCE:
        return (
            f"the replicas are equal, and {away:.2g} away from one process with the whole batches, "
            f"relative to its weights"
        )
    for number, (own, right) in enumerate(zip(got.ranks, want.ranks, strict=True)):
        if own.rows != right.rows:
            return (
                f"rank {number} puts {own.rows} rows through its model, and its own are "
                f"{right.rows}: r, r + N, r + 2·N, … of every batch"
            )
        if own.others:
            return (
                f"rank {number} computes {own.others} rows that are another rank's: its own are "
                f"r, r + N, r + 2·N, … of every batch"
            )
        if own.untrained:
            return (
                f"rank {number} trains with its model in evaluation mode, in which dropout and "
                f"batch normalization behave differently"
            )
    for number, (own, right) in enumerate(zip(got.ranks, want.ranks, strict=True)):
        losses = own.losses
        if isinstance(losses, str):
            return f"rank {number} returns {losses}, expected a list of losses, one for each batch"
        if len(losses) != len(right.losses):
            return f"rank {number} returns {len(losses)} losses, expected {len(right.losses)}"
        for step, (one, other) in enumerate(zip(losses, right.losses, strict=True)):
            if not abs(one - other) <= OF_A_LOSS * abs(other):
                return (
                    f"rank {number} reports a loss of {one:.6g} for batch {step}, and the mean "
                    f"over the whole batch is {other:.6g}"
                )
    return None


EXERCISE = rank_exercise(
    task="Fix the program, so that N replicas learn as one process, and report its loss.",
    reference=mend_the_replicas,
    cases=cases,
    ready=with_optimizer_loaded,
    act=act,
    target=target,
    difference=difference,
)
