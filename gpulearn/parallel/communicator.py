"""How a rank speaks to the others: the same functions in real processes and simulated ranks."""

from __future__ import annotations

import contextlib
import operator

from torch import Tensor

from gpulearn import require
from gpulearn.errors import BadInput
from gpulearn.parallel.channel import Channel, Handle, current
from gpulearn.parallel.reduce_operations import need_tensor
from gpulearn.require import shown

__all__ = [
    "barrier",
    "clock",
    "compute",
    "irecv",
    "isend",
    "rank",
    "recv",
    "send",
    "sendrecv",
    "world_size",
]


def rank() -> int:
    """This rank's number, from 0.

    Raises:
        RankError: this is no rank.
    """
    return current().rank


def world_size() -> int:
    """How many ranks there are.

    Raises:
        RankError: this is no rank.
    """
    return current().size


def send(tensor: Tensor, to: int, tag: int = 0) -> None:
    """Send a tensor to a rank; returns when that rank has received it with `recv`.

    Args:
        tensor: what to send; any shape and dtype.
        to: the rank that receives it.
        tag: a number that tells messages between the same two ranks apart.

    Raises:
        BadInput: there is no such rank, it is this one, or it receives another number of
            elements or another dtype.
    """
    isend(tensor, to, tag).wait()


def recv(tensor: Tensor, source: int, tag: int = 0) -> Tensor:
    """Receive into a tensor what a rank sends; returns it when all has come.

    Args:
        tensor: overwritten; as many elements, of the same dtype, as are sent.
        source: the rank that sends.
        tag: the number that the sender gave.

    Raises:
        BadInput: there is no such rank, it is this one, or it sends another number of elements
            or another dtype.
    """
    return irecv(tensor, source, tag).wait()


def isend(tensor: Tensor, to: int, tag: int = 0) -> Handle:
    """Begin to send and go on at once; `wait()` of the handle ends it.

    The tensor must stay as it is until then.

    >>> import gpulearn as gl
    >>> import torch
    >>> def swap():
    ...     other, arrived = 1 - rank(), torch.empty(2)
    ...     on_its_way = isend(torch.full((2,), float(rank())), to=other)
    ...     recv(arrived, source=other)
    ...     on_its_way.wait()
    ...     return arrived.tolist()
    >>> gl.launch(swap, 2, backend="simulated")
    [[1.0, 1.0], [0.0, 0.0]]
    """
    channel = current()
    need_tensor(tensor)
    return channel.isend(tensor, _peer("to", to, channel), _tag(tag))


def irecv(tensor: Tensor, source: int, tag: int = 0) -> Handle:
    """Begin to receive and go on at once; the tensor holds what came after `wait()`."""
    channel = current()
    need_tensor(tensor)
    return channel.irecv(tensor, _peer("source", source, channel), _tag(tag))


def sendrecv(outgoing: Tensor, to: int, incoming: Tensor, source: int) -> Tensor:
    """Send one tensor and receive another at the same time; returns the one that came.

    Two ranks that send to each other with `send` wait for ever, since each waits until the
    other receives. Here both directions are under way at once.

    >>> import gpulearn as gl
    >>> import torch
    >>> def swap():
    ...     other = 1 - rank()
    ...     return sendrecv(torch.tensor(rank()), other, torch.tensor(-1), other).item()
    >>> gl.launch(swap, 2, backend="simulated")
    [1, 0]
    """
    channel = current()
    need_tensor(outgoing)
    need_tensor(incoming)
    channel.exchange(outgoing, _peer("to", to, channel), incoming, _peer("source", source, channel))
    return incoming


def barrier() -> None:
    """Wait until all ranks have come here."""
    current().barrier()


def compute(seconds: float) -> None:
    """Take time for computing: a simulated rank's clock moves on.

    In a real process it does nothing, since real work takes its own time.

    Raises:
        BadInput: `seconds` is below zero or not finite.

    >>> import gpulearn as gl
    >>> gl.simulate(lambda: compute(0.5 * rank()), 3).clocks
    (0.0, 0.5, 1.0)
    """
    if seconds != 0:
        require.above_zero("seconds", seconds)
    current().compute(float(seconds))


def clock() -> float:
    """Seconds on this rank's clock: simulated, or the machine's `time.perf_counter`."""
    return current().clock()


def those_there(count: int) -> str:
    """Which ranks there are, as the end of a sentence."""
    return f"there are {count} ranks, 0 to {count - 1}." if count > 1 else "there is rank 0 alone."


def _peer(name: str, value: object, channel: Channel) -> int:
    if type(value) is int and 0 <= value < channel.size and value != channel.rank:
        return value
    with contextlib.suppress(TypeError):
        number = operator.index(value)  # type: ignore[arg-type]
        if 0 <= number < channel.size and number != channel.rank and not isinstance(value, bool):
            return number
    if value == channel.rank:
        raise BadInput(f"{name} is {shown(value)}, which is this rank: name another one.")
    raise BadInput(f"{name} is {shown(value)}: {those_there(channel.size)}")


def _tag(value: object) -> int:
    if value == 0 and not isinstance(value, bool):
        return 0
    return require.from_zero("tag", value)
