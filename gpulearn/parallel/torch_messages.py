"""Messages between real processes: `torch.distributed`, with gloo or NCCL."""

from __future__ import annotations

import threading
import time
import weakref
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

from gpulearn.parallel.message_checks import Matching, Side

__all__ = ["Processes", "processes"]


class Transfer:
    """A message on its way between two processes."""

    def __init__(
        self, work: Any, tensor: Tensor, wire: Tensor, sides: Matching | None, side: Side | None
    ) -> None:
        self._work = work
        self._tensor = tensor
        self._wire = wire  # kept until the message is through, even if nobody else needs it
        self._sides = sides
        self._side = side

    def wait(self) -> Tensor:
        """Wait until it is through.

        Raises:
            BadInput: the other side is of another size or dtype.
        """
        try:
            self._work.wait()
        finally:
            if self._sides and self._side:
                self._sides.end(self._side)
        if self._wire is not self._tensor:
            self._tensor.detach().copy_(self._wire)
        return self._tensor


class Processes:
    """The ranks of `torch.distributed`'s process group."""

    def __init__(self) -> None:
        self.rank = dist.get_rank()
        self.size = dist.get_world_size()
        self._nccl = dist.get_backend() == "nccl"
        # NCCL has no tags, and carries messages out in the order in which they are given
        self._sides = None if self._nccl else Matching(dist.group.WORLD)

    def isend(self, tensor: Tensor, to: int, tag: int) -> Transfer:
        """Begin to send."""
        wire = self._on_wire(tensor.detach())
        side = self._side(True, to, tag, wire)
        work = dist.isend(wire, to, tag=side.wire_tag if side else tag)
        return Transfer(work, wire, wire, self._sides, side)

    def irecv(self, tensor: Tensor, source: int, tag: int) -> Transfer:
        """Begin to receive."""
        wire = self._landing(tensor)
        side = self._side(False, source, tag, wire)
        work = dist.irecv(wire, source, tag=side.wire_tag if side else tag)
        return Transfer(work, tensor, wire, self._sides, side)

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

    def _side(self, sends: bool, peer: int, tag: int, wire: Tensor) -> Side | None:
        return self._sides.begin(sends, peer, tag, wire) if self._sides else None

    def _on_wire(self, tensor: Tensor) -> Tensor:
        """The tensor where the backend can send it from: gloo from the CPU, NCCL from the GPU."""
        return tensor.to("cuda" if self._nccl else "cpu").contiguous()

    def _landing(self, tensor: Tensor) -> Tensor:
        """The tensor itself where the backend can write into it, else one of the same shape."""
        device = "cuda" if self._nccl else "cpu"
        if tensor.device.type == device and tensor.is_contiguous() and not tensor.requires_grad:
            return tensor
        return torch.empty(tensor.shape, dtype=tensor.dtype, device=device)


_known: weakref.WeakKeyDictionary[Any, Processes] = weakref.WeakKeyDictionary()
_making = threading.Lock()


def processes() -> Processes:
    """The ranks of the process group that there is now."""
    group = dist.group.WORLD
    found = _known.get(group)
    if found is None:
        with _making:  # two threads' messages have to be counted together
            found = _known.get(group) or _known.setdefault(group, Processes())
    return found
