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
from gpulearn.judge.exercise import Case
from gpulearn.judge.one_process import draw_weights, flat_weights, train_as_one
from gpulearn.judge.ranks import apart, failed_alike
from gpulearn.parallel.communicator import rank, rank_of_this_thread
from gpulearn.require import shown
from gpulearn_lessons.broken_tutorials.whole_program import case_whole_program
from gpulearn_lessons.data_parallel.rank_exercise import (
    RanksOutcome,
    rank_exercise,
    same_notes,
    torch_on_simulated_ranks,
    with_optimizer_loaded,
)

TOLERANCE = 1e-9  # relative; all is in float64
NO_GROUP = (
    "Default process group has not been initialized, please make sure to call init_process_group."
)
USES_GROUP = (
    "all_reduce", "reduce", "broadcast", "barrier", "get_rank", "get_world_size",
)  # fmt: skip


@dataclass(frozen=True)
class ProgramRun:
    machines: tuple[int, ...]  # ranks on each machine, one for each of its GPUs
    steps: int  # batches of each rank
    rows: int  # of each batch
    lr: float  # learning rate

    @property
    def ranks(self) -> int:
        return sum(self.machines)

    @property
    def places(self) -> list[tuple[int, int]]:
        """For each rank, its number on its machine, and how many GPUs that has."""
        return [(local, count) for count in self.machines for local in range(count)]

    def batches(self, rank: int) -> list[tuple[Tensor, Tensor]]:
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
class ProgramNotes:
    weights: Any  # of its model, afterwards; described if none is returned
    used: list[int] = field(default_factory=list)  # the GPUs that it took
    moved: bool = True  # whether its model was moved to a device
    calls: tuple[str, ...] = ("join", "leave")  # in their order


CALLS: dict[int, list[str]] = {}  # by simulated rank, which get copies of everything else


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
def group_of_this_thread() -> Iterator[None]:
    """While simulated ranks run: who has not joined a process group has none."""
    CALLS.clear()

    def join(backend: str | None = None, *args: Any, **kwargs: Any) -> None:
        if backend not in (None, "gloo", "cpu:gloo"):
            raise ValueError(f"init_process_group was given {backend!r}, and here is gloo alone")
        if joined():
            raise ValueError("trying to initialize the default process group twice!")
        CALLS.setdefault(rank(), []).append("join")

    def leave(group: Any = None) -> None:
        if not joined():
            raise ValueError(NO_GROUP)
        CALLS[rank()].append("leave")

    def joined() -> bool:
        return CALLS.get(rank(), [])[-1:] == ["join"]

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


def act(answer: Answer, plan: ProgramRun) -> ProgramNotes:
    """Be one rank, with weights of its own at the start."""
    local, count = plan.places[rank()]
    model, gpus = MovedModel(100 + rank()), FakeDevices(count)
    returned = answer(model, plan.batches(rank()), gpus, local, plan.lr)
    inner = getattr(returned, "module", returned)
    weights = flat_weights(inner) if isinstance(inner, nn.Module) else shown(returned)
    moved = any(isinstance(argument, torch.device) for argument in model.moved)
    return ProgramNotes(weights, sorted(gpus.used), moved, tuple(CALLS.get(rank(), ())))


def act_on_real_ranks(answer: Answer, plan: ProgramRun) -> ProgramNotes:
    """Be one real rank: the launcher has joined, and will leave."""
    calls = CALLS[rank()] = []
    before = dist.init_process_group, dist.destroy_process_group
    dist.init_process_group = lambda *args, **kwargs: calls.append("join")
    dist.destroy_process_group = lambda *args, **kwargs: calls.append("leave")
    try:
        return act(answer, plan)
    finally:
        dist.init_process_group, dist.destroy_process_group = before


def target(plan: ProgramRun) -> list[ProgramNotes]:
    """One process with the batches of all ranks."""
    model = MovedModel(100)
    batches = zip(*map(plan.batches, range(plan.ranks)), strict=True)
    train_as_one(model, batches, functional.mse_loss, plan.lr)
    return [ProgramNotes(flat_weights(model), [local]) for local, _ in plan.places]


def difference(got: RanksOutcome, want: RanksOutcome) -> str | None:
    """One sentence on the first evidence that is not as it should be, or None."""
    for number, (own, (local, count)) in enumerate(zip(got.ranks, got.work.places, strict=True)):
        if own.used != [local]:
            took = ", ".join(map(str, own.used)) or "none"
            return (
                f"rank {number} takes GPU {took} of its machine's {count}, and its number there "
                f"is {local}"
            )
        if not own.moved:
            return f"rank {number}'s model is never moved to its GPU"
    first, right = got.ranks[0].weights, want.ranks[0].weights
    for number, own in enumerate(got.ranks):
        if isinstance(own.weights, str):
            return f"rank {number} returns {own.weights}, expected the model"
        if fault := apart(number, own.weights, first):
            return fault
    away = np.linalg.norm(first - right) / np.linalg.norm(right)
    if not away <= TOLERANCE:
        return (
            f"the replicas are equal, and {away:.2g} away from one process with the batches of "
            f"all ranks, relative to its weights"
        )
    for number, own in enumerate(got.ranks):
        if own.calls != ("join", "leave"):
            fault = (
                "leaves its process group undestroyed" if own.calls else "joins no process group"
            )
            return f"rank {number} {fault}" if len(own.calls) < 2 else f"rank {number} joins twice"
    return None


EXERCISE = rank_exercise(
    task="Mend the program, so that its ranks train one network, each on its own GPU.",
    reference=case_whole_program,
    cases=cases,
    ready=with_optimizer_loaded,
    act=act,
    act_for_real=act_on_real_ranks,
    within=group_of_this_thread,
    target=target,
    difference=difference,
    kinships=(failed_alike(same_notes),),
    counts=(2,),
    real=lambda ranks: [ProgramRun((ranks,), 3, 4, 0.1)],
)
