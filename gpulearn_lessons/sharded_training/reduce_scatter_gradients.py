"""ZeRO stage 2 for one block: the mean gradient in shards, and no whole one left."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import nn

from gpulearn.judge.answers import Answer, Answers
from gpulearn.judge.exercise import Case, Exercise
from gpulearn.parallel.allreduce import all_reduce
from gpulearn.parallel.collectives import all_gather, reduce_scatter
from gpulearn.parallel.communicator import rank, world_size
from gpulearn_lessons.sharded_training import trial
from gpulearn_lessons.sharded_training.by_hand import reduce_scatter_gradients
from gpulearn_lessons.sharded_training.trial import Facts, Numbers

answers = Answers(reduce_scatter_gradients)


@dataclass(frozen=True)
class GradientWork:
    """The parameters of one block, with known gradients.

    Attributes:
        ranks: how many.
        shapes: of the parameters.
        unused: pairs (rank, parameter) without a gradient.
    """

    ranks: int
    shapes: tuple[tuple[int, ...], ...]
    unused: tuple[tuple[int, int], ...] = ()

    @property
    def count(self) -> int:
        """Numbers in all parameters."""
        return sum(int(np.prod(shape)) for shape in self.shapes)

    @property
    def length(self) -> int:
        """Numbers in a shard."""
        return -(-self.count // self.ranks)

    def gradient(self, rank: int, number: int) -> np.ndarray:
        """A parameter's gradient on a rank; zeros where it is not used."""
        random = np.random.default_rng((rank, number, self.count))
        found = random.normal(size=self.shapes[number])
        return found * ((rank, number) not in self.unused)

    def act(self, answer: Answer) -> tuple[Numbers, Facts]:
        """Be one rank: what it returns, and what is left of the gradients."""
        parameters = []
        for number, shape in enumerate(self.shapes):
            parameter = nn.Parameter(torch.ones(shape, dtype=torch.float64))
            if (rank(), number) not in self.unused:
                parameter.grad = torch.from_numpy(self.gradient(rank(), number))
            parameters.append(parameter)
        shard = trial.as_row(answer(parameters))
        left = sum(p.grad.numel() for p in parameters if p.grad is not None)
        changed = sum(int((p.detach() != 1).sum()) for p in parameters)
        return {"the numbers that are returned": shard}, {"left": left, "changed": changed}

    def wanted(self, rank: int) -> Numbers:
        """This rank's part of the mean."""
        row = np.zeros(self.ranks * self.length)
        for other in range(self.ranks):
            parts = [self.gradient(other, number).ravel() for number in range(len(self.shapes))]
            row[: self.count] += np.concatenate(parts) / self.ranks
        shard = row[rank * self.length : (rank + 1) * self.length]
        return {"the numbers that are returned": shard}

    def too_much(self, facts: Facts, sent: int) -> str | None:
        """Whether gradients are left, or more was sent than the row's other parts."""
        if facts["left"]:
            return f"the parameters' gradients still hold {facts['left']:,} numbers"
        if facts["changed"]:
            return "the parameters themselves change: their gradients are to go, and no more"
        most = (self.ranks - 1) * self.length * 8
        return f"a rank sends {sent:,} bytes, and {most:,} are enough" if sent > most else None


def cases() -> list[Case]:
    """One rank to five; shapes that they divide and not; parameters that a rank did not use."""
    works = {
        "2 ranks and 4 numbers": GradientWork(2, ((4,),)),
        "2 ranks, shapes (2, 3) and (2,)": GradientWork(2, ((2, 3), (2,))),
        "4 ranks, shapes (3, 3), (3,) and (2, 2)": GradientWork(4, ((3, 3), (3,), (2, 2))),
        "2 ranks and 5 numbers": GradientWork(2, ((5,),)),
        "3 ranks, shapes (2, 2) and (3,)": GradientWork(3, ((2, 2), (3,))),
        "4 ranks, shapes (3, 3), (3,) and (2,)": GradientWork(4, ((3, 3), (3,), (2,))),
        "5 ranks and 3 numbers": GradientWork(5, ((3,),)),
        "3 ranks, of which one did not use the second parameter": GradientWork(
            3, ((4,), (2, 2)), ((1, 1),)
        ),
        "2 ranks, of which one used no parameter": GradientWork(2, ((4,), (2,)), ((1, 0), (1, 1))),
        "1 rank, shapes (2, 2) and (1,)": GradientWork(1, ((2, 2), (1,))),
    }
    return [Case(label, (work,)) for label, work in works.items()]


def real(count: int) -> list[GradientWork]:
    """What real ranks scatter."""
    return [GradientWork(count, ((3, 4), (2,))), GradientWork(count, ((4,), (3,)), ((0, 1),))]


REAL = trial.on_real((3,), real)

