"""A program for torchrun whose ranks train each for itself, without an error: to be mended."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.parallel import DistributedDataParallel

from gpulearn.judge.answers import Answer
from gpulearn.judge.exercise import Case, Exercise
from gpulearn.judge.one_process import draw_weights, flat_weights, train_as_one
from gpulearn.judge.ranks import (
    RankFailure,
    apart,
    demand_on_real_ranks,
    failed_alike,
    on_simulated_ranks,
    same_result,
)
from gpulearn.parallel.communicator import rank, rank_of_this_thread
from gpulearn.require import shown
from gpulearn_lessons.broken_tutorials.whole_program import case_whole_program
from gpulearn_lessons.data_parallel.trial import torch_on_simulated_ranks

TOLERANCE = 1e-9  # relative; all is in float64
NO_GROUP = (
    "Default process group has not been initialized, please make sure to call init_process_group."
)
USES_GROUP = (
    "all_reduce", "reduce", "broadcast", "barrier", "get_rank", "get_world_size",
)  # fmt: skip


@dataclass(frozen=True)
class ProgramRun:
    """What the ranks train."""

    machines: tuple[int, ...]  # ranks on each machine, one for each of its GPUs
    steps: int  # batches of each rank
    rows: int  # of each batch
    lr: float  # learning rate

    @property
    def places(self) -> list[tuple[int, int]]:
        """For each rank, its number on its machine, and how many GPUs that has."""
        return [(local, count) for count in self.machines for local in range(count)]

    def batches(self, rank: int) -> list[tuple[Tensor, Tensor]]:
        """One rank's own."""
        random = np.random.default_rng((rank, self.rows))
        shapes = (self.rows, 3), (self.rows, 2)
        return [
            (torch.from_numpy(random.normal(size=shapes[0])),
             torch.from_numpy(random.normal(size=shapes[1])))
            for _ in range(self.steps)
        ]  # fmt: skip


class MovedModel(nn.Sequential):
    """A small network in float64, with weights of its own for each rank, that knows of moves."""

    def __init__(self, seed: int) -> None:
        super().__init__(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))
        self.double()
        self.moved: list[Any] = []
        draw_weights(self, np.random.default_rng(seed))

    def to(self, *args: Any, **kwargs: Any) -> Any:
        """Note it, and move."""
        self.moved += [*args, *kwargs.values()]
        return super().to(*args, **kwargs)


class FakeDevices(list[torch.device]):
    """The GPUs of a machine, for each of which the CPU stands in; notes which are taken."""

    def __init__(self, count: int) -> None:
        super().__init__([torch.device("cpu")] * count)
        self.used: set[int] = set()

    def __getitem__(self, place: Any) -> Any:
        item = super().__getitem__(place)
        self.used |= set(range(len(self))[place : place + 1 or None])
        return item


@dataclass(frozen=True)
class ProgramOutcome:
    """The outcome of a run."""

    plan: ProgramRun  # what was to be trained
    failure: RankFailure | None = None  # how it failed, if it did
    # of each rank's model, afterwards; described if none is returned
    weights: list[Any] = field(default_factory=list)
    used: list[list[int]] = field(default_factory=list)  # of each rank, the GPUs that it took
    # of each rank, whether its model was moved to a device
    moved: list[bool] = field(default_factory=list)
    # of each rank, "join" and "leave" in their order
    calls: list[list[str]] = field(default_factory=list)


def cases() -> list[Case]:
    """One machine and several, one GPU in each and several, one step and several."""
    plans = {
        "a machine with two GPUs, and a rate of 0": ProgramRun((2,), 1, 4, 0.0),
        "a machine with two GPUs": ProgramRun((2,), 3, 4, 0.1),
        "two machines with two GPUs each": ProgramRun((2, 2), 3, 2, 0.1),
        "machines with one and with two GPUs": ProgramRun((1, 2), 2, 3, 0.2),
        "one GPU": ProgramRun((1,), 2, 4, 0.1),
    }
    return [Case(label, (plan,)) for label, plan in plans.items()]


