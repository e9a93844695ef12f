"""What carries a rank's messages, processes or simulated ranks, and which of them is here."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from typing import Protocol

import torch
from torch import Tensor

from gpulearn.errors import RankError

__all__ = ["Channel", "Handle", "current", "rank_of_this_thread", "simulation", "speaking_through"]

_here = threading.local()
# autograd calls hooks in threads of its own for tensors on a GPU: they belong to the simulated
# rank that has the turn
_turns: list[Callable[[], Channel]] = []


class Handle(Protocol):
    """A message that is on its way."""

    def wait(self) -> Tensor:
        """Wait until it is through; the tensor that was sent, or that now holds what came."""


class Channel(Protocol):
    """How one rank speaks to the others; `gpulearn.parallel.communicator` says what each does."""

    rank: int
    size: int

    def isend(self, tensor: Tensor, to: int, tag: int) -> Handle:
        """Begin to send."""

    def irecv(self, tensor: Tensor, source: int, tag: int) -> Handle:
        """Begin to receive."""

    def exchange(self, outgoing: Tensor, to: int, incoming: Tensor, source: int) -> None:
        """Send and receive at once."""

    def barrier(self) -> None:
        """Wait for all ranks."""

    def compute(self, seconds: float) -> None:
        """Take time for computing."""

    def clock(self) -> float:
        """Seconds on this rank's clock."""


@contextlib.contextmanager
def speaking_through(channel: Channel) -> Iterator[None]:
    """Make this thread a rank."""
    before = getattr(_here, "channel", None)
    _here.channel = channel
    try:
        yield
    finally:
        _here.channel = before


@contextlib.contextmanager
def simulation(turn: Callable[[], Channel]) -> Iterator[None]:
    """While simulated ranks run; `turn` says which has the turn."""
    _turns.append(turn)
    try:
        yield
    finally:
        _turns.pop()


def rank_of_this_thread() -> int | None:
    """The simulated rank that this thread is, or None."""
    own: Channel | None = getattr(_here, "channel", None)
    return own.rank if own else None


def current() -> Channel:
    """How this rank speaks to the others.

    Raises:
        RankError: this is no rank.
    """
    own: Channel | None = getattr(_here, "channel", None)
    if own is not None:
        return own
    if _turns:
        return _turns[-1]()
    if torch.distributed.is_available() and torch.distributed.is_initialized():
        from gpulearn.parallel.torch_messages import processes

        return processes()
    raise RankError(
        "There are no ranks here: call this in a function that gl.launch runs, or within "
        "gl.parallel.init_process_group()."
    )
