"""Simulated messages: who meets whom, when each begins and ends, and what is counted.

The model: a message of S bytes begins when its sender and its receiver are both there and takes
α + S·β seconds. A rank has one port each way: it sends one message at a time and, at the same
time, receives one. A sender goes on when its message has arrived, as with gloo.
"""

from __future__ import annotations

import math
from array import array
from collections import defaultdict, deque
from collections.abc import Sequence

import torch
from torch import Tensor

from gpulearn.errors import BadInput, RankError, about
from gpulearn.parallel.collectives import doublings
from gpulearn.parallel.links import Link
from gpulearn.parallel.simulate.scheduler import Scheduler
from gpulearn.parallel.torch_messages import misfit

BARRIER = -1  # the tag of a barrier's own messages


class Request:
    """One side of a message: a rank that sends, or one that receives."""

    __slots__ = ("_version", "data", "end", "network", "owner", "peer", "sends", "tag", "tensor")

    def __init__(
        self, network: Network, owner: int, peer: int, tag: int, tensor: Tensor, sends: bool
    ) -> None:
        self.network = network
        self.owner = owner
        self.peer = peer
        self.tag = tag
        self.tensor = tensor.detach() if tensor.requires_grad else tensor
        self.sends = sends
        self.end: float | None = None
        # a message holds what its tensor held when it was posted
        self.data = self.tensor.clone() if sends else None
        self._version = _version(self.tensor) if sends else 0

    def wait(self) -> Tensor:
        """Wait until the message is through; a receiver's tensor changes only now."""
        network, clocks = self.network, self.network.scheduler.clocks
        if self not in network.open[self.owner]:
            return self.tensor
        if self.end is None:
            network.waiting[self.owner] = self
            network.scheduler.pause(self.owner)
            del network.waiting[self.owner]
        assert self.end is not None
        if self.end > clocks[self.owner]:
            network.blocked.extend((self.owner, clocks[self.owner], self.end))
            clocks[self.owner] = self.end
        network.open[self.owner].pop(self)
        if self.sends:
            self._check_unchanged()
        elif self.data is not None:
            alike = self.data.shape == self.tensor.shape
            self.tensor.copy_(self.data if alike else self.data.reshape(self.tensor.shape))
        self.data = None
        return self.tensor

    def _check_unchanged(self) -> None:
        if _version(self.tensor) == self._version or self.data is None:
            return
        changed = self.tensor != self.data
        both_nan = (self.tensor != self.tensor) & (self.data != self.data)
        if bool((changed & ~both_nan).any()):
            message = (
                f"the tensor that was being sent to rank {self.peer} changed before wait(): "
                f"wait for the message first, or send a copy."
            )
            raise about("changes what is under way", RankError(message))

    @property
    def verb(self) -> str:
        """What its rank does, with the preposition before the other rank."""
        if self.tag == BARRIER:
            return "waits for"
        return "sends to" if self.sends else "receives from"

    def __str__(self) -> str:
        if self.tag == BARRIER:
            return f"waits in a barrier for rank {self.peer}"
        verb, word = self.verb.split()
        return f"{verb} {self.tensor.nbytes} bytes {word} rank {self.peer}"


class AnyRequest:
    """What a rank waits for that goes on with the first of several messages."""

    sends = False
    verb = "receives from any of"

    def __init__(self, requests: Sequence[Request]) -> None:
        self.requests = requests
        self.peer = requests[0].peer

    def __str__(self) -> str:
        return f"receives from any of ranks {', '.join(str(r.peer) for r in self.requests)}"


