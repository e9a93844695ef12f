"""A parameter server that never starts, and that counts gradients, not workers: to be mended."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor

from gpulearn.judge.answers import Answer
from gpulearn.judge.exercise import Case, Exercise
from gpulearn.judge.ranks import (
    RankFailure,
    demand_on_real_ranks,
    failed_the_same,
    on_simulated_ranks,
    same_result,
)
from gpulearn.parallel.communicator import compute, rank
from gpulearn.require import shown
from gpulearn_lessons.broken_tutorials.synchronous_server import case_parameter_server

TOLERANCE = 1e-9  # relative; all is in float64
WIDTH = 4
LONGER = 1.1  # than the slowest worker of each step: sending takes little beside computing


@dataclass(frozen=True)
class ServerPlan:
    """What a server and its workers train."""

    seconds: tuple[float, ...]  # that a gradient takes each worker
    steps: int  # how many
    lr: float = 0.1  # learning rate

    def slope(self, weights: np.ndarray, worker: int, step: int) -> np.ndarray:
        """A worker's gradient in a step: it depends on all three."""
        shift = np.random.default_rng((worker, step)).normal(size=WIDTH)
        return (worker + 1) * weights + shift


@dataclass(frozen=True)
class ServerOutcome:
    """The outcome of a run."""

    plan: ServerPlan  # what was to be trained
    failure: RankFailure | None = None  # how it failed, if it did
    # that each rank returned; described if they are none
    weights: list[Any] = field(default_factory=list)
    # of each rank, the pairs (worker, step) whose gradient it computed
    calls: list[list[tuple[int, int]]] = field(default_factory=list)
    seconds: float = 0.0  # on the simulated clock; 0 on real ranks


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


def act(answer: Answer, plan: ServerPlan) -> tuple[Any, list[tuple[int, int]]]:
    calls: list[tuple[int, int]] = []

    def gradient(weights: Tensor, worker: int, step: int) -> Tensor:
        calls.append((int(worker), int(step)))
        compute(plan.seconds[rank() - 1] if rank() else 0.0)
        return torch.from_numpy(plan.slope(weights.detach().numpy(), worker, step))

    weights = torch.ones(WIDTH, dtype=torch.float64)
    returned = answer(weights, gradient, plan.steps, plan.lr)
    if isinstance(returned, Tensor) and returned.shape == weights.shape:
        return returned.detach().numpy().copy(), calls
    return shown(returned), calls


def run(answer: Answer, case: Case) -> ServerOutcome:
    plan: ServerPlan = case.args[0]
    ran = on_simulated_ranks(act, len(plan.seconds) + 1, answer, plan)
    if isinstance(ran, RankFailure):
        return ServerOutcome(plan, ran)
    weights, calls = map(list, zip(*ran.results, strict=True))
    return ServerOutcome(plan, None, weights, calls, ran.seconds)


def expected(case: Case) -> ServerOutcome:
    """One process that computes every worker's gradient in every step."""
    plan: ServerPlan = case.args[0]
    weights, workers = np.ones(WIDTH), range(len(plan.seconds))
    for step in range(plan.steps):
        total = sum(plan.slope(weights, worker, step) for worker in workers)
        weights = weights - plan.lr * total / len(workers)
    calls = [[(worker, step) for step in range(plan.steps)] for worker in workers]
    seconds = plan.steps * max(plan.seconds)
    return ServerOutcome(plan, None, [weights] * (len(workers) + 1), [[], *calls], seconds)


def difference(got: ServerOutcome, want: ServerOutcome) -> str | None:
    """One sentence on who computed what, then on the weights, then on the time, or None."""
    if got.failure:
        return got.failure.sentence
    for number, (calls, right) in enumerate(zip(got.calls, want.calls, strict=True)):
        if calls == right:
            continue
        if not number:
            return (
                f"rank 0, the server, computes {len(calls)} gradients, which is the workers' work"
            )
        others = sorted({worker for worker, _ in calls} - {number - 1})
        if others:
            return f"rank {number} asks for the gradient of worker {others[0]}, and is {number - 1}"
        return (
            f"rank {number} computes {len(calls)} gradients, of steps "
            f"{', '.join(str(step) for _, step in calls[:6]) or 'none'}, expected one in each of "
            f"{len(right)} steps"
        )
    for number, weights in enumerate(got.weights):
        if isinstance(weights, str):
            return f"rank {number} returns {weights}, expected the weights"
        right_weights = want.weights[number]
        away = np.linalg.norm(weights - right_weights) / np.linalg.norm(right_weights)
        if not away <= TOLERANCE:
            return (
                f"rank {number} ends with weights that are {away:.2g} away from those of steps in "
                f"which each worker gives one gradient, relative to their length"
            )
    if got.seconds > LONGER * want.seconds:
        return (
            f"the weights are right, but it takes {got.seconds:.2g} s, and the slowest worker "
            f"alone {want.seconds:.2g} s: the workers wait for each other"
        )
    return None


def judge(plan: ServerPlan, ranks: list[Any]) -> str | None:
    """The same for real ranks, whose time nobody counts."""
    weights, calls = map(list, zip(*ranks, strict=True))
    return difference(ServerOutcome(plan, None, weights, calls), expected(Case("", (plan,))))


@failed_the_same
def same(one: ServerOutcome, other: ServerOutcome) -> bool:
    """Whether two outcomes are the same numbers after as long, or the same failure."""
    slow = [ran.seconds > LONGER * expected(Case("", (ran.plan,))).seconds for ran in (one, other)]
    return (
        one.calls == other.calls
        and slow[0] == slow[1]
        and all(map(same_result, one.weights, other.weights))
    )


EXERCISE = Exercise(
    task="Mend the program, so that each step has one gradient of every worker.",
    reference=case_parameter_server,
    cases=cases,
    run=run,
    by_hand=False,
    expect=expected,
    difference=difference,
    kinships=(same,),
    demand=demand_on_real_ranks(
        act, (3,), lambda ranks: [ServerPlan((0.1,) * (ranks - 1), 3)], judge
    ),
)
