"""How a rank speaks to the others: the same functions in real processes and simulated ranks.

A `Channel` carries the messages; `current` says which one is here.
"""

from __future__ import annotations

import contextlib
import operator
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

import torch
from torch import Tensor

from gpulearn import require
from gpulearn.errors import BadInput, RankError, about
from gpulearn.require import shown

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
    simulated_rank: int | None  # its number among all simulated ranks, in a subgroup too

    def isend(self, tensor: Tensor, to: int, tag: int) -> Handle:
        """Begin to send."""

    def irecv(self, tensor: Tensor, source: int, tag: int) -> Handle:
        """Begin to receive."""

    def sendrecv(self, outgoing: Tensor, to: int, incoming: Tensor, source: int) -> None:
        """Send and receive at once."""

    def wait_any(self, handles: Sequence[Any]) -> int:
        """Wait until one of several messages that this rank receives has come."""

    def barrier(self) -> None:
        """Wait for all ranks."""

    def compute(self, seconds: float) -> None:
        """Take time for computing."""

    def clock(self) -> float:
        """Seconds on this rank's clock."""


@contextlib.contextmanager
def using_channel(channel: Channel) -> Iterator[None]:
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
    return own.simulated_rank if own else None


def current() -> Channel:
    """How this rank speaks to the others."""
    own: Channel | None = getattr(_here, "channel", None)
    if own is not None:
        return own
    if _turns:
        return _turns[-1]()
    if torch.distributed.is_available() and torch.distributed.is_initialized():
        from gpulearn.parallel.torch_messages import torch_channel

        return torch_channel()
    raise RankError(
        "There are no ranks here: call this in a function that gl.launch runs, or within "
        "gl.parallel.init_process_group()."
    )


def rank() -> int:
    """This rank's number, from 0."""
    return current().rank


def world_size() -> int:
    """How many ranks there are."""
    return current().size


def send(tensor: Tensor, to: int, tag: int = 0) -> None:
    """Send a tensor to a rank; returns when that rank has received it with `recv`.

    Any shape and dtype. A tag is a number that tells messages between the same two ranks apart.
    """
    isend(tensor, to, tag).wait()


def recv(tensor: Tensor, source: int, tag: int = 0) -> Tensor:
    """Receive into a tensor what a rank sends; returns it when all has come.

    The tensor has as many elements, of the same dtype, as are sent; `tag` is the sender's.
    """
    return irecv(tensor, source, tag).wait()


def isend(tensor: Tensor, to: int, tag: int = 0) -> Handle:
    """Begin to send and go on at once; `wait()` of the handle ends it.

    The tensor must stay as it is until then.
    """
    channel = current()
    need_tensor(tensor)
    return channel.isend(tensor, _peer("to", to, channel), require.from_zero("tag", tag))


def irecv(tensor: Tensor, source: int, tag: int = 0) -> Handle:
    """Begin to receive and go on at once; the tensor holds what came after `wait()`."""
    channel = current()
    need_tensor(tensor)
    return channel.irecv(tensor, _peer("source", source, channel), require.from_zero("tag", tag))


def wait_any(handles: Sequence[Handle]) -> int:
    """Wait until one of several messages is there that were begun with `irecv`; say which.

    MPI calls it Waitany. The others stay under way, and may be waited for again. Returns the place
    in `handles` of the one that came first; its tensor holds what came.
    """
    if not handles:
        raise BadInput("handles is empty: give what irecv returned, one or more of them.")
    return current().wait_any(handles)


def sendrecv(outgoing: Tensor, to: int, incoming: Tensor, source: int) -> Tensor:
    """Send one tensor and receive another at the same time; returns the one that came.

    Two ranks that send to each other with `send` wait forever, since each waits until the
    other receives. Here both directions are under way at once.
    """
    channel = current()
    need_tensor(outgoing)
    need_tensor(incoming)
    channel.sendrecv(outgoing, _peer("to", to, channel), incoming, _peer("source", source, channel))
    return incoming


def barrier() -> None:
    """Wait until all ranks have come here."""
    current().barrier()


def compute(seconds: float) -> None:
    """Take time for computing: a simulated rank's clock moves on.

    In a real process it does nothing, since real work takes its own time.
    """
    if seconds != 0:
        require.above_zero("seconds", seconds)
    current().compute(float(seconds))


def clock() -> float:
    """Seconds on this rank's clock: simulated, or the machine's `time.perf_counter`."""
    return current().clock()


def need_tensor(value: object, dimensions: int = 0) -> None:
    """Check that a value is a plain tensor that has an axis to cut, if it needs one."""
    if not isinstance(value, Tensor):
        raise BadInput(f"tensor is {shown(value)}: give a torch tensor.")
    if value.layout != torch.strided:
        raise BadInput("tensor is sparse: give a plain one, such as tensor.to_dense().")
    if value.ndim < dimensions:
        raise BadInput(f"tensor is {shown(value)}, a single number: give one that can be cut.")


def existing_ranks(count: int) -> str:
    """Which ranks there are, as the end of a sentence."""
    return f"there are {count} ranks, 0 to {count - 1}." if count > 1 else "there is rank 0 alone."


def need_rank(name: str, value: object, count: int) -> int:
    """The number of a rank that there is."""
    with contextlib.suppress(TypeError):
        number = operator.index(value)  # type: ignore[arg-type]
        if 0 <= number < count and not isinstance(value, bool):
            return number
    raise about("no such rank", BadInput(f"{name} is {shown(value)}: {existing_ranks(count)}"))


def _peer(name: str, value: object, channel: Channel) -> int:
    if value == channel.rank:
        error = BadInput(f"{name} is {shown(value)}, which is this rank: name another one.")
        first = name == "to" and channel.rank == 0
        raise about("rank 0 sends to itself" if first else "speaks to itself", error)
    return need_rank(name, value, channel.size)
