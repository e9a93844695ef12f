"""Messages between real processes: `torch.distributed`, with gloo or NCCL, and checked.

gloo ends a process that is sent more than it has room for, and takes less, or another dtype,
without a word. So a message's tag holds its number, size and dtype: sides that differ never meet,
and those that fit pay nothing. A thread looks after what has waited for long: it writes it where
the other rank can read it, and where two sides contradict each other, both get what they wait
for, and are told.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import threading
import time
import weakref
import zlib
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

from gpulearn.errors import BadInput, about

PATIENCE_SECONDS = 0.2  # how long a message may take before somebody looks after it
LOOK_SECONDS = 0.1
LOWEST = 1 << 30  # tags below are left to those who call torch's own send


@dataclass(eq=False)
class Transfer:
    """One side of a message on its way between two processes."""

    sends: bool
    peer: int
    tag: int
    tensor: Tensor
    wire: Tensor  # what travels; kept until the message is through
    checks: MessageChecks | None
    number: int = 0  # of the messages with this tag from the one rank to the other
    since: float = field(default_factory=time.monotonic)
    wrong: str = ""
    work: Any = None
    arrival: float | None = None  # when it was through, if somebody watches it
    _watcher: threading.Thread | None = None
    _error: BaseException | None = None

    @property
    def content(self) -> tuple[int, str]:
        """How many numbers of which dtype travel."""
        return self.wire.numel(), str(self.wire.dtype).removeprefix("torch.")

    def watch(self, arrived: threading.Condition) -> None:
        """Let a thread of its own wait for this message: gloo can only be asked by waiting."""
        if self._watcher is None:
            self._watcher = threading.Thread(target=self._watch, args=(arrived,), daemon=True)
            self._watcher.start()

    def _watch(self, arrived: threading.Condition) -> None:
        try:
            self.work.wait()
        except Exception as error:
            self._error = error  # whoever waits for the message is told
        with arrived:
            self.arrival = time.monotonic()
            arrived.notify_all()

    def wait(self) -> Tensor:
        """Wait until it is through."""
        try:
            if self._watcher is None:
                self.work.wait()
            else:  # a message can be waited for once
                self._watcher.join()
            if self._error is not None:
                raise self._error
        finally:
            if self.checks is not None:
                self.checks.end(self)
        if self.wire is not self.tensor:
            self.tensor.detach().copy_(self.wire)
        return self.tensor


class MessageChecks:
    """The messages of one rank of a process group."""

    def __init__(self, group: Any) -> None:
        self._group = weakref.ref(group)  # a group ends when it is destroyed
        self._rank = group.rank()
        self._store = dist.distributed_c10d._get_default_store()
        self._numbers: defaultdict[tuple[bool, int, int], Any] = defaultdict(itertools.count)
        self._open: dict[Transfer, None] = {}
        self._written: list[Any] = []
        self._answers: dict[Transfer, Any] = {}
        self._watcher: threading.Thread | None = None

    def begin(self, side: Transfer) -> int:
        """Note one side of a message that begins; the tag under which it meets the other."""
        side.number = next(self._numbers[side.sends, side.peer, side.tag])
        self._open[side] = None
        if self._watcher is None:
            self._watcher = threading.Thread(target=self._watch, daemon=True)
            self._watcher.start()
        return _wire_tag(side.tag, side.number, *side.content)

    def end(self, side: Transfer) -> None:
        """Note that one side is through; `BadInput` if the other was of another size or dtype."""
        self._open.pop(side, None)
        if side.wrong:
            raise about("misfit", BadInput(side.wrong))

    def _watch(self) -> None:
        with contextlib.suppress(Exception):  # the ranks have ended, and their store with them
            while self._group() is not None:
                time.sleep(LOOK_SECONDS)
                self._look()

    def _look(self) -> None:
        longest = time.monotonic() - PATIENCE_SECONDS
        late = [side for side in tuple(self._open) if side.since < longest]
        descriptions = [(s.sends, s.peer, s.tag, s.number, *s.content, bool(s.wrong)) for s in late]
        if descriptions and descriptions != self._written:
            self._store.set(_key(self._rank), json.dumps(descriptions))
            self._written = descriptions
        for peer in {side.peer for side in late}:
            if not self._store.check([_key(peer)]):
                continue
            theirs = {tuple(d[:4]): d[4:] for d in json.loads(self._store.get(_key(peer)))}
            for mine in late:
                other = theirs.get((not mine.sends, self._rank, mine.tag, mine.number))
                if mine.peer == peer and other and other[:2] != [*mine.content]:
                    self._tell(mine, *other)

    def _tell(self, mine: Transfer, count: int, kind: str, knows: bool) -> None:
        """Say what is wrong; give the other side what it waits for, once it knows of it too."""
        own = (self._rank, *mine.content)
        other = (mine.peer, count, kind)
        mine.wrong = misfit(*own, *other) if mine.sends else misfit(*other, *own)
        if knows and mine not in self._answers:
            tag = _wire_tag(mine.tag, mine.number, count, kind)
            filler = torch.zeros(count, dtype=getattr(torch, kind))
            give = dist.isend if mine.sends else dist.irecv
            self._answers[mine] = give(filler, mine.peer, tag=tag), filler


def misfit(
    sender: int, sent: int, sent_kind: str, receiver: int, wanted: int, wanted_kind: str
) -> str:
    """What is wrong with a message of which the two sides differ."""
    return (
        f"rank {sender} sends {sent} {sent_kind}, and rank {receiver} receives {wanted} "
        f"{wanted_kind}: both sides must name as many of one dtype."
    )


def _wire_tag(tag: int, number: int, count: int, kind: str) -> int:
    """The tag under which the two sides of a message meet, if they fit."""
    return LOWEST | zlib.crc32(b"%d %d %d %s" % (tag, number, count, kind.encode())) >> 2


def _key(rank: int) -> str:
    return f"gpulearn/late/{rank}"


class TorchChannel:
    """The ranks of `torch.distributed`'s process group."""

    simulated_rank: int | None = None

    def __init__(self) -> None:
        self.rank = dist.get_rank()
        self.size = dist.get_world_size()
        self._nccl = dist.get_backend() == "nccl"
        self._device = "cuda" if self._nccl else "cpu"  # where the backend sends from
        self._arrived = threading.Condition()
        # NCCL has no tags, and carries messages out in the order in which they are given
        self._checks = None if self._nccl else MessageChecks(dist.group.WORLD)

    def isend(self, tensor: Tensor, to: int, tag: int) -> Transfer:
        """Begin to send."""
        wire = tensor.detach().to(self._device).contiguous()
        return self._begin(dist.isend, to, tag, wire, wire)

    def irecv(self, tensor: Tensor, source: int, tag: int) -> Transfer:
        """Begin to receive."""
        return self._begin(dist.irecv, source, tag, tensor, self._landing(tensor))

    def sendrecv(self, outgoing: Tensor, to: int, incoming: Tensor, source: int) -> None:
        """Send and receive at once.

        NCCL carries out what it is given one after another, so that two ranks that both send
        first would wait for each other; in a batch it starts them together.
        """
        if not self._nccl:
            arriving = self.irecv(incoming, source, 0)
            self.isend(outgoing, to, 0).wait()
            arriving.wait()
            return
        sent, landing = outgoing.detach().to(self._device).contiguous(), self._landing(incoming)
        pair = [dist.P2POp(dist.isend, sent, to), dist.P2POp(dist.irecv, landing, source)]
        for work in dist.batch_isend_irecv(pair):
            work.wait()
        if landing is not incoming:
            incoming.detach().copy_(landing)

    def wait_any(self, handles: Sequence[Transfer]) -> int:
        """Wait until one of several messages has come."""
        for handle in handles:
            handle.watch(self._arrived)
        with self._arrived:
            self._arrived.wait_for(lambda: any(h.arrival is not None for h in handles))
        arrivals = [(h.arrival, place) for place, h in enumerate(handles) if h.arrival is not None]
        place = min(arrivals)[1]
        handles[place].wait()
        return place

    def barrier(self) -> None:
        """Wait for all ranks."""
        dist.barrier()

    def compute(self, seconds: float) -> None:
        """Nothing: what a real rank computes takes its own time."""

    def clock(self) -> float:
        """Seconds of this machine's clock."""
        return time.perf_counter()

    def _begin(self, act: Any, peer: int, tag: int, tensor: Tensor, wire: Tensor) -> Transfer:
        transfer = Transfer(act is dist.isend, peer, tag, tensor, wire, self._checks)
        if self._checks is not None:
            tag = self._checks.begin(transfer)
        transfer.work = act(wire, peer, tag=tag)
        return transfer

    def _landing(self, tensor: Tensor) -> Tensor:
        """The tensor itself where the backend can write into it, else one of the same shape."""
        here = tensor.device.type == self._device
        if here and tensor.is_contiguous() and not tensor.requires_grad:
            return tensor
        return torch.empty(tensor.shape, dtype=tensor.dtype, device=self._device)


_known: weakref.WeakKeyDictionary[Any, TorchChannel] = weakref.WeakKeyDictionary()
_making = threading.Lock()


def torch_channel() -> TorchChannel:
    """The ranks of the process group that there is now."""
    group = dist.group.WORLD
    channel = _known.get(group)
    if channel is None:
        with _making:  # two threads' messages have to be counted together
            channel = _known.get(group) or _known.setdefault(group, TorchChannel())
    return channel
