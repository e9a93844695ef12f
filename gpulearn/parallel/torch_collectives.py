"""The library's sum and copy over all ranks, in real processes; simulated ranks use ours."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import torch
import torch.distributed as dist
from torch import Tensor

from gpulearn.parallel.allreduce import all_reduce
from gpulearn.parallel.collectives import broadcast
from gpulearn.parallel.communicator import Handle, current, irecv, isend
from gpulearn.parallel.torch_messages import TorchChannel


class PendingSum(Protocol):
    """A sum over all ranks that is under way."""

    def wait(self) -> object:
        """Wait until the tensor holds the sum."""


class _DirectSum:
    """A sum of simulated ranks: each sends its whole tensor to each other, all at once.

    A ring would need somebody to take its steps while this rank computes. (N−1)·S bytes leave
    each rank: for two ranks as many as a ring's, for more of them more.
    """

    def __init__(self, tensor: Tensor) -> None:
        me, count = current().rank, current().size
        others = [(me + shift) % count for shift in range(1, count)]
        mine = tensor.detach().clone()
        self._tensor = tensor
        self._parts = {other: torch.empty_like(mine) for other in others} | {me: mine}
        self._handles: list[Handle] = [irecv(self._parts[other], other) for other in others]
        self._handles += [isend(mine, other) for other in others]

    def wait(self) -> None:
        for handle in self._handles:
            handle.wait()
        total = self._parts[0].clone()
        for number in range(1, len(self._parts)):  # in order of rank: the same bits everywhere
            total += self._parts[number]
        self._tensor.detach().copy_(total)


def begin_sum(tensor: Tensor) -> PendingSum:
    """Begin to add a tensor over all ranks, and go on at once.

    Until `wait()` of what is returned, the tensor belongs to the sum: neither read nor change it.
    It is contiguous, of one shape and dtype on all ranks.
    """
    if isinstance(current(), TorchChannel):
        work: PendingSum = dist.all_reduce(tensor.detach(), async_op=True)
        return work
    return _DirectSum(tensor)


def sum_over_ranks(tensor: Tensor) -> Tensor:
    """Add a tensor over all ranks, into the tensor itself; returns it."""
    return _in_whole(tensor, "sum")


def largest_over_ranks(tensor: Tensor) -> Tensor:
    """The largest entries over all ranks, as a new tensor."""
    return _in_whole(tensor.detach().clone(), "max")


def copy_from(root: int, tensor: Tensor) -> Tensor:
    """Overwrite a tensor with that of one rank; returns it."""
    if not isinstance(current(), TorchChannel):
        # autograd does not count what the library writes: a buffer may have to wait for backward
        broadcast(tensor.data, root)
        return tensor
    return _by_library(tensor, lambda whole: dist.broadcast(whole, root))


def _in_whole(tensor: Tensor, op: str) -> Tensor:
    if not isinstance(current(), TorchChannel):
        return all_reduce(tensor, op)
    torch_op = dist.ReduceOp.SUM if op == "sum" else dist.ReduceOp.MAX
    return _by_library(tensor, lambda whole: dist.all_reduce(whole, torch_op))


def _by_library(tensor: Tensor, act: Callable[[Tensor], object]) -> Tensor:
    """Act where and as the backend takes the tensor: NCCL from the GPU, gloo from anywhere."""
    device = "cuda" if dist.get_backend() == "nccl" else tensor.device
    whole = tensor.detach().to(device).contiguous()
    act(whole)
    if whole.data_ptr() != tensor.data_ptr():
        tensor.detach().copy_(whole)
    return tensor
