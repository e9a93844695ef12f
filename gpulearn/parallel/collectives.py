"""Broadcast, reduce, all-gather, reduce-scatter and all-to-all, from send and receive.

They work in real ranks and in simulated ones. N is the number of ranks; every rank must call,
with tensors of one shape and dtype. `gpulearn.parallel.allreduce` has the all-reduces.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import torch
from torch import Tensor

from gpulearn import require
from gpulearn.parallel.communicator import (
    need_rank,
    need_tensor,
    rank,
    recv,
    send,
    sendrecv,
    world_size,
)

__all__ = ["all_gather", "all_to_all", "broadcast", "gather_rows", "reduce", "reduce_scatter"]

# each writes into its first tensor
OPERATIONS: dict[str, Callable[[Tensor, Tensor], object]] = {
    "sum": operator.iadd,
    "product": lambda into, other: into.mul_(other),
    "max": lambda into, other: torch.maximum(into, other, out=into),
    "min": lambda into, other: torch.minimum(into, other, out=into),
}


class _Addend(Tensor):
    """Numbers to which `op` is done where an algorithm adds."""

    op: ClassVar[str]

    def __iadd__(self, other: Tensor) -> Tensor:  # type: ignore[misc, override]
        OPERATIONS[self.op](self, other)
        return self


ADDENDS: dict[str, Any] = {
    op: type(f"_{op.title()}", (_Addend,), {"op": op}) for op in OPERATIONS if op != "sum"
}


def in_place(function: Callable[[Tensor], None]) -> Callable[..., Tensor]:
    """Let an algorithm work on one flat, contiguous row of numbers, whatever the tensor is.

    It becomes an all-reduce of a tensor with an operation, which writes into the tensor and returns
    it. The algorithm adds with `+=`. For another operation it gets numbers to which `+=` means
    that one, and so do all that are made from them.
    """

    @functools.wraps(function)
    def whole(tensor: Tensor, op: str = "sum") -> Tensor:
        need_tensor(tensor)
        op = require.choice("op", op, OPERATIONS)
        flat = tensor.detach().contiguous().view(-1)
        function(flat.as_subclass(ADDENDS[op]) if op in ADDENDS else flat)
        if flat.data_ptr() != tensor.data_ptr():
            tensor.detach().copy_(flat.view(tensor.shape))
        return tensor

    return whole


def doublings(count: int) -> Iterator[int]:
    """1, 2, 4 … as long as they are below `count`."""
    distance = 1
    while distance < count:
        yield distance
        distance *= 2


def broadcast(tensor: Tensor, root: int = 0) -> Tensor:
    """Copy the root's tensor into that of every rank, which it returns, by a binomial tree.

    ⌈log₂N⌉ rounds.

    >>> import gpulearn as gl
    >>> gl.simulate(lambda: broadcast(torch.tensor(gl.parallel.rank()), root=1).item(), 3).results
    [1, 1, 1]
    """
    need_tensor(tensor)
    count = world_size()
    place = (rank() - need_rank("root", root, count)) % count  # as if the root were rank 0
    for distance in reversed(list(doublings(count))):
        if place % (2 * distance) == distance:
            recv(tensor, (place - distance + root) % count)
        elif place % (2 * distance) == 0 and place + distance < count:
            send(tensor, (place + distance + root) % count)
    return tensor


def reduce(tensor: Tensor, root: int = 0, op: str = "sum") -> Tensor:
    """Combine the tensors of all ranks into the root's, by a binomial tree: ⌈log₂N⌉ rounds.

    Returns the same tensor; on the other ranks it stays as it was.

    >>> import gpulearn as gl
    >>> gl.simulate(lambda: reduce(torch.tensor(gl.parallel.rank()), root=0).item(), 3).results
    [3, 1, 2]
    """
    need_tensor(tensor)
    op = require.choice("op", op, OPERATIONS)
    count = world_size()
    place = (rank() - need_rank("root", root, count)) % count
    part = tensor.detach() if place == 0 else tensor.detach().clone()
    arrived = torch.empty_like(part)
    for distance in doublings(count):
        if place % (2 * distance) == distance:
            send(part, (place - distance + root) % count)
            break
        if place + distance < count:
            OPERATIONS[op](part, recv(arrived, (place + distance + root) % count))
    return tensor


def all_gather(tensor: Tensor) -> Tensor:
    """Collect the tensors of all ranks on every rank, round a ring: (N−1)(α + Sβ).

    Returns a new tensor of shape (N, …): row r is that of rank r.

    >>> import gpulearn as gl
    >>> gl.simulate(lambda: all_gather(torch.tensor(gl.parallel.rank())).tolist(), 3).results
    [[0, 1, 2], [0, 1, 2], [0, 1, 2]]
    """
    need_tensor(tensor)
    rows = torch.empty((world_size(), *tensor.shape), dtype=tensor.dtype, device=tensor.device)
    rows[rank()] = tensor.detach()
    gather_rows(rows)
    return rows


def gather_rows(rows: Tensor) -> None:
    """Fill a table of which each rank has its own row: (N−1)(α + Sβ) for rows of S bytes.

    Args:
        rows: of shape (N, …), the same on all ranks; row r of rank r is set, and all rows of all
            ranks are at the end.

    >>> import gpulearn as gl
    >>> def table():
    ...     rows = torch.zeros(3, dtype=int)
    ...     rows[rank()] = 10 + rank()
    ...     gather_rows(rows)
    ...     return rows.tolist()
    >>> gl.simulate(table, 3).results
    [[10, 11, 12], [10, 11, 12], [10, 11, 12]]
    """
    me, count = rank(), world_size()
    right, left = (me + 1) % count, (me - 1) % count
    for step in range(count - 1):
        outgoing, incoming = rows[(me - step) % count], rows[(me - step - 1) % count]
        sendrecv(outgoing, right, incoming, left)


def reduce_scatter(tensor: Tensor, op: str = "sum") -> Tensor:
    """Combine the tensors of all ranks, and leave each rank one part: (N−1)(α + Sβ/N).

    The tensor of shape (m, …) is cut along its first axis as `torch.tensor_split` does: into N
    parts whose lengths differ by at most one. Returns a new tensor: part r of the result on rank r.

    >>> import gpulearn as gl
    >>> gl.simulate(lambda: reduce_scatter(torch.tensor([1, 10, 100])).tolist(), 3).results
    [[3], [30], [300]]
    """
    need_tensor(tensor, dimensions=1)
    op = require.choice("op", op, OPERATIONS)
    me, count = rank(), world_size()
    parts = [part.clone() for part in tensor.detach().tensor_split(count)]
    for step in range(count - 1):
        outgoing, mine = parts[(me - step - 1) % count], parts[(me - step - 2) % count]
        arrived = sendrecv(outgoing, (me + 1) % count, torch.empty_like(mine), (me - 1) % count)
        OPERATIONS[op](mine, arrived)
    return parts[me]


def all_to_all(tensor: Tensor) -> Tensor:
    """Send part s of each rank's tensor to rank s: (N−1)(α + Sβ/N).

    The tensor of shape (m, …) is cut along its first axis as `torch.tensor_split` does. Returns a
    new tensor: what ranks 0, 1 … sent, one after another along the first axis.

    >>> import gpulearn as gl
    >>> gl.simulate(lambda: all_to_all(torch.arange(2) + 10 * rank()).tolist(), 2).results
    [[0, 10], [1, 11]]
    """
    need_tensor(tensor, dimensions=1)
    me, count = rank(), world_size()
    parts = tensor.detach().tensor_split(count)
    arrived = [parts[me].clone() for _ in range(count)]
    for shift in range(1, count):
        to, source = (me + shift) % count, (me - shift) % count
        sendrecv(parts[to], to, arrived[source], source)
    return torch.cat(arrived)
