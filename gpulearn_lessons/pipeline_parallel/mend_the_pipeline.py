"""A training on a pipeline of two ranks that runs and learns something else: to be mended."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from gpulearn.judge.answers import Answer
from gpulearn.judge.exercise import Case
from gpulearn.judge.one_process import draw_weights, flat_weights, train_as_one
from gpulearn.judge.ranks import failed_the_same
from gpulearn.parallel.communicator import rank
from gpulearn_lessons.data_parallel.rank_exercise import (
    RanksOutcome,
    rank_exercise,
    same_notes,
    with_optimizer_loaded,
)
from gpulearn_lessons.pipeline_parallel.two_stages import mend_the_pipeline

TOLERANCE = 1e-9  # relative; all is in float64
WIDTH = 3


@dataclass(frozen=True)
class TwoStageRun:
    rows: tuple[tuple[int, ...], ...]  # of each micro-batch of each batch
    lr: float  # learning rate
    ranks: ClassVar[int] = 2

    def batches(self) -> list[list[tuple[Tensor, Tensor]]]:
        """The micro-batches, the same on both ranks."""
        random = np.random.default_rng(sum(self.rows, ()))
        return [
            [
                (torch.from_numpy(random.normal(size=(n, WIDTH))),
                 torch.from_numpy(random.normal(size=(n, WIDTH))))
                for n in batch
            ]
            for batch in self.rows
        ]  # fmt: skip

    def stages(self) -> list[nn.Module]:
        random = np.random.default_rng(7)
        modules: list[nn.Module] = [
            nn.Sequential(nn.Linear(WIDTH, 4), nn.Tanh(), nn.Linear(4, WIDTH)).double()
            for _ in range(self.ranks)
        ]
        for stage in modules:
            draw_weights(stage, random)
        return modules


@dataclass(frozen=True)
class TrainedStage:
    weights: np.ndarray  # of its stage, afterwards
    changed: bool = False  # whether it has changed the batches that it was given


def cases() -> list[Case]:
    """One micro-batch and several, one step and several, a last micro-batch that is shorter."""
    plans = {
        "one batch of one micro-batch": TwoStageRun(((4,),), 0.1),
        "one batch of three equal micro-batches": TwoStageRun(((2, 2, 2),), 0.1),
        "one batch of micro-batches of 3, 3 and 1 rows": TwoStageRun(((3, 3, 1),), 0.1),
        "three batches of one micro-batch": TwoStageRun(((3,), (3,), (3,)), 0.1),
        "three batches of several micro-batches": TwoStageRun(((2, 2), (2, 1), (3, 1, 1)), 0.05),
        "a rate of 0, which leaves the weights where they are": TwoStageRun(((2, 2),), 0.0),
    }
    return [Case(label, (plan,)) for label, plan in plans.items()]


def act(answer: Answer, plan: TwoStageRun) -> TrainedStage:
    """Be one rank; its weights afterwards, and whether it has changed its batches."""
    stage, batches = plan.stages()[rank()], plan.batches()
    before = numbers(batches)
    answer(stage, batches, plan.lr)
    return TrainedStage(flat_weights(stage), not np.array_equal(numbers(batches), before))


def numbers(batches: list[list[tuple[Tensor, Tensor]]]) -> np.ndarray:
    """All inputs and targets in one row."""
    return np.concatenate([t.detach().numpy().ravel() for b in batches for m in b for t in m])


def target(plan: TwoStageRun) -> list[TrainedStage]:
    """One process with both stages and whole batches."""
    stages = plan.stages()
    train_as_one(nn.Sequential(*stages), plan.batches(), functional.mse_loss, plan.lr)
    return [TrainedStage(flat_weights(stage)) for stage in stages]


def difference(got: RanksOutcome, want: RanksOutcome) -> str | None:
    for number, (own, right) in enumerate(zip(got.ranks, want.ranks, strict=True)):
        away = np.linalg.norm(own.weights - right.weights) / np.linalg.norm(right.weights)
        if not away <= TOLERANCE:
            return (
                f"afterwards the weights of rank {number}'s stage are {away:.2g} away from those "
                f"of one process with both stages, relative to their length"
            )
    changed = [number for number, own in enumerate(got.ranks) if own.changed]
    if changed:
        return f"the weights are right, but rank {changed[0]} changes its batches"
    return None


def same_waits(one: RanksOutcome, other: RanksOutcome) -> bool:
    """Whether two trainings are the same, or the same ranks wait for each other."""
    if one.failure and other.failure:
        return (one.failure.kind, one.failure.waits) == (other.failure.kind, other.failure.waits)
    return not (one.failure or other.failure) and same_notes(one, other)


EXERCISE = rank_exercise(
    task="Fix the program, so that two ranks with one stage each learn as one process does.",
    reference=mend_the_pipeline,
    cases=cases,
    ready=with_optimizer_loaded,
    act=act,
    target=target,
    difference=difference,
    kinships=(failed_the_same(same_notes), same_waits),
    counts=(2,),
    real=lambda ranks: [TwoStageRun(((3, 3, 1), (2, 2)), 0.1)],
)
