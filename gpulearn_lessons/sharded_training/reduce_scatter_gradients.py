"""ZeRO stage 2 for one block: the mean gradient in shards, and no whole one left."""

from dataclasses import dataclass

import numpy as np
import torch
from torch import nn

from gpulearn.judge.answers import Answer
from gpulearn.judge.exercise import Case
from gpulearn.parallel.communicator import rank
from gpulearn_lessons.sharded_training import trial
from gpulearn_lessons.sharded_training.by_hand import reduce_scatter_gradients
from gpulearn_lessons.sharded_training.trial import Facts, Numbers


@dataclass(frozen=True)
class GradientWork:
    """The parameters of one block, with known gradients."""

    ranks: int  # how many
    shapes: tuple[tuple[int, ...], ...]  # of the parameters
    unused: tuple[tuple[int, int], ...] = ()  # pairs (rank, parameter) without a gradient

    @property
    def count(self) -> int:
        return sum(int(np.prod(shape)) for shape in self.shapes)

    @property
    def length(self) -> int:
        return -(-self.count // self.ranks)

    def gradient(self, rank: int, number: int) -> np.ndarray:
        """A parameter's gradient on a rank; zeros where it is not used."""
        random = np.random.default_rng((rank, number, self.count))
        gradient = random.normal(size=self.shapes[number])
        return gradient * ((rank, number) not in self.unused)

    def act(self, answer: Answer) -> tuple[Numbers, Facts]:
        """Be one rank: what it returns, and what is left of the gradients."""
        parameters = []
        for number, shape in enumerate(self.shapes):
            parameter = nn.Parameter(torch.ones(shape, dtype=torch.float64))
            if (rank(), number) not in self.unused:
                gradient = torch.from_numpy(self.gradient(rank(), number))
                if gradient.ndim == 4:
                    gradient = gradient.to(memory_format=torch.channels_last)
                parameter.grad = gradient
            parameters.append(parameter)
        shard = trial.as_row(answer(parameters))
        left = sum(p.grad.numel() for p in parameters if p.grad is not None)
        changed = sum(int((p.detach() != 1).sum()) for p in parameters)
        return {"the numbers that are returned": shard}, {"left": left, "changed": changed}

    def target(self, rank: int) -> Numbers:
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
            return "the parameters themselves change, and only their gradients should go"
        most = (self.ranks - 1) * self.length * 8
        return f"a rank sends {sent:,} bytes, but {most:,} are enough" if sent > most else None


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
        "2 ranks and a filter whose channels lie side by side": GradientWork(2, ((2, 3, 2, 2),)),
        "1 rank, shapes (2, 2) and (1,)": GradientWork(1, ((2, 2), (1,))),
    }
    return [Case(label, (work,)) for label, work in works.items()]


def real(count: int) -> list[GradientWork]:
    return [GradientWork(count, ((3, 4), (2,))), GradientWork(count, ((4,), (3,)), ((0, 1),))]


EXERCISE = trial.sharding_exercise(
    task="Leave each rank with its shard of a block's mean gradient, and with no full gradient.",
    reference=reduce_scatter_gradients,
    cases=cases,
    real=real,
)