class Network:
    """All messages of one simulation."""

    def __init__(self, size: int, link: Link, scheduler: Scheduler) -> None:
        self.link = link
        self.scheduler = scheduler
        self.waiting: dict[int, Request | AnyRequest] = {}  # by blocked rank
        # each rank's requests that it has not waited for yet, oldest first
        self.open: list[dict[Request, None]] = [{} for _ in range(size)]
        self.moved = array("d")  # of each message sender, receiver, bytes, begin, end
        # of each time that a rank waited, or computed, its number, begin, end
        self.blocked, self.computed = array("d"), array("d")
        self._out_free = [0.0] * size
        self._in_free = [0.0] * size
        self._unmatched: defaultdict[tuple[int, int, int], deque[Request]] = defaultdict(deque)

    def post(self, owner: int, peer: int, tag: int, tensor: Tensor, sends: bool) -> Request:
        """Send or receive: the message begins if the other side is there already."""
        self.scheduler.step(owner)
        mine = Request(self, owner, peer, tag, tensor, sends)
        self.open[owner][mine] = None
        key = (owner, peer, tag) if sends else (peer, owner, tag)
        queue = self._unmatched[key]
        if queue and queue[0].sends != sends:
            other = queue.popleft()
            # requests come in the order of the clock, so this one is the later of the two
            send, receive = (mine, other) if sends else (other, mine)
            self._move(send, receive, now=self.scheduler.clocks[owner])
        else:
            queue.append(mine)
        return mine

    def _move(self, send: Request, receive: Request, now: float) -> None:
        source, target, size = send.owner, receive.owner, send.tensor.nbytes
        outgoing, incoming = send.tensor, receive.tensor
        if outgoing.dtype != incoming.dtype or outgoing.numel() != incoming.numel():
            sides = [(t.numel(), str(t.dtype).removeprefix("torch.")) for t in (outgoing, incoming)]
            raise about("misfit", BadInput(misfit(source, *sides[0], target, *sides[1])))
        start = max(now, self._out_free[source], self._in_free[target])
        end = start + self.link.seconds(size)
        self._out_free[source] = self._in_free[target] = end
        self.moved.extend((source, target, size, start, end))
        receive.data = send.data
        for request in (send, receive):
            request.end = end
            waits = self.waiting.get(request.owner)
            if waits is request:
                self.scheduler.ready(request.owner, end)
            elif isinstance(waits, AnyRequest) and request in waits.requests:
                del self.waiting[request.owner]  # the others do not wake it once more
                self.scheduler.ready(request.owner, end)


class SimulatedChannel:
    """A simulated rank's way to the others."""

    def __init__(self, network: Network, rank: int, size: int) -> None:
        self._network = network
        self.rank = rank
        self.simulated_rank: int | None = rank
        self.size = size

    def isend(self, tensor: Tensor, to: int, tag: int) -> Request:
        """Begin to send."""
        return self._network.post(self.rank, to, tag, tensor, sends=True)

    def irecv(self, tensor: Tensor, source: int, tag: int) -> Request:
        """Begin to receive."""
        return self._network.post(self.rank, source, tag, tensor, sends=False)

    def sendrecv(
        self, outgoing: Tensor, to: int, incoming: Tensor, source: int, tag: int = 0
    ) -> None:
        """Send and receive at once."""
        leaving, arriving = self.isend(outgoing, to, tag), self.irecv(incoming, source, tag)
        leaving.wait()
        arriving.wait()

    def wait_any(self, handles: Sequence[Request]) -> int:
        """Wait until one of several messages has come."""
        if all(request.end is None for request in handles) and len(handles) > 1:
            self._network.waiting[self.rank] = AnyRequest(handles)
            self._network.scheduler.pause(self.rank)
        # a port receives one message after another, so nothing that begins later ends sooner
        ends = [request.end if request.end is not None else math.inf for request in handles]
        place = ends.index(min(ends))
        handles[place].wait()
        return place

    def barrier(self) -> None:
        """Wait for all: messages without content over distances 1, 2, 4 … (dissemination).

        Hensgen, Finkel, Manber, "Two algorithms for barrier synchronization", Int. J. of
        Parallel Programming 17(1), 1988: ⌈log₂N⌉ rounds.
        """
        nothing = torch.empty(0)
        for distance in doublings(self.size):
            ahead, behind = (self.rank + distance) % self.size, (self.rank - distance) % self.size
            self.sendrecv(nothing, ahead, nothing, behind, BARRIER)

    def compute(self, seconds: float) -> None:
        """Move this rank's clock on."""
        clocks = self._network.scheduler.clocks
        if seconds > 0:
            start = clocks[self.rank]
            clocks[self.rank] += seconds
            self._network.computed.extend((self.rank, start, clocks[self.rank]))

    def clock(self) -> float:
        """Simulated seconds."""
        return self._network.scheduler.clocks[self.rank]


def _version(tensor: Tensor) -> int:
    """How often the memory was written to, as torch counts it."""
    return -1 if tensor.is_inference() else tensor._version