MEAN = "reduce_scatter(row) / world_size()"
PAD = "    row = nn.functional.pad(row, (0, -len(row) % world_size()))\n"
FREE = "        parameter.grad = None\n"
ZEROS = "torch.zeros_like(parameter) if parameter.grad is None else parameter.grad"
ROW = "torch.cat(parts)"

answers.edit(
    {MEAN: "reduce_scatter(row)"},
    "that is the sum over the ranks: divide it by N, as one process has the mean over the batch.",
)
answers.edit(
    {FREE: ""},
    "the shards are right, but the whole gradients stay in .grad, and nothing is saved: set each "
    "to None.",
)
answers.edit(
    {FREE: f"{FREE}        parameter.data.zero_()\n"},
    "the shards are right, but the parameters themselves are set to zero: only their gradients are "
    "to go.",
)
answers.edit(
    {PAD: ""},
    "the row is not padded: where N does not divide it, reduce_scatter cuts it into parts of "
    "unequal lengths, and all shards should have ⌈n/N⌉ numbers.",
)
answers.edit(
    {PAD: "    row = row[: len(row) // world_size() * world_size()]\n"},
    "the last gradients are cut off where N does not divide their number, so that these weights "
    "would never be trained: pad with zeros.",
)
answers.edit(
    {PAD: "    row = nn.functional.pad(row, (-len(row) % world_size(), 0))\n"},
    "the zeros stand at the front, and every number is in another place than its weight: they "
    "belong at the end.",
)
answers.edit(
    {MEAN: "all_reduce(row).view(world_size(), -1)[rank()] / world_size()"},
    "the shards are right, but an all-reduce sends every rank all sums: twice the bytes of a "
    "reduce-scatter.",
    all_reduce=all_reduce,
    rank=rank,
)
answers.edit(
    {MEAN: "all_gather(row).mean(0).view(world_size(), -1)[rank()]"},
    "the shards are right, but an all-gather sends every rank the whole gradients of all: N times "
    "the bytes of a reduce-scatter, and N whole rows on each rank.",
    all_gather=all_gather,
    rank=rank,
)
answers.edit(
    {MEAN: "all_reduce(row) / world_size()"},
    "every rank returns the whole gradient: a shard is 1/N of it.",
    all_reduce=all_reduce,
)
answers.edit(
    {MEAN: "row.view(world_size(), -1)[rank()].clone()"},
    "each rank returns a part of its own gradient: the other ranks' are not in it.",
    rank=rank,
)
answers.edit(
    {ZEROS: "parameter.grad"},
    "a gradient is None where a rank did not use a parameter: put zeros there, since the ranks "
    "have to send rows of one length.",
)
answers.edit(
    {ZEROS: ZEROS.replace("torch.zeros_like(parameter)", "torch.zeros(parameter.numel())")},
    "zeros for a missing gradient are float32, torch's default: make them in the parameter's "
    "dtype, as torch.zeros_like does. Otherwise a rank that used no parameter sends another dtype.",
)
answers.edit(
    {PAD: "    row = nn.functional.pad(row, (0, world_size() - len(row) % world_size()))\n"},
    "where N divides the row, N zeros too many are added: no padding is needed there, and "
    "-len(row) % N is 0.",
)
answers.edit(
    {MEAN: "all_reduce(row).view(world_size(), -1)[rank() - 1] / world_size()"},
    "each rank returns another rank's part: rank r has part r.",
    all_reduce=all_reduce,
    rank=rank,
)
answers.edit(
    {
        "parts.append(gradient.flatten())": (
            "flat = gradient.flatten()\n        flat = nn.functional.pad(flat, (0, -len(flat) % "
            "world_size()))\n        parts.append(reduce_scatter(flat) / world_size())"
        ),
        PAD: "",
        MEAN: "row",
    },
    "each parameter is scattered by itself: one row of all parameters is padded once, and goes in "
    "one exchange.",
)
answers.variant({MEAN: "reduce_scatter(row / world_size())"})


@answers.right
def filled_in_place(parameters: Sequence[Any]) -> Any:
    sizes = [p.numel() for p in parameters]
    rows = parameters[0].new_zeros(world_size(), -(-sum(sizes) // world_size())).detach()
    for p, part in zip(parameters, rows.view(-1)[: sum(sizes)].split(sizes), strict=True):
        if p.grad is not None:
            part.copy_(p.grad.flatten())
            p.grad = None
    return reduce_scatter(rows)[0] / world_size()


EXERCISE = Exercise(
    task="Leave each rank its shard of the mean gradient of a block, and no whole gradient.",
    reference=reduce_scatter_gradients,
    cases=cases,
    answers=answers,
    run=trial.simulated,
    by_hand=False,
    expect=trial.expected,
    difference=trial.difference,
    demand=REAL,
    kinships=trial.KINSHIPS,
)
