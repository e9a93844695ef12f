"""Local steps: each rank goes its own way, and now and then all take the mean."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from gpulearn.judge.answers import Answer, Answers
from gpulearn.judge.exercise import Case, Exercise
from gpulearn.judge.ranks import demand_on_real_ranks
from gpulearn.parallel.collectives import broadcast, reduce
from gpulearn.parallel.communicator import rank, world_size
from gpulearn.parallel.torch_collectives import sum_over_ranks
from gpulearn_lessons.parameter_server.server.local_steps import local_sgd
from gpulearn_lessons.parameter_server.trial import (
    KINSHIPS,
    act,
    difference,
    expected,
    judge,
    simulated,
)

answers = Answers(local_sgd)

STEP = "        weights -= lr * gradient(weights)\n"
WHEN = "step % every == 0 or step == steps"
SUM = "            sum_over_ranks(weights)\n"
DIVIDE = "            weights /= world_size()\n"
EACH = (
    "there is a mean in every step, of weights or of gradients, which is the same here: that is "
    "data parallelism, and nothing is saved. Take one after every `every` steps."
)
TWICE = (
    "one mean more is taken than is needed, before the first step or right after another mean: "
    "there all ranks have the same weights, so that it changes nothing, and all wait for it."
)
BEFORE = (
    "the mean is taken before the step that it should follow: the step comes first, then the mean."
)
AT_THE_END = "    sum_over_ranks(weights)\n    weights /= world_size()\n    return weights"


@dataclass(frozen=True)
class LocalSteps:
    """Ranks with bowls of their own, each with other curvatures and another minimum."""

    ranks: int
    steps: int
    every: int
    lr: float = 0.1
    shape: tuple[int, ...] = (3,)
    dtype: torch.dtype = torch.float64
    same: bool = False  # whether all have θ²/2, whose gradient is the very tensor of the weights

    def bowl(self, rank: int) -> tuple[Tensor, Tensor]:
        """Curvatures and minimum of a rank's loss."""
        if self.same:
            return torch.ones(self.shape, dtype=self.dtype), torch.zeros(
                self.shape, dtype=self.dtype
            )
        random = np.random.default_rng((self.ranks, rank))
        curvatures, minimum = random.uniform(0.5, 4, self.shape), random.normal(size=self.shape)
        return torch.tensor(curvatures, dtype=self.dtype), torch.tensor(minimum, dtype=self.dtype)

    def weights(self, rank: int) -> Tensor:
        """All begin alike."""
        return torch.full(self.shape, 1.5, dtype=self.dtype)

    def call(self, answer: Answer, rank: int, weights: Tensor) -> Any:
        """Let the answer train."""
        curvatures, minimum = self.bowl(rank)

        def gradient(at: Tensor) -> Tensor:
            return at if self.same else curvatures * (at - minimum)

        return answer(weights, gradient, self.steps, self.every, self.lr)

    def end(self) -> list[np.ndarray]:
        """In one process, all ranks side by side."""
        bowls = [self.bowl(rank) for rank in range(self.ranks)]
        replicas = [self.weights(rank) for rank in range(self.ranks)]
        for step in range(1, self.steps + 1):
            replicas = [
                w - self.lr * c * (w - m) for w, (c, m) in zip(replicas, bowls, strict=True)
            ]
            if step % self.every == 0 or step == self.steps:
                replicas = [torch.stack(replicas).mean(dim=0)] * self.ranks
        return [replica.numpy() for replica in replicas]

    def too_much(self, sent: Sequence[int]) -> str | None:
        """On two ranks: however they take a mean, each sends its weights once, or one both."""
        if self.ranks != 2 or self.dtype != torch.float64:  # float32 may be added up in float64
            return None
        means = sum(sent) / (2 * self.weights(0).nbytes)
        enough = -(-self.steps // self.every)
        if means <= enough:
            return None
        return f"the ranks send the bytes of {means:g} means, and {enough} are needed"


def cases() -> list[Case]:
    """Means after each step, after some, after none but the last; steps that do not divide."""
    works = {
        "2 ranks, 4 steps, a mean after every 2": LocalSteps(2, 4, 2),
        "2 ranks, 5 steps, a mean after every 2": LocalSteps(2, 5, 2),
        "3 ranks, 7 steps, a mean after every 3": LocalSteps(3, 7, 3, shape=(2, 3)),
        "4 ranks, 3 steps, a mean after each": LocalSteps(4, 3, 1, lr=0.2),
        "3 ranks, 4 steps, fewer than `every`": LocalSteps(3, 4, 10),
        "1 rank, 5 steps": LocalSteps(1, 5, 2),
        "2 ranks in float32, 9 steps, a mean after every 4": LocalSteps(
            2, 9, 4, dtype=torch.float32
        ),
        "8 ranks, 6 steps, a mean after every 4": LocalSteps(8, 6, 4, lr=0.05),
        "2 ranks, one step": LocalSteps(2, 1, 1),
        "2 ranks with θ²/2, whose gradient is θ itself": LocalSteps(2, 5, 2, same=True),
    }
    return [Case(label, (work,)) for label, work in works.items()]


def real(count: int) -> list[LocalSteps]:
    """What real ranks do, one after another."""
    return [LocalSteps(count, 5, 2), LocalSteps(count, 6, 3, dtype=torch.float32)]


answers.edit(
    {WHEN: "step % every == 0"},
    "after the last step there is no mean unless `every` divides the steps, and the ranks end with "
    "weights that differ.",
)
answers.edit(
    {WHEN: "step == steps"},
    "there is one mean, at the end: take one after every `every` steps as well.",
)
answers.edit({WHEN: "True"}, EACH)
answers.edit(
    {WHEN: "step % every or step == steps"},
    "the means are where none should be: step % every is 0 where `every` divides the step.",
)
answers.edit(
    {WHEN: "every % step == 0 or step == steps"},
    "every % step is upside down: `every` is to divide the step, step % every == 0.",
)
answers.edit(
    {"range(1, steps + 1)": "range(steps)", WHEN: "step % every == 0 or step == steps - 1"},
    "counted from 0, the first step is followed by a mean: 0 % every is 0. Count from 1.",
)
answers.edit(
    {"range(1, steps + 1)": "range(steps)"},
    "counted from 0, the first step is followed by a mean and the last never: count from 1.",
)
answers.edit(
    {"range(1, steps + 1)": "range(1, steps)"},
    "one step is missing, and with it the last mean: range(1, steps) ends at steps − 1.",
)
answers.edit(
    {STEP: "", DIVIDE: DIVIDE + STEP, WHEN: "step % every == 0",
     "    return weights": AT_THE_END},
    BEFORE,
)  # fmt: skip
answers.edit(
    {"range(1, steps + 1)": "range(1, steps // every * every + 1)"},
    "the steps that remain where `every` does not divide them are left out: take all `steps`, and "
    "a mean after the last.",
)
answers.edit(
    {STEP: "        weights -= lr / world_size() * gradient(weights)\n"},
    "the rate is divided by the number of ranks: each rank takes whole steps of its own, and only "
    "the mean divides.",
)
answers.edit(
    {DIVIDE: ""},
    "that is the sum of the ranks' weights: divide it by the number of ranks.",
)
answers.edit(
    {DIVIDE: "            weights /= every\n"},
    "the sum is divided by `every`: it is a mean over ranks, whatever the number of steps.",
)
answers.edit(
    {STEP: "        weights -= lr * sum_over_ranks(gradient(weights)) / world_size()\n"},
    EACH,
)
answers.edit(
    {STEP: "        weights += lr * gradient(weights)\n"},
    "it goes up the hill: subtract the gradient.",
)
answers.edit(
    {STEP: "        weights -= gradient(weights)\n"},
    "the learning rate is missing.",
)
answers.edit(
    {STEP: "        weights = weights - lr * gradient(weights)\n"},
    "the tensor that was given stays as it was: change it in place, with -=, as "
    "weights = weights − … makes a new one.",
)
answers.edit(
    {STEP: "        slope = gradient(weights)\n        slope *= lr\n        weights -= slope\n"},
    "it changes what gradient(weights) returns, which may be the weights themselves, as in "
    "section 2: multiply in the expression, so that a new tensor is made.",
)
answers.edit(
    {"    return weights": ""},
    "it returns nothing: return the weights.",
)
answers.edit(
    {SUM: "            reduce(weights, root=0)\n"},
    "only rank 0 gets the sum: a reduce ends at one rank, an all-reduce at all.",
    reduce=reduce,
)
answers.edit(
    {SUM: "            broadcast(weights, root=0)\n", DIVIDE: ""},
    "all get rank 0's weights, and what the others have learned is lost: take the mean.",
    broadcast=broadcast,
)
answers.edit(
    {SUM: "            if rank() == 0:\n                sum_over_ranks(weights)\n"},
    "a collective inside of if rank() == 0 is a deadlock: all ranks have to call it.",
    rank=rank,
)
answers.edit(
    {SUM: "            mean = sum_over_ranks(weights.clone())\n",
     DIVIDE: "            mean /= world_size()\n"},
    "the mean is computed and not used: the weights stay this rank's own.",
)  # fmt: skip
answers.edit(
    {STEP: "", WHEN: f"{WHEN}:\n            weights -= lr * gradient(weights)\n        if {WHEN}"},
    "there is one step for each mean: every rank is to take `every` steps of its own between two "
    "means.",
)  # fmt: skip
answers.edit({WHEN: "step % every == 0", "    return weights": AT_THE_END}, TWICE)
answers.edit({"    return weights": AT_THE_END}, TWICE)

answers.variant({SUM: "            weights.copy_(sum_over_ranks(weights.clone()))\n"})


@answers.right
def in_rounds(
    weights: Tensor, gradient: Callable[[Tensor], Tensor], steps: int, every: int, lr: float
) -> Tensor:
    done = 0
    while done < steps:
        for _ in range(min(every, steps - done)):
            weights.sub_(lr * gradient(weights))
            done += 1
        weights.copy_(sum_over_ranks(weights / world_size()))
    return weights


EXERCISE = Exercise(
    task="Let each rank take steps of its own, and average the weights after every few of them.",
    reference=local_sgd,
    cases=cases,
    answers=answers,
    run=simulated,
    by_hand=False,
    expect=expected,
    difference=difference,
    demand=demand_on_real_ranks(act, (2, 3), real, judge),
    kinships=KINSHIPS,
)
