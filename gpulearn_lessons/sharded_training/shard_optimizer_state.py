"""ZeRO stage 1 on a flat vector of weights: a shard of the optimizer's state on each rank."""

from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Any

import numpy as np
import torch
from torch import Tensor

from gpulearn.judge.answers import Answer
from gpulearn.judge.exercise import Case
from gpulearn.parallel.communicator import rank
from gpulearn_lessons.data_parallel.rank_exercise import with_optimizer_loaded
from gpulearn_lessons.sharded_training import trial
from gpulearn_lessons.sharded_training.by_hand import shard_optimizer_state
from gpulearn_lessons.sharded_training.trial import Facts, Numbers

OPTIMIZERS: dict[str, Any] = {
    "descent": partial(torch.optim.SGD, lr=0.1),
    "momentum": partial(torch.optim.SGD, lr=0.1, momentum=0.9),
    "Adam": partial(torch.optim.Adam, lr=0.01),
    "AdamW": partial(torch.optim.AdamW, lr=0.01, weight_decay=0.3),
}


STEPPED = "the optimizer's numbers"


def _parameters(optimizer: Any) -> list[Tensor]:
    """The tensors that an optimizer steps."""
    return [tensor for group in optimizer.param_groups for tensor in group["params"]]


@dataclass(frozen=True)
class StateWork:
    """Some steps with known gradients."""

    ranks: int  # how many
    count: int  # numbers in the row of weights
    optimizer: str  # a name in `OPTIMIZERS`
    steps: int = 3  # how many

    def numbers(self, *seed: int) -> Tensor:
        values = np.random.default_rng((self.count, *seed)).normal(size=self.count)
        return torch.from_numpy(values)

    def act(self, answer: Answer) -> tuple[Numbers, Facts]:
        """Train on this rank; the optimizers that it makes are looked at afterwards."""
        optimizers: list[Any] = []
        before: list[list[Tensor]] = []

        def make(parameters: Any) -> Any:
            optimizers.append(OPTIMIZERS[self.optimizer](parameters))
            before.append([p.detach().clone() for p in _parameters(optimizers[-1])])
            return optimizers[-1]

        weights = self.numbers(0)
        given = weights[:]  # sees what is written into this memory, whatever `weights` becomes
        step = answer(weights, make)
        for number in range(self.steps):
            step(self.numbers(1 + number, 1 + rank()))
        state = [v for o in optimizers for s in o.state.values() for v in s.values()]
        size = sum(v.numel() for v in state if isinstance(v, Tensor) and v.ndim)
        after = [_parameters(optimizer) for optimizer in optimizers]
        all_padding = rank() * -(-self.count // self.ranks) >= self.count  # zeros stay zeros
        stay = all(map(torch.equal, chain(*before), chain(*after))) and not all_padding
        numbers = {"the weights": trial.as_row(given), STEPPED: "stay" if stay else "change"}
        return numbers, {"state": size}

    def target(self, rank: int) -> Numbers:
        """The weights of one process with the mean gradients."""
        weights = torch.nn.Parameter(self.numbers(0))
        optimizer = OPTIMIZERS[self.optimizer]([weights])
        for number in range(self.steps):
            every = [self.numbers(1 + number, 1 + other) for other in range(self.ranks)]
            weights.grad = torch.stack(every).mean(0)
            optimizer.step()
        return {"the weights": trial.as_row(weights), STEPPED: "change"}

    @property
    def remembered(self) -> int:
        """Numbers that the optimizer remembers of a shard."""
        each = {"descent": 0, "momentum": 1}.get(self.optimizer, 2)
        return each * -(-self.count // self.ranks)

    @property
    def most_bytes(self) -> int:
        """That a rank has to send."""
        return self.steps * 2 * (self.ranks - 1) * -(-self.count // self.ranks) * 8

    def too_much(self, facts: Facts, sent: int) -> str | None:
        """Whether a rank remembers or sends more than its share."""
        if facts["state"] > self.remembered:
            return (
                f"a rank's optimizers remember {facts['state']:,} numbers, and its share is "
                f"{self.remembered:,}"
            )
        if sent > self.most_bytes:
            return f"a rank sends {sent:,} bytes, but {self.most_bytes:,} are enough"
        return None


def cases() -> list[Case]:
    """One rank to five; rows that they divide and that they do not; four optimizers."""
    works = [
        StateWork(2, 4, "descent", 1), StateWork(2, 6, "momentum"), StateWork(4, 8, "Adam"),
        StateWork(2, 5, "descent"), StateWork(3, 10, "momentum"), StateWork(4, 9, "Adam"),
        StateWork(5, 12, "AdamW"), StateWork(1, 3, "momentum"), StateWork(4, 3, "momentum"),
    ]  # fmt: skip
    return [
        Case(
            f"{w.ranks} rank{'s' * (w.ranks > 1)}, {w.count} weights, {w.optimizer}, "
            f"{w.steps} step{'s' * (w.steps > 1)}",
            (w,),
        )
        for w in works
    ]


def real(count: int) -> list[StateWork]:
    return [StateWork(count, 10, "Adam"), StateWork(count, 7, "momentum")]


EXERCISE = trial.sharding_exercise(
    task="Take the step of one process, with 1/N of the optimizer's state on each rank.",
    reference=shard_optimizer_state,
    cases=cases,
    ready=with_optimizer_loaded,
    real=real,
)
