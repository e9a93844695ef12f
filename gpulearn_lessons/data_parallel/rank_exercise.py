"""Exercises that ranks solve together: on simulated ranks first, then on real ones.

While an answer is tried on simulated ranks, the collectives of `torch.distributed` are ours.
"""

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
import torch.distributed as dist
from torch import Tensor

from gpulearn.judge.answers import Answer
from gpulearn.judge.compare import is_number
from gpulearn.judge.exercise import Case, Exercise
from gpulearn.judge.ranks import (
    Act,
    Kinship,
    RankFailure,
    demand_on_real_ranks,
    failed_alike,
    failed_the_same,
    on_simulated_ranks,
)
from gpulearn.parallel.allreduce import all_reduce
from gpulearn.parallel.collectives import broadcast, reduce
from gpulearn.parallel.communicator import barrier, rank, rank_of_this_thread, world_size
from gpulearn.parallel.torch_collectives import begin_sum
from gpulearn.require import shown


@dataclass(frozen=True)
class RanksOutcome:
    """What an answer came to on all ranks."""

    work: Any  # what was to be done
    failure: RankFailure | None = None  # how it failed, if it did
    ranks: list[Any] = field(default_factory=list)  # what each rank noted
    sent: tuple[int, ...] = ()  # bytes that each rank sent; on simulated ranks
    seconds: float = 0.0  # on the simulated clock


def alike(one: Any, other: Any, relative: float = 1e-7) -> bool:
    """Whether two notes are the same: numbers nearly, relative to the largest; all else exactly."""
    numbers = is_number(one) and is_number(other)
    if type(one) is not type(other) and not numbers:
        return False
    if numbers or isinstance(one, np.ndarray):
        known = np.abs(np.asarray(other)[np.isfinite(other)])
        allowed = relative * known.max(initial=0)  # what cancels leaves its roundings
        return np.shape(one) == np.shape(other) and bool(
            np.allclose(one, other, rtol=0, atol=allowed, equal_nan=True)
        )
    if dataclasses.is_dataclass(one):
        one, other = vars(one), vars(other)
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(alike(one[k], other[k], relative) for k in one)
    if isinstance(one, list | tuple):
        pairs = zip(one, other, strict=False)
        return len(one) == len(other) and all(alike(a, b, relative) for a, b in pairs)
    return bool(one == other)


def plain_losses(losses: Any) -> Any:
    """Losses as plain numbers; in words what else was given."""
    if not isinstance(losses, list | tuple | np.ndarray):
        return shown(losses)
    try:
        return [float(loss) for loss in losses]
    except (TypeError, ValueError):
        return shown(losses)


def with_optimizer_loaded(answer: Answer) -> Answer:
    """The answer; torch loads much for its first optimizer, which is no rank's time."""
    torch.optim.SGD([torch.zeros(1)])
    return answer


def same_notes(one: RanksOutcome, other: RanksOutcome) -> bool:
    return alike(one.ranks, other.ranks)


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


def rank_exercise(
    *,
    act: Act,
    act_for_real: Act | None = None,
    within: Callable[[], AbstractContextManager[None]] = torch_on_simulated_ranks,
    target: Callable[[Any], list[Any]] | None = None,
    difference: Callable[[RanksOutcome, RanksOutcome], str | None],
    failed: Callable[[RankFailure, Any], str] = lambda failure, work: failure.sentence,
    same: Kinship = same_notes,
    kinships: Sequence[Kinship] = (),
    counts: Sequence[int] = (),
    real: Callable[[int], Sequence[Any]] = lambda count: (),
    **exercise: Any,
) -> Exercise:
    """An exercise that ranks solve together; its cases are works that say their number of `ranks`.

    Args:
        act: be one rank, from an answer and a work: what is noted of it.
        act_for_real: the same on a real rank, where that is another thing.
        within: what surrounds simulated ranks.
        target: of a work, what each rank should note; None where `difference` needs none.
        difference: what is wrong with notes.
        failed: what is said of a failure and its work.
        same: when the notes of two answers are the same.
        kinships: all views of that; else failures by who waits, then by their kind.
        counts: on how many real ranks an answer is tried too, one launch after another.
        real: what so many real ranks do.
        exercise: task, reference and cases of `Exercise`.
    """

    def run(answer: Answer, case: Case) -> RanksOutcome:
        work = case.args[0]
        with within():
            ran = on_simulated_ranks(act, work.ranks, answer, work)
        if isinstance(ran, RankFailure):
            return RanksOutcome(work, ran)
        return RanksOutcome(work, None, list(ran.results), tuple(ran.bytes_sent), ran.seconds)

    def expected(case: Case) -> RanksOutcome:
        work = case.args[0]
        return RanksOutcome(work, None, target(work) if target else [])

    def differs(got: RanksOutcome, want: RanksOutcome) -> str | None:
        return failed(got.failure, got.work) if got.failure else difference(got, want)

    def judge(work: Any, ranks: list[Any]) -> str | None:
        return differs(RanksOutcome(work, None, ranks), expected(Case("", (work,))))

    return Exercise(
        run=run,
        by_hand=False,
        expect=expected,
        difference=differs,
        demand=demand_on_real_ranks(act_for_real or act, counts, real, judge),
        kinships=kinships or (failed_the_same(same), failed_alike(same)),
        **exercise,
    )