@contextmanager
def group_of_this_thread(calls: dict[int, list[str]]) -> Iterator[None]:
    """While simulated ranks run: who has not joined a process group has none."""

    def join(backend: str | None = None, *args: Any, **kwargs: Any) -> None:
        if backend not in (None, "gloo", "cpu:gloo"):
            raise ValueError(f"init_process_group was given {backend!r}, and here is gloo alone")
        if calls[rank()][-1:] == ["join"]:
            raise ValueError("trying to initialize the default process group twice!")
        calls[rank()].append("join")

    def leave(group: Any = None) -> None:
        if not joined():
            raise ValueError(NO_GROUP)
        calls[rank()].append("leave")

    def joined() -> bool:
        return calls[rank()][-1:] == ["join"]

    def member(own: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            if rank_of_this_thread() is not None and not joined():
                raise ValueError(NO_GROUP)
            return own(*args, **kwargs)

        return call

    def wrapper(self: Any, *args: Any, **kwargs: Any) -> None:
        raise ValueError("DistributedDataParallel needs real ranks; write out what it does")

    ours = {"init_process_group": join, "destroy_process_group": leave, "is_initialized": joined}
    with torch_on_simulated_ranks():
        before = {name: getattr(dist, name) for name in (*ours, *USES_GROUP)}
        init = DistributedDataParallel.__init__
        for name, own in before.items():
            setattr(dist, name, ours.get(name) or member(own))
        DistributedDataParallel.__init__ = wrapper  # type: ignore[method-assign]
        try:
            yield
        finally:
            DistributedDataParallel.__init__ = init  # type: ignore[method-assign]
            for name, own in before.items():
                setattr(dist, name, own)


def act(answer: Answer, plan: ProgramRun) -> tuple[Any, list[int], bool]:
    """Be one rank, with weights of its own at the start."""
    local, count = plan.places[rank()]
    model, gpus = MovedModel(100 + rank()), FakeDevices(count)
    returned = answer(model, plan.batches(rank()), gpus, local, plan.lr)
    inner = getattr(returned, "module", returned)
    weights = flat_weights(inner) if isinstance(inner, nn.Module) else shown(returned)
    moved = any(isinstance(argument, torch.device) for argument in model.moved)
    return weights, sorted(gpus.used), moved


def act_on_real_ranks(answer: Answer, plan: ProgramRun) -> tuple[Any, list[int], bool, list[str]]:
    """Be one real rank: the launcher has joined, and will leave."""
    calls: list[str] = []
    before = dist.init_process_group, dist.destroy_process_group
    dist.init_process_group = lambda *args, **kwargs: calls.append("join")
    dist.destroy_process_group = lambda *args, **kwargs: calls.append("leave")
    try:
        return *act(answer, plan), calls
    finally:
        dist.init_process_group, dist.destroy_process_group = before


def run(answer: Answer, case: Case) -> ProgramOutcome:
    plan: ProgramRun = case.args[0]
    torch.optim.SGD(MovedModel(0).parameters())  # torch loads much for its first; no rank's time
    calls: dict[int, list[str]] = {number: [] for number in range(len(plan.places))}
    with group_of_this_thread(calls):
        ran = on_simulated_ranks(act, len(plan.places), answer, plan)
    if isinstance(ran, RankFailure):
        return ProgramOutcome(plan, ran)
    weights, used, moved = map(list, zip(*ran.results, strict=True))
    return ProgramOutcome(plan, None, weights, used, moved, list(calls.values()))


def expected(case: Case) -> ProgramOutcome:
    """One process with the batches of all ranks."""
    plan: ProgramRun = case.args[0]
    model = MovedModel(100)
    ranks = range(len(plan.places))
    batches = zip(*map(plan.batches, ranks), strict=True)
    train_as_one(model, batches, functional.mse_loss, plan.lr)
    return ProgramOutcome(plan, None, [flat_weights(model) for _ in ranks])


def difference(got: ProgramOutcome, want: ProgramOutcome) -> str | None:
    """One sentence on the first evidence that is not as it should be, or None."""
    if got.failure:
        return got.failure.sentence
    for number, (local, count) in enumerate(got.plan.places):
        if got.used[number] != [local]:
            took = ", ".join(map(str, got.used[number])) or "none"
            return (
                f"rank {number} takes GPU {took} of its machine's {count}, and its number there "
                f"is {local}"
            )
        if not got.moved[number]:
            return f"rank {number}'s model is never moved to its GPU"
    for number, weights in enumerate(got.weights):
        if isinstance(weights, str):
            return f"rank {number} returns {weights}, expected the model"
        if fault := apart(number, weights, got.weights[0]):
            return fault
    away = np.linalg.norm(got.weights[0] - want.weights[0]) / np.linalg.norm(want.weights[0])
    if not away <= TOLERANCE:
        return (
            f"the replicas are equal, and {away:.2g} away from one process with the batches of "
            f"all ranks, relative to its weights"
        )
    for number, calls in enumerate(got.calls):
        if calls != ["join", "leave"]:
            fault = (
                "joins no process group" if not calls else "leaves its process group undestroyed"
            )
            return f"rank {number} {fault}" if len(calls) < 2 else f"rank {number} joins twice"
    return None


def judge(plan: ProgramRun, ranks: list[Any]) -> str | None:
    ran = ProgramOutcome(plan, None, *map(list, zip(*ranks, strict=True)))
    return difference(ran, expected(Case("", (plan,))))


@failed_alike
def same(one: ProgramOutcome, other: ProgramOutcome) -> bool:
    """Whether two outcomes are the same numbers and the same traces, or the same failure."""
    traces = [(ran.used, ran.moved, ran.calls) for ran in (one, other)]
    return traces[0] == traces[1] and all(map(same_result, one.weights, other.weights))


EXERCISE = Exercise(
    task="Mend the program, so that its ranks train one network, each on its own GPU.",
    reference=case_whole_program,
    cases=cases,
    run=run,
    by_hand=False,
    expect=expected,
    difference=difference,
    kinships=(same,),
    demand=demand_on_real_ranks(
        act_on_real_ranks, (2,), lambda ranks: [ProgramRun((ranks,), 3, 4, 0.1)], judge
    ),
)
