"""A training on a pipeline of two ranks that runs and learns something else: to be mended."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from gpulearn.judge.answers import Answer
from gpulearn.judge.exercise import Case, Exercise
from gpulearn.judge.one_process import draw_weights, flat_weights, train_as_one
from gpulearn.judge.ranks import RankFailure, demand_on_real_ranks, on_simulated_ranks
from gpulearn.parallel.communicator import rank
from gpulearn_lessons.pipeline_parallel.two_stages import mend_the_pipeline

TOLERANCE = 1e-9  # relative; all is in float64
RANKS = 2
WIDTH = 3


@dataclass(frozen=True)
class TwoStageRun:
    """What the two ranks train."""

    rows: tuple[tuple[int, ...], ...]  # of each micro-batch of each batch
    lr: float  # learning rate

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
        """Both stages, in float64."""
        random = np.random.default_rng(7)
        modules: list[nn.Module] = [
            nn.Sequential(nn.Linear(WIDTH, 4), nn.Tanh(), nn.Linear(4, WIDTH)).double()
            for _ in range(RANKS)
        ]
        for stage in modules:
            draw_weights(stage, random)
        return modules


@dataclass(frozen=True)
class StagesOutcome:
    """The outcome of a run."""

    plan: TwoStageRun  # what was to be trained
    failure: RankFailure | None = None  # how it failed, if it did
    weights: list[Any] = field(default_factory=list)  # of each rank's stage, afterwards
    # whether each rank has changed the batches that it was given
    changed: list[bool] = field(default_factory=list)


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


def act(answer: Answer, plan: TwoStageRun) -> tuple[np.ndarray, bool]:
    """Be one rank; its weights afterwards, and whether it has changed its batches."""
    stage, batches = plan.stages()[rank()], plan.batches()
    before = numbers(batches)
    answer(stage, batches, plan.lr)
    return flat_weights(stage), not np.array_equal(numbers(batches), before)


def numbers(batches: list[list[tuple[Tensor, Tensor]]]) -> np.ndarray:
    """All inputs and targets in one row."""
    return np.concatenate([t.detach().numpy().ravel() for b in batches for m in b for t in m])


def run(answer: Answer, case: Case) -> StagesOutcome:
    plan: TwoStageRun = case.args[0]
    expected(case)  # the first step of an optimizer loads a part of torch: not on a rank's time
    ran = on_simulated_ranks(act, RANKS, answer, plan)
    if isinstance(ran, RankFailure):
        return StagesOutcome(plan, ran)
    return gathered(plan, ran.results)


def gathered(plan: TwoStageRun, ranks: Sequence[Any]) -> StagesOutcome:
    weights, changed = zip(*ranks, strict=True)
    return StagesOutcome(plan, None, list(weights), list(changed))


def expected(case: Case) -> StagesOutcome:
    """One process with both stages and whole batches."""
    plan: TwoStageRun = case.args[0]
    stages = plan.stages()
    train_as_one(nn.Sequential(*stages), plan.batches(), functional.mse_loss, plan.lr)
    return StagesOutcome(plan, None, [flat_weights(stage) for stage in stages])


def difference(got: StagesOutcome, want: StagesOutcome) -> str | None:
    """One sentence on the first stage that is not as one process has it, or None."""
    if got.failure:
        return got.failure.sentence
    for number, (weights, right) in enumerate(zip(got.weights, want.weights, strict=True)):
        away = np.linalg.norm(weights - right) / np.linalg.norm(right)
        if not away <= TOLERANCE:
            return (
                f"afterwards the weights of rank {number}'s stage are {away:.2g} away from those "
                f"of one process with both stages, relative to their length"
            )
    if True in got.changed:
        return f"the weights are right, but rank {got.changed.index(True)} changes its batches"
    return None


def judge(plan: TwoStageRun, ranks: list[Any]) -> str | None:
    return difference(gathered(plan, ranks), expected(Case("", (plan,))))


def works(ranks: int) -> Sequence[TwoStageRun]:
    """What real ranks train."""
    return [TwoStageRun(((3, 3, 1), (2, 2)), 0.1)]


def same_wait(one: StagesOutcome, other: StagesOutcome) -> bool:
    """Whether two outcomes are the same, down to who waits for whom."""
    return one.failure == other.failure and same(one, other)


def same(one: StagesOutcome, other: StagesOutcome) -> bool:
    if one.failure or other.failure:
        if not (one.failure and other.failure):
            return False
        return (one.failure.kind, one.failure.waits) == (other.failure.kind, other.failure.waits)
    pairs = zip(one.weights, other.weights, strict=True)
    return one.changed == other.changed and all(
        np.allclose(a, b, rtol=1e-7, atol=1e-10, equal_nan=True) for a, b in pairs
    )


EXERCISE = Exercise(
    task="Fix the program, so that two ranks with one stage each learn as one process does.",
    reference=mend_the_pipeline,
    cases=cases,
    run=run,
    by_hand=False,
    expect=expected,
    difference=difference,
    kinships=(same_wait, same),
    demand=demand_on_real_ranks(act, (RANKS,), works, judge),
)
