"""Federated averaging: clients with unequal data, and some with none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import torch.distributed as dist
from torch import Tensor

from gpulearn.judge.answers import Answer, Answers
from gpulearn.judge.exercise import Case, Exercise
from gpulearn.judge.ranks import demand_on_real_ranks
from gpulearn.parallel.collectives import broadcast, reduce
from gpulearn.parallel.communicator import rank, world_size
from gpulearn.parallel.torch_collectives import sum_over_ranks
from gpulearn_lessons.parameter_server.server.local_steps import federated_average
from gpulearn_lessons.parameter_server.trial import (
    KINSHIPS,
    act,
    difference,
    expected,
    judge,
    simulated,
)

answers = Answers(federated_average)

TOTAL = "total = sum_over_ranks(torch.tensor(float(samples), dtype=torch.float64)).item()"
SHARE = "samples / total"
WEIGH = "    if samples:\n        weights *= samples / total\n    else:\n        weights.zero_()\n"
SUM = "return sum_over_ranks(weights)"
SUMMED = (
    "that is the sum of all weights: multiply each client's by its share first, its samples "
    "divided by those of all ranks."
)

ALIKE = "each client that has samples counts the same: the mean is over samples."
HIDDEN = (
    "NaN and ∞ are replaced in the weights of a client that trained, too, so that the mean hides "
    "what went wrong there. Ask for the number of samples, not for the numbers in the weights."
)


# what clients without samples have in their weights, one after another: looking for NaN alone, or
# for infinities alone, must not be enough
NO_NUMBERS = ((np.nan, np.inf, -np.inf), (np.inf, -np.inf), (np.nan,))


@dataclass(frozen=True)
class Clients:
    """Clients with weights of their own; those without samples have NaN or ∞ in theirs."""

    samples: tuple[int, ...]
    shape: tuple[int, ...] = (4,)
    dtype: torch.dtype = torch.float64
    broken: int | None = None  # a client with samples whose training ended in NaN

    @property
    def ranks(self) -> int:
        """How many clients there are."""
        return len(self.samples)

    def weights(self, rank: int) -> Tensor:
        """A client's, after its own training."""
        random = np.random.default_rng((self.ranks, rank))
        numbers = random.normal(size=self.shape) + rank
        if not self.samples[rank]:
            numbers.flat[:] = np.resize(NO_NUMBERS[rank % len(NO_NUMBERS)], numbers.size)
        if rank == self.broken:
            numbers.flat[0], numbers.flat[1] = np.nan, np.inf
        return torch.tensor(numbers, dtype=self.dtype)

    def call(self, answer: Answer, rank: int, weights: Tensor) -> Any:
        """Let the answer average."""
        return answer(weights, self.samples[rank])

    def too_much(self, sent: Sequence[int]) -> None:
        """Nothing is: how the clients come to their shares is up to the answer."""

    def end(self) -> list[np.ndarray]:
        """The mean over all samples, for each client."""
        known = [(n, self.weights(r).numpy()) for r, n in enumerate(self.samples) if n]
        mean = sum(n * one.astype(np.float64) for n, one in known) / sum(self.samples)
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
        "1 client alone": Clients((12,)),
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
    """What real ranks average, one after another."""
    return [Clients(tuple(range(1, count + 1))), Clients((*range(1, count), 0), (2, 2))]


