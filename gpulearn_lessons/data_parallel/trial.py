"""Trial of gradient averaging: replicas with known gradients, on simulated and real ranks.

While an answer is tried on simulated ranks, the collectives of `torch.distributed` are ours.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
import torch.distributed as dist
from torch import Tensor, nn

from gpulearn.judge.answers import Answer
from gpulearn.judge.compare import wrong_numbers
from gpulearn.judge.exercise import Case
from gpulearn.judge.ranks import (
    RankFailure,
    failed_alike,
    failed_the_same,
    on_simulated_ranks,
    plain,
    watched,
)
from gpulearn.parallel.allreduce import all_reduce
from gpulearn.parallel.averaging import average_gradients
from gpulearn.parallel.collectives import broadcast, reduce
from gpulearn.parallel.communicator import barrier, rank, rank_of_this_thread, world_size
from gpulearn.parallel.torch_collectives import begin_sum

TOLERANCE = 1e-5  # a share may be rounded to float32 before the gradient is multiplied by it


def two_layers() -> nn.Module:
    """Four parameters, of 15, 5, 10 and 2 numbers."""
    return nn.Sequential(nn.Linear(3, 5), nn.ReLU(), nn.Linear(5, 2))


def convolution() -> nn.Module:
    """Four parameters: one number, 18 of a filter, 24 and 3 of a block inside of the model."""
    head = nn.Sequential(nn.Flatten(), nn.Linear(8, 3))
    model = nn.Sequential(nn.Conv2d(1, 2, 3, bias=False), nn.ReLU(), head)
    model.register_parameter("temperature", nn.Parameter(torch.zeros(())))
    return model


def channels_last() -> nn.Module:
    """Two parameters, of 54 and 3 numbers; the filter's channels lie side by side in memory."""
    model: Any = nn.Sequential(nn.Conv2d(2, 3, 3), nn.ReLU())
    model.to(memory_format=torch.channels_last)
    return nn.Sequential(*model)


def tied() -> nn.Module:
    """Three parameters: 16 of a weight that two layers share, and each one's 4 of a bias."""
    first, second = nn.Linear(4, 4), nn.Linear(4, 4)
    second.weight = first.weight
    return nn.Sequential(first, nn.ReLU(), second)


@dataclass(frozen=True)
class ReplicaStep:
    """What the ranks have after `backward`."""

    samples: tuple[int, ...]  # of each rank; a rank with none has no gradients
    build: Callable[[], nn.Module] = two_layers  # makes the model
    unused: tuple[tuple[int, int], ...] = ()  # pairs (rank, parameter) without a gradient
    frozen: tuple[int, ...] = ()  # parameters that need no gradient
    dtype: torch.dtype = torch.float32  # of the parameters
    scale: float = 1.0  # of the gradients

    @property
    def ranks(self) -> int:
        return len(self.samples)

    def replica(self, rank: int) -> nn.Module:
        """A rank's model; its parameters are its own too, so that an average of them is seen."""
        model = self.build().to(self.dtype)
        for number, parameter in enumerate(model.parameters()):
            parameter.requires_grad_(number not in self.frozen)
            with torch.no_grad():
                parameter.fill_(1 + number + rank / 4)
            gradient = self.gradient(rank, number, parameter)
            if gradient is not None:  # in the order in which the parameter lies in memory
                parameter.grad = torch.empty_like(parameter).copy_(torch.from_numpy(gradient))
        return model

    def gradient(self, rank: int, number: int, parameter: Tensor) -> np.ndarray | None:
        """A parameter's gradient on a rank: whole numbers other than zero, times the scale."""
        if (rank, number) in self.unused or number in self.frozen or not self.samples[rank]:
            return None
        random = np.random.default_rng((rank, number))
        whole = random.integers(1, 9, parameter.shape) * random.choice([-1, 1], parameter.shape)
        return np.asarray(whole * self.scale, dtype=plain(parameter).dtype)

    def means(self) -> list[np.ndarray | None]:
        """What each gradient should become; None where no rank has one."""
        means: list[np.ndarray | None] = []
        for number, parameter in enumerate(self.replica(0).parameters()):
            parts = [self.gradient(rank, number, parameter) for rank in range(self.ranks)]
            weighed = [n * g for n, g in zip(self.samples, parts, strict=True) if g is not None]
            means.append(np.sum(weighed, axis=0) / sum(self.samples) if weighed else None)
        return means


