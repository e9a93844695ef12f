"""An input pipeline that every rank shuffles for itself, and does not share: to be mended."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import numpy as np
import torch
from torch import Tensor

from gpulearn.judge.answers import Answer
from gpulearn.judge.exercise import Case
from gpulearn.judge.ranks import failed_alike
from gpulearn.parallel.communicator import rank
from gpulearn.require import shown
from gpulearn_lessons.broken_tutorials.input_pipeline import case_input_pipeline
from gpulearn_lessons.data_parallel.rank_exercise import RanksOutcome, rank_exercise

TOLERANCE = 1e-9  # relative; all is in float64
WIDTH = 3
NEEDED = 8  # samples from which two orders are hardly the same by chance


@dataclass(frozen=True)
class PipelineRun:
    ranks: int  # how many
    count: int  # samples in all
    batch: int  # samples of a rank's step
    epochs: int  # how often each sample is to be seen
    lr: float = 0.25  # learning rate

    def points(self) -> np.ndarray:
        """One for each sample; its loss is half the square of the weights' distance from it."""
        return np.random.default_rng(self.count).normal(size=(self.count, WIDTH))

    def replayed(self, steps: list[list[int]]) -> np.ndarray:
        """The weights of one process that takes these samples, step by step."""
        weights, points = np.ones(WIDTH), self.points()
        for numbers in steps:
            weights = weights - self.lr * (weights - points[numbers]).mean(0)
        return weights


@dataclass(frozen=True)
class PipelineNotes:
    weights: Any  # that it returned; described if they are none
    steps: list[list[int]]  # the samples that it used with the same weights


def joined(parts: Iterable[list[int]]) -> list[int]:
    return list(chain.from_iterable(parts))


def cases() -> list[Case]:
    """One rank to four, one epoch and several, a batch of one sample."""
    plans = {
        "2 ranks, 16 samples, batches of 4, 2 epochs": PipelineRun(2, 16, 4, 2),
        "2 ranks, 16 samples, batches of 4, 1 epoch": PipelineRun(2, 16, 4, 1),
        "4 ranks, 24 samples, batches of 3, 3 epochs": PipelineRun(4, 24, 3, 3),
        "3 ranks, 12 samples, batches of 1, 2 epochs": PipelineRun(3, 12, 1, 2),
        "1 rank, 12 samples, batches of 4, 2 epochs": PipelineRun(1, 12, 4, 2),
    }
    return [Case(label, (plan,)) for label, plan in plans.items()]


def act(answer: Answer, plan: PipelineRun) -> PipelineNotes:
    """Be one rank, with random numbers of its own as a fresh process has."""
    torch.manual_seed(1000 + rank())
    points = torch.from_numpy(plan.points())
    steps: list[list[int]] = []
    seen: list[list[float]] = []

    def losses_of(weights: Tensor, numbers: Any) -> Tensor:
        some = torch.as_tensor(numbers).flatten().long()
        at = weights.detach().tolist()
        if not seen or seen[-1] != at:
            seen.append(at)
            steps.append([])
        steps[-1] += some.tolist()
        return (weights - points[some]).square().sum(1) / 2

    weights = torch.ones(WIDTH, dtype=torch.float64, requires_grad=True)
    returned = answer(weights, losses_of, plan.count, plan.batch, plan.epochs, plan.lr)
    if isinstance(returned, Tensor) and returned.shape == weights.shape:
        return PipelineNotes(returned.detach().numpy().copy(), steps)
    return PipelineNotes(shown(returned), steps)


def difference(got: RanksOutcome, want: RanksOutcome) -> str | None:
    plan, first = got.work, got.ranks[0].weights
    for number, own in enumerate(got.ranks):
        if isinstance(own.weights, str):
            return f"rank {number} returns {own.weights}, expected the weights"
    if sentence := _samples(plan, [own.steps for own in got.ranks]):
        return sentence
    for number, own in enumerate(got.ranks):
        if not np.array_equal(own.weights, first):
            return f"afterwards the weights of rank {number} are not those of rank 0"
    right = plan.replayed(together(got))
    away = np.linalg.norm(first - right) / np.linalg.norm(right)
    if not away <= TOLERANCE:
        return (
            f"the samples are right, and the weights are {away:.2g} away from those of one process "
            f"that takes the mean over the same samples in each step"
        )
    return None