answers.edit(
    {SHARE: "1 / world_size()"},
    "each client counts the same: the mean is over samples, and one with 800 of them counts 16 "
    "times as much as one with 50.",
    world_size=world_size,
)
answers.edit(
    {WEIGH: "    weights /= world_size()\n"},
    "each client counts the same, and one without samples as well, whose weights need be no "
    "numbers: weigh each by its share of all samples, and take zeros where there are none.",
    world_size=world_size,
)
answers.edit(
    {TOTAL: "total = sum_over_ranks(torch.tensor(float(samples > 0))).item()",
     SHARE: "1 / total"},
    ALIKE,
)  # fmt: skip
answers.edit(
    {TOTAL: "total = sum_over_ranks(torch.tensor(float(samples > 0))).item()",
     WEIGH: "    weights.nan_to_num_(0, 0, 0)\n    weights /= total\n"},
    ALIKE,
)  # fmt: skip
answers.edit(
    {WEIGH: "    weights *= samples / total\n"},
    "a client without samples spoils the mean: its weights may be NaN, as after the mean of an "
    "empty batch, and 0 · NaN is NaN. Put zeros in its place.",
)
answers.edit(
    {WEIGH: "    weights[weights.isnan()] = 0\n    weights *= samples / total\n"},
    "a client without samples spoils the mean: its weights may be infinite as well, and 0 · ∞ is "
    "NaN. Put zeros in place of all of them.",
)
answers.edit(
    {WEIGH: "    weights.nan_to_num_()\n    weights *= samples / total\n"},
    HIDDEN,
)
answers.edit(
    {WEIGH: "    weights.nan_to_num_(0, 0, 0)\n    weights *= samples / total\n"},
    HIDDEN,
)
answers.edit(
    {WEIGH: "    if not weights.isfinite().all():\n        weights.zero_()\n"
     "    weights *= samples / total\n"},
    HIDDEN,
)  # fmt: skip
answers.edit(
    {f"    {TOTAL}\n": "", WEIGH: f"    if samples:\n        {TOTAL}\n        weights *= {SHARE}\n"
     "    else:\n        weights.zero_()\n"},
    "a client without samples leaves out the sum of the counts, so that its weights meet the "
    "others' counts: all ranks have to call both sums, in the same order.",
)  # fmt: skip
answers.edit(
    {"        weights.zero_()\n": "        return weights\n"},
    "a client without samples returns before the collective, and the others wait for it for ever: "
    "it adds zeros, and gets the mean.",
)
answers.edit(
    {SHARE: "samples"},
    "the sum is not divided by the number of all samples.",
)
answers.edit(
    {SHARE: "samples // total"},
    "// rounds the share down to 0: divide with /.",
)
answers.edit(
    {SHARE: "total / samples"},
    "the share is upside down: samples / total is at most 1.",
)
answers.edit(
    {SHARE: "samples / world_size()"},
    "it divides by the number of clients: the weights of a mean add up to 1, so divide by the "
    "number of all samples.",
    world_size=world_size,
)
answers.edit(
    {SUM: "return sum_over_ranks(weights) / world_size()"},
    "it divides twice: the shares add up to 1, so that their sum is the mean already.",
    world_size=world_size,
)
answers.edit(
    {WEIGH: "    if not samples:\n        weights.zero_()\n",
     SUM: "return sum_over_ranks(weights).mul_(samples / total)"},
    "it weighs after the sum, each client by its own share: weigh before it.",
)  # fmt: skip
answers.edit(
    {WEIGH: "    if not samples:\n        weights.zero_()\n"},
    SUMMED,
)
answers.edit(
    {SUM: "return reduce(weights, root=0)"},
    "only rank 0 gets the mean: a reduce ends at one rank. All clients go on from it.",
    reduce=reduce,
)
answers.edit(
    {SUM: "return broadcast(weights, root=0)"},
    "all get rank 0's weights, times its share: add them over all clients.",
    broadcast=broadcast,
)
answers.edit(
    {SUM: "if rank() == 0:\n        sum_over_ranks(weights)\n    return weights"},
    "a collective inside of if rank() == 0 is a deadlock: all ranks have to call it.",
    rank=rank,
)
answers.edit(
    {"weights *= samples / total": "weights = weights * samples / total"},
    "the tensor that was given stays as it was: weights = weights * … makes a new one. Change it "
    "in place, with *=.",
)
answers.edit(
    {SUM: "sum_over_ranks(weights)"},
    "it returns nothing: return the weights.",
)
answers.edit(
    {TOTAL: "total = float(samples)"},
    SUMMED,
)
answers.variant({TOTAL: "total = sum_over_ranks(torch.tensor(float(samples)))"})
answers.variant(
    {TOTAL: "total = torch.tensor(samples)\n    dist.all_reduce(total)",
     SHARE: "samples / total.item()"},
    dist=dist,
)  # fmt: skip


@answers.right
def by_sums(weights: Tensor, samples: int) -> Tensor:
    weighed = weights * samples if samples else torch.zeros_like(weights)
    counts = torch.tensor([samples], dtype=torch.float64)
    sum_over_ranks(counts)
    weights.copy_(sum_over_ranks(weighed.double()) / counts.item())
    return weights


EXERCISE = Exercise(
    task="Average the clients' weights by their shares of all samples, on every rank.",
    reference=federated_average,
    cases=cases,
    answers=answers,
    run=simulated,
    by_hand=False,
    expect=expected,
    difference=difference,
    demand=demand_on_real_ranks(act, (2, 3), real, judge),
    kinships=KINSHIPS,
)