@dataclass(frozen=True)
class RankOutcome:
    """An answer's outcome on all ranks."""

    step: ReplicaStep  # what was to be done
    failure: RankFailure | None = None  # how it failed, if it did
    # each rank's, afterwards
    gradients: list[list[np.ndarray | None]] = field(default_factory=list)
    # each rank's, afterwards; None for a rank whose parameters are as they were
    parameters: list[list[np.ndarray] | None] = field(default_factory=list)
    called: bool = False  # whether it calls the function that it is to be
    swapped: str = ""  # what some rank's model has that it had not before, if anything


def act(answer: Answer, step: ReplicaStep) -> tuple[Any, Any, bool, str]:
    """Be one rank: build its replica, let the answer average, and look."""
    model = step.replica(rank())
    own = list(model.parameters())
    trained = [parameter.requires_grad for parameter in own]
    before = [plain(parameter) for parameter in own]
    with watched(answer, average_gradients) as called:
        answer(model, step.samples[rank()])
    gradients = [None if p.grad is None else plain(p.grad) for p in model.parameters()]
    after = [plain(parameter) for parameter in model.parameters()]
    swapped = ""
    if [id(parameter) for parameter in model.parameters()] != [id(parameter) for parameter in own]:
        swapped = "the model has other parameters afterwards, which no optimizer knows of"
    elif [parameter.requires_grad for parameter in own] != trained:
        swapped = "requires_grad changes, and what was frozen would be trained or the reverse"
    unchanged = not swapped and all(map(np.array_equal, before, after))
    return gradients, None if unchanged else after, bool(called), swapped


def simulated(answer: Answer, case: Case) -> RankOutcome:
    step: ReplicaStep = case.args[0]
    with torch_on_simulated_ranks():
        run = on_simulated_ranks(act, step.ranks, answer, step)
    return RankOutcome(step, run) if isinstance(run, RankFailure) else gathered(step, run.results)


def gathered(step: ReplicaStep, ranks: Sequence[Any]) -> RankOutcome:
    gradients, parameters, called, swapped = zip(*ranks, strict=True)
    return RankOutcome(step, None, list(gradients), list(parameters), any(called), max(swapped))


def expected(case: Case) -> RankOutcome:
    step: ReplicaStep = case.args[0]
    return RankOutcome(step, None, [step.means()] * step.ranks, [None] * step.ranks)


def difference(got: RankOutcome, want: RankOutcome) -> str | None:
    if got.failure:
        meet = got.failure.kind == "misfit" and not got.step.unused and all(got.step.samples)
        question = " (do all ranks go through the parameters in the same order?)" if meet else ""
        return f"{got.failure.sentence}{question}"
    if got.called:
        return "it calls the library's average_gradients: write it from sum_over_ranks"
    if got.swapped:
        return got.swapped
    changed = [number for number, after in enumerate(got.parameters) if after is not None]
    if changed:
        return f"the parameters change on rank {changed[0]}: only the gradients should"
    names = [name for name, _ in got.step.replica(0).named_parameters()]
    for number, (rows, means) in enumerate(zip(got.gradients, want.gradients, strict=True)):
        for name, gradient, mean in zip(names, rows, means, strict=True):
            if sentence := _gradient(gradient, mean):
                return f"on rank {number}, the gradient of {name} {sentence}"
    return None


def _gradient(value: np.ndarray | None, mean: np.ndarray | None) -> str | None:
    if mean is None:
        if value is None or not value.any():  # NaN is not zero
            return None
        return "is not zero, though no rank has used it"
    if value is None:
        return "is None, though a rank has used it"
    wrong = wrong_numbers(value, mean, TOLERANCE * np.abs(mean).max())
    return wrong and f"has {wrong}"


