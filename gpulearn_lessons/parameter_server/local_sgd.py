"""Local steps: each rank trains by itself, and from time to time all average their weights."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from gpulearn.judge.answers import Answer
from gpulearn.judge.exercise import Case
from gpulearn_lessons.parameter_server.server.local_steps import local_sgd
from gpulearn_lessons.parameter_server.trial import averaging_exercise


@dataclass(frozen=True)
class LocalSteps:
    """Ranks with bowls of their own, which differ in curvature and minimum."""

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
        """On two ranks a mean costs two messages, however it is computed."""
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
    return [LocalSteps(count, 5, 2), LocalSteps(count, 6, 3, dtype=torch.float32)]


EXERCISE = averaging_exercise(
    task="Let each rank take steps of its own, and average the weights after every `every` steps.",
    reference=local_sgd,
    cases=cases,
    real=real,
)
