"""`torch.distributed` on simulated ranks: its collectives are ours while an answer is tried."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch.distributed as dist
from torch import Tensor

from gpulearn.parallel.allreduce import all_reduce
from gpulearn.parallel.collectives import broadcast, reduce
from gpulearn.parallel.communicator import barrier, rank, rank_of_this_thread, world_size
from gpulearn.parallel.torch_collectives import begin_sum

__all__ = ["torch_on_simulated_ranks"]

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
        raise ValueError("async_op=True is there for a sum by all_reduce alone on simulated ranks")
    if op not in OPERATIONS:
        name = str(op).rpartition(".")[2]
        raise ValueError(f"ReduceOp.{name} is not there on simulated ranks: use ReduceOp.SUM")
    return OPERATIONS[op]


def _absent(name: str) -> Callable[..., Any]:
    def call(*args: Any, **options: Any) -> Any:
        raise ValueError(f"{name} is not there on simulated ranks: use dist.all_reduce")

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
