"""Messages between real processes: `torch.distributed`, with gloo or NCCL."""

from __future__ import annotations

import time
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

__all__ = ["Processes"]


class Transfer:
    """A message on its way between two processes."""

    def __init__(self, work: Any, tensor: Tensor, wire: Tensor) -> None:
        self._work = work
        self._tensor = tensor
        self._wire = wire  # kept until the message is through, even if nobody else needs it

    def wait(self) -> Tensor:
        """Wait until it is through."""
        self._work.wait()
        if self._wire is not self._tensor:
            self._tensor.detach().copy_(self._wire)
        return self._tensor


class Processes:
    """The ranks of `torch.distributed`'s process group."""

    def __init__(self) -> None:
        self.rank = dist.get_rank()
        self.size = dist.get_world_size()
        self._nccl = dist.get_backend() == "nccl"

    def isend(self, tensor: Tensor, to: int, tag: int) -> Transfer:
        """Begin to send."""
        wire = self._on_wire(tensor.detach())
        return Transfer(dist.isend(wire, to, tag=tag), wire, wire)

    def irecv(self, tensor: Tensor, source: int, tag: int) -> Transfer:
        """Begin to receive."""
        wire = self._landing(tensor)
        return Transfer(dist.irecv(wire, source, tag=tag), tensor, wire)

    def exchange(self, outgoing: Tensor, to: int, incoming: Tensor, source: int) -> None:
        """Send and receive at once.

        NCCL carries out what it is given one after another, so that two ranks that both send
        first would wait for each other; in a batch it starts them together.
        """
        if not self._nccl:
            arriving = self.irecv(incoming, source, 0)
            self.isend(outgoing, to, 0).wait()
            arriving.wait()
            return
        sent, landing = self._on_wire(outgoing.detach()), self._landing(incoming)
        pair = [dist.P2POp(dist.isend, sent, to), dist.P2POp(dist.irecv, landing, source)]
        for work in dist.batch_isend_irecv(pair):
            work.wait()
        if landing is not incoming:
            incoming.detach().copy_(landing)

    def barrier(self) -> None:
        """Wait for all ranks."""
        dist.barrier()

    def compute(self, seconds: float) -> None:
        """Nothing: what a real rank computes takes its own time."""

    def clock(self) -> float:
        """Seconds of this machine's clock."""
        return time.perf_counter()

    def _on_wire(self, tensor: Tensor) -> Tensor:
        """The tensor where the backend can send it from: gloo from the CPU, NCCL from the GPU."""
        return tensor.to("cuda" if self._nccl else "cpu").contiguous()

    def _landing(self, tensor: Tensor) -> Tensor:
        """The tensor itself where the backend can write into it, else one of the same shape."""
        device = "cuda" if self._nccl else "cpu"
        if tensor.device.type == device and tensor.is_contiguous() and not tensor.requires_grad:
            return tensor
        return torch.empty(tensor.shape, dtype=tensor.dtype, device=device)