def judge(step: ReplicaStep, ranks: list[Any]) -> str | None:
    return difference(gathered(step, ranks), expected(Case("", (step,))))


def _same_numbers(one: RankOutcome, other: RankOutcome) -> bool:
    return (one.called, one.swapped) == (other.called, other.swapped) and all(
        _close(a, b)
        for rank in range(one.step.ranks)
        for a, b in zip(
            [*one.gradients[rank], *(one.parameters[rank] or ())],
            [*other.gradients[rank], *(other.parameters[rank] or ())],
            strict=True,
        )
    )


KINSHIPS = (failed_the_same(_same_numbers), failed_alike(_same_numbers))


def _close(one: np.ndarray | None, other: np.ndarray | None) -> bool:
    if one is None or other is None:
        return one is other
    size = np.abs(other[np.isfinite(other)]).max(initial=0)  # what cancels leaves its roundings
    return bool(np.allclose(one, other, rtol=0, atol=TOLERANCE * size, equal_nan=True))


OPERATIONS = {dist.ReduceOp.SUM: "sum", dist.ReduceOp.MAX: "max", dist.ReduceOp.MIN: "min"}


@contextmanager
def torch_on_simulated_ranks() -> Iterator[None]:
    """Let torch's collectives be ours on simulated ranks; whoever is none has torch's own."""
    before = {name: getattr(dist, name) for name in OURS}
    for name, ours in OURS.items():
        setattr(dist, name, _either(ours, before[name]))
    try:
        yield
    finally:
        for name, own in before.items():
            setattr(dist, name, own)


def _either(ours: Callable[..., Any], own: Callable[..., Any]) -> Callable[..., Any]:
    def call(*args: Any, **options: Any) -> Any:
        return (own if rank_of_this_thread() is None else ours)(*args, **options)

    return call


def _all_reduce(
    tensor: Tensor, op: Any = dist.ReduceOp.SUM, group: Any = None, async_op: bool = False
) -> Any:
    if async_op and op == dist.ReduceOp.SUM:
        return begin_sum(tensor)
    all_reduce(tensor, _named(op, async_op))
    return None


def _reduce(
    tensor: Tensor,
    dst: int = 0,
    op: Any = dist.ReduceOp.SUM,
    group: Any = None,
    async_op: bool = False,
) -> None:
    reduce(tensor, dst, _named(op, async_op))


def _broadcast(tensor: Tensor, src: int = 0, group: Any = None, async_op: bool = False) -> None:
    _named(dist.ReduceOp.SUM, async_op)
    broadcast(tensor, src)


def _named(op: Any, async_op: bool) -> str:
    if async_op:
        raise ValueError("on simulated ranks only a sum by all_reduce takes async_op=True")
    if op not in OPERATIONS:
        name = str(op).rpartition(".")[2]
        raise ValueError(f"ReduceOp.{name} is not there on simulated ranks: use ReduceOp.SUM")
    return OPERATIONS[op]


def _absent(name: str) -> Callable[..., Any]:
    def call(*args: Any, **options: Any) -> Any:
        raise ValueError(
            f"{name} is not there on simulated ranks: use a collective of gpulearn.parallel"
        )

    return call


ABSENT = (
    "all_gather",
    "all_gather_into_tensor",
    "all_gather_object",
    "all_to_all",
    "gather",
    "reduce_scatter",
    "reduce_scatter_tensor",
    "scatter",
)

OURS: dict[str, Callable[..., Any]] = {
    "all_reduce": _all_reduce,
    "reduce": _reduce,
    "broadcast": _broadcast,
    "barrier": lambda group=None: barrier(),
    "get_rank": lambda group=None: rank(),
    "get_world_size": lambda group=None: world_size(),
    **{name: _absent(name) for name in ABSENT},
}
