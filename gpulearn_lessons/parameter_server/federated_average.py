"""Federated averaging: clients with unequal data, and some with none."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from gpulearn.judge.answers import Answer
from gpulearn.judge.exercise import Case
from gpulearn_lessons.parameter_server.server.local_steps import federated_average
from gpulearn_lessons.parameter_server.trial import averaging_exercise

# weights of clients without samples, by rank: replacing only NaN, or only infinities, or neither
# is not enough
IDLE = ((np.nan, np.inf, -np.inf), (np.inf, -np.inf), (np.nan,), (100.0, -7.0))


@dataclass(frozen=True)
class Clients:
    """Clients with weights of their own; those without samples have NaN, ∞ or other numbers."""

    samples: tuple[int, ...]
    shape: tuple[int, ...] = (4,)
    dtype: torch.dtype = torch.float64
    broken: int | None = None  # a client with samples whose training ended in NaN

    @property
    def ranks(self) -> int:
        return len(self.samples)

    def weights(self, rank: int) -> Tensor:
        """A client's, after its own training."""
        random = np.random.default_rng((self.ranks, rank))
        numbers = random.normal(size=self.shape) + rank
        if not self.samples[rank]:
            numbers.flat[:] = np.resize(IDLE[rank % len(IDLE)], numbers.size)
        if rank == self.broken:
            numbers.flat[0], numbers.flat[1] = np.nan, np.inf
        return torch.tensor(numbers, dtype=self.dtype)

    def call(self, answer: Answer, rank: int, weights: Tensor) -> Any:
        return answer(weights, self.samples[rank])

    def too_much(self, sent: Sequence[int]) -> None:
        """Nothing is: the answer may compute the shares in any way."""

    def end(self) -> list[np.ndarray]:
        """The mean over all samples, for each client."""
        known = [(n, self.weights(r).numpy()) for r, n in enumerate(self.samples) if n]
        mean = sum(n * weights.astype(np.float64) for n, weights in known) / sum(self.samples)
        return [np.asarray(mean, known[0][1].dtype)] * self.ranks


def cases() -> list[Case]:
    """Equal clients and unequal ones, one that has nothing, one that has all."""
    works = {
        "2 clients with 10 samples each": Clients((10, 10)),
        "2 clients with 3 samples and 1": Clients((3, 1)),
        "3 clients with 800, 50 and 7 samples": Clients((800, 50, 7), (2, 3)),
        "3 clients, of which client 1 had no samples": Clients((5, 0, 2)),
        "4 clients, of which the first two had no samples": Clients((0, 0, 9, 1)),
        "3 clients, of which one has all samples": Clients((0, 6, 0)),
        "4 clients, of which the last, with finite weights, had no samples": Clients((2, 1, 5, 0)),
        "a single client": Clients((12,)),
        "2 clients in float32, with 70,000 samples and 3": Clients(
            (70_000, 3), (2, 2), torch.float32
        ),
        "8 clients with 1 to 8 samples": Clients(tuple(range(1, 9))),
        "3 clients, of which one has no samples and one that trained has NaN and ∞": Clients(
            (4, 0, 2), broken=2
        ),
    }
    return [Case(label, (work,)) for label, work in works.items()]


def real(count: int) -> list[Clients]:
    return [Clients(tuple(range(1, count + 1))), Clients((*range(1, count), 0), (2, 2))]


EXERCISE = averaging_exercise(
    task="Average the clients' weights by their shares of all samples, on every rank.",
    reference=federated_average,
    cases=cases,
    real=real,
)
