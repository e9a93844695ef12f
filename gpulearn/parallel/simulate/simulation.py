"""The record of a simulated run: results, clocks, messages, and who did what when."""

from __future__ import annotations

from array import array
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Generic, NamedTuple, TypeVar

from gpulearn.parallel.links import Link
from gpulearn.perf.timing import format_seconds

R = TypeVar("R")


class Interval(NamedTuple):
    """What a rank did from `start` to `end`, in simulated seconds.

    `kind` is "compute", "send" or "receive" (a message is on its way; `peer` is the other rank
    and `size` its bytes), or "wait": the rank can do nothing and none of its messages moves.
    A rank can compute, send and receive at the same time.
    """

    rank: int
    kind: str
    start: float
    end: float
    peer: int = -1
    size: int = 0


@dataclass(frozen=True)
class Simulation(Generic[R]):
    """What simulated ranks did: what each returned, and its clock in seconds when it ended."""

    results: list[R]
    link: Link
    clocks: tuple[float, ...]
    moved: array[float] = field(repr=False)
    blocked: array[float] = field(repr=False)
    computed: array[float] = field(repr=False)

    @property
    def seconds(self) -> float:
        """Simulated seconds until the last rank ended."""
        return max(self.clocks)

    @cached_property
    def messages(self) -> Counter[tuple[int, int]]:
        """Messages by (sender, receiver)."""
        return Counter((int(a), int(b)) for a, b, *_ in _rows(self.moved, 5))

    @cached_property
    def bytes_moved(self) -> Counter[tuple[int, int]]:
        """Bytes by (sender, receiver)."""
        total: Counter[tuple[int, int]] = Counter()
        for source, target, size, *_ in _rows(self.moved, 5):
            total[int(source), int(target)] += int(size)
        return total

    @property
    def messages_sent(self) -> list[int]:
        """Messages that each rank sent."""
        return _by_sender(self.messages, len(self.clocks))

    @property
    def bytes_sent(self) -> list[int]:
        """Bytes that each rank sent."""
        return _by_sender(self.bytes_moved, len(self.clocks))

    @cached_property
    def timeline(self) -> tuple[Interval, ...]:
        """What each rank did when, by rank and start."""
        intervals = [Interval(int(r), "compute", a, b) for r, a, b in _rows(self.computed, 3)]
        busy: defaultdict[int, list[tuple[float, float]]] = defaultdict(list)
        for sender, receiver, size, start, end in _rows(self.moved, 5):
            ends = int(sender), int(receiver)
            for kind, rank, peer in (("send", *ends), ("receive", *ends[::-1])):
                intervals.append(Interval(rank, kind, start, end, peer, int(size)))
                busy[rank].append((start, end))
        waits: defaultdict[int, list[tuple[float, float]]] = defaultdict(list)
        for waiter, start, end in _rows(self.blocked, 3):
            waits[int(waiter)].append((start, end))
        for rank, spans in waits.items():
            for start, end in _without(spans, sorted(busy[rank])):
                intervals.append(Interval(rank, "wait", start, end))
        return tuple(sorted(intervals))

    def share(self, kind: str) -> float:
        """The part of the run that a rank on average spent on an interval's `kind`, 0 to 1."""
        total = self.seconds * len(self.clocks)
        spent = sum(i.end - i.start for i in self.timeline if i.kind == kind)
        return spent / total if total else 0.0

    @property
    def overlap(self) -> float:
        """The part of the time with messages under way in which their rank also computes."""
        covered = moving = 0.0
        for rank in range(len(self.clocks)):
            own = [i for i in self.timeline if i.rank == rank]
            messages = [i[2:4] for i in own if i.kind in ("send", "receive")]
            computing = [i[2:4] for i in own if i.kind == "compute"]
            moving += _length(messages)
            both = _length(messages) + _length(computing) - _length(messages + computing)
            covered += max(0.0, both)
        return covered / moving if moving else 0.0

    def __str__(self) -> str:
        return (
            f"{len(self.clocks):,} ranks over {self.link}: "
            f"{format_seconds(self.seconds)} (modeled), {self.messages.total():,} messages, "
            f"{self.bytes_moved.total():,} bytes"
        )

    __repr__ = __str__


def _rows(flat: array[float], width: int) -> Iterator[tuple[float, ...]]:
    return zip(*[iter(flat)] * width, strict=True)


def _by_sender(pairs: Counter[tuple[int, int]], size: int) -> list[int]:
    total = [0] * size
    for (source, _), count in pairs.items():
        total[source] += count
    return total


def _length(spans: Sequence[tuple[float, float]]) -> float:
    """How long spans last that may overlap."""
    total, reached = 0.0, 0.0
    for start, end in sorted(spans):
        total += max(0.0, end - max(start, reached))
        reached = max(reached, end)
    return total


def _without(
    spans: Sequence[tuple[float, float]], holes: Sequence[tuple[float, float]]
) -> Iterator[tuple[float, float]]:
    """What is left of ascending spans when sorted holes are cut out; both may touch."""
    first = 0
    for start, end in spans:
        while first < len(holes) and holes[first][1] <= start:
            first += 1
        position = first
        while start < end and position < len(holes) and holes[position][0] < end:
            if holes[position][0] > start:
                yield start, holes[position][0]
            start = max(start, holes[position][1])
            position += 1
        if start < end:
            yield start, end
