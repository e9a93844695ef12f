"""A parameter server that never starts, and that counts gradients, not workers: to be mended."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from gpulearn.judge.answers import Answer
from gpulearn.judge.exercise import Case
from gpulearn.judge.ranks import failed_the_same
from gpulearn.parallel.communicator import compute, rank
from gpulearn.require import shown
from gpulearn_lessons.broken_tutorials.synchronous_server import case_parameter_server
from gpulearn_lessons.data_parallel.rank_exercise import RanksOutcome, rank_exercise, same_notes

TOLERANCE = 1e-9  # relative; all is in float64
WIDTH = 4
LONGER = 1.1  # than the slowest worker of each step: sending takes little beside computing


@dataclass(frozen=True)
class ServerPlan:
    seconds: tuple[float, ...]  # that a gradient takes each worker
    steps: int  # how many
    lr: float = 0.1  # learning rate

    @property
    def ranks(self) -> int:
        return len(self.seconds) + 1

    @property
    def longest(self) -> float:
        """Seconds of all steps, where the workers compute at the same time and a little is sent."""
        return LONGER * self.steps * max(self.seconds)

    def slope(self, weights: np.ndarray, worker: int, step: int) -> np.ndarray:
        """A worker's gradient in a step: it depends on all three."""
        shift = np.random.default_rng((worker, step)).normal(size=WIDTH)
        return (worker + 1) * weights + shift


@dataclass(frozen=True)
class ServerNotes:
    weights: Any  # that it returned; described if they are none
    calls: list[tuple[int, int]]  # the pairs (worker, step) whose gradient it computed


def cases() -> list[Case]:
    """Workers alike and not, one and several, one step and several."""
    plans = {
        "three workers alike, one step": ServerPlan((0.1, 0.1, 0.1), 1),
        "three workers alike, four steps": ServerPlan((0.1, 0.1, 0.1), 4),
        "three workers, the first 50 times as fast, four steps": ServerPlan((0.01, 0.5, 0.5), 4),
        "three workers, the last 50 times as fast, three steps": ServerPlan((0.5, 0.5, 0.01), 3),
        "two workers of different speed, five steps": ServerPlan((0.2, 0.1), 5, 0.05),
        "one worker, three steps": ServerPlan((0.1,), 3),
    }
    return [Case(label, (plan,)) for label, plan in plans.items()]


def act(answer: Answer, plan: ServerPlan) -> ServerNotes:
    calls: list[tuple[int, int]] = []

    def gradient(weights: Tensor, worker: int, step: int) -> Tensor:
        calls.append((int(worker), int(step)))
        compute(plan.seconds[rank() - 1] if rank() else 0.0)
        return torch.from_numpy(plan.slope(weights.detach().numpy(), worker, step))

    weights = torch.ones(WIDTH, dtype=torch.float64)
    returned = answer(weights, gradient, plan.steps, plan.lr)
    if isinstance(returned, Tensor) and returned.shape == weights.shape:
        return ServerNotes(returned.detach().numpy().copy(), calls)
    return ServerNotes(shown(returned), calls)


def target(plan: ServerPlan) -> list[ServerNotes]:
    """One process that computes every worker's gradient in every step."""
    weights, workers = np.ones(WIDTH), range(len(plan.seconds))
    for step in range(plan.steps):
        total = sum(plan.slope(weights, worker, step) for worker in workers)
        weights = weights - plan.lr * total / len(workers)
    calls = [[(worker, step) for step in range(plan.steps)] for worker in workers]
    return [ServerNotes(weights, own) for own in ([], *calls)]


def difference(got: RanksOutcome, want: RanksOutcome) -> str | None:
    for number, (own, right) in enumerate(zip(got.ranks, want.ranks, strict=True)):
        calls = own.calls
        if calls == right.calls:
            continue
        if not number:
            return (
                f"rank 0, the server, computes {len(calls)} gradients, which is the workers' work"
            )
        others = sorted({worker for worker, _ in calls} - {number - 1})
        if others:
            return f"rank {number} asks for the gradient of worker {others[0]}, and is {number - 1}"
        did, due = (", ".join(str(step) for _, step in c[:6]) for c in (calls, right.calls))
        return f"rank {number} computes the gradients of steps {did or 'none'}; expected {due}"
    for number, (own, right) in enumerate(zip(got.ranks, want.ranks, strict=True)):
        if isinstance(own.weights, str):
            return f"rank {number} returns {own.weights}, expected the weights"
        away = np.linalg.norm(own.weights - right.weights) / np.linalg.norm(right.weights)
        if not away <= TOLERANCE:
            return (
                f"rank {number} ends with weights that are {away:.2g} away from those of steps in "
                f"which each worker gives one gradient, relative to their length"
            )
    if got.seconds > got.work.longest:
        return (
            f"the weights are right, but it takes {got.seconds:.2g} s, and the slowest worker "
            f"alone {got.work.longest / LONGER:.2g} s: the workers wait for each other"
        )
    return None


@failed_the_same
def same(one: RanksOutcome, other: RanksOutcome) -> bool:
    slow = [ran.seconds > ran.work.longest for ran in (one, other)]
    return slow[0] == slow[1] and same_notes(one, other)


EXERCISE = rank_exercise(
    task="Mend the program, so that each step has one gradient of every worker.",
    reference=case_parameter_server,
    cases=cases,
    act=act,
    target=target,
    difference=difference,
    kinships=(same,),
    counts=(3,),
    real=lambda ranks: [ServerPlan((0.1,) * (ranks - 1), 3)],
)