def together(ran: RanksOutcome) -> list[list[int]]:
    """The samples of each step, of all ranks."""
    return [joined(parts) for parts in zip(*(own.steps for own in ran.ranks), strict=True)]


def _samples(plan: PipelineRun, steps: list[list[list[int]]]) -> str | None:
    """What is wrong with who uses which sample, or None."""
    share = plan.count // plan.ranks
    orders: list[list[list[int]]] = [[] for _ in range(plan.epochs)]
    for number, own in enumerate(steps):
        used = joined(own)
        if len(used) != share * plan.epochs:
            return (
                f"rank {number} uses {len(used)} samples, and its share of {plan.epochs} "
                f"epoch{'s' if plan.epochs > 1 else ''} is {share * plan.epochs}"
            )
        for epoch in range(plan.epochs):
            orders[epoch].append(used[epoch * share : (epoch + 1) * share])
    for epoch, parts in enumerate(orders):
        visits = Counter(joined(parts))
        if never := [sample for sample in range(plan.count) if not visits[sample]]:
            return (
                f"in epoch {epoch}, {len(never)} of {plan.count} samples are used by nobody and "
                f"others by several, first sample {never[0]}"
            )
    for number, own in enumerate(steps):
        for step, numbers in enumerate(own):
            if len(numbers) != plan.batch:
                return (
                    f"rank {number} uses {len(numbers)} samples in step {step}, expected "
                    f"{plan.batch}"
                )
    if plan.count >= NEEDED and plan.epochs > 1 and orders[0] == orders[1]:
        return "the order is the same in each epoch"
    return None


def same_way(one: RanksOutcome, other: RanksOutcome) -> bool:
    """Whether two outcomes fail in the same way, whatever the order of the samples."""
    return _traits(one) == _traits(other)


def _traits(ran: RanksOutcome) -> tuple[Any, ...]:
    """What is told of an outcome, without the numbers that depend on a random order."""
    plan, used = ran.work, [joined(own.steps) for own in ran.ranks]
    first = ran.ranks[0].weights
    alike = all(np.array_equal(own.weights, first) for own in ran.ranks)
    share = plan.count // plan.ranks
    epochs = [[own[e * share : (e + 1) * share] for own in used] for e in range(plan.epochs)]
    visits = [Counter(joined(parts)) for parts in epochs]
    once = all(set(each.values()) == {1} and len(each) == plan.count for each in visits)
    repeated = plan.epochs > 1 and epochs[0] == epochs[1]
    factor: Any = None
    if isinstance(first, np.ndarray) and len({len(own.steps) for own in ran.ranks}) == 1:
        # by how much a gradient is too long where a mean was forgotten
        factors = (1, plan.batch, plan.ranks, plan.batch * plan.ranks)
        factor = next((k for k in factors if _fits(ran, k)), "none")
    orders = all(own == used[0] for own in used), used[0][:share] == sorted(used[0][:share])
    return [len(own) for own in used], alike, once, repeated, factor, orders


def _fits(ran: RanksOutcome, factor: float) -> bool:
    right = replace(ran.work, lr=ran.work.lr * factor).replayed(together(ran))
    return bool(np.linalg.norm(ran.ranks[0].weights - right) <= 1e-7 * np.linalg.norm(right))


EXERCISE = rank_exercise(
    task="Mend the pipeline, so that each sample is used once in an epoch, and a step is a mean.",
    reference=case_input_pipeline,
    cases=cases,
    act=act,
    difference=difference,
    kinships=(failed_alike(same_way),),
    counts=(2,),
    real=lambda ranks: [PipelineRun(ranks, 16, 4, 2)],
)
