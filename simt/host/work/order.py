"""The order of operations: vector clocks, and an order that they allow.

Each stream counts its operations. The clock of an operation says up to which one of each stream
all must come before it, itself included: one is before another if it is within the other's clock.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextvars import copy_context
from time import perf_counter
from typing import Any

from simt.core.places import Place
from simt.errors import BadCall
from simt.host.work.operations import StreamOperation
from simt.host.work.pinned import HostMemory
from simt.host.work.ranges import Access

DEFAULT, PER_THREAD, ALL_STREAMS = 0, 2, -1  # numbers of streams; those that are made have the next

Clock = dict[int, int]  # the number of an operation by stream
Action = Callable[["Task"], list[Access] | None]  # gives what was touched, if that is news


def number_of(stream: Any) -> int:
    """The number of a stream; no stream is the default stream."""
    if isinstance(stream, int) and stream:
        raise BadCall(f"{stream!r} is no stream: make one with stream = cuda.stream()")
    number = int(stream or DEFAULT)
    return DEFAULT if number == 1 else number  # 1 is its other name


def clock_key(number: int) -> int:
    """What clocks count for a stream: each thread has a per-thread default stream of its own."""
    return -threading.get_ident() if number == PER_THREAD else number


def merge(clock: Clock, other: Clock) -> None:
    """Merges the clock `other` into `clock`."""
    for stream, time in other.items():
        if clock.get(stream, 0) < time:
            clock[stream] = time


class Task:
    """An operation on its way through the queue."""

    def __init__(
        self, operation: StreamOperation, place: Place, action: Action,
        accesses: Sequence[Access], host: HostMemory | None,
    ) -> None:  # fmt: skip
        self.operation, self.place, self.host = operation, place, host
        self.accesses = list(accesses)
        self.context = copy_context()  # its settings are those of where it was asked for
        self.action: Action | None = action
        self.number = 0
        self.stream = 0  # as the clocks count streams
        self.clock: Clock = {}
        self.after: list[Task] = []
        self.rivals: list[Task] = []  # unordered, and they touch the same memory
        self.began = self.ended = perf_counter()  # on a device that has no other work
        self.done = False
        self.seen = False  # the host has waited for it

    @property
    def time(self) -> int:
        """Its number on its stream."""
        return self.clock[self.stream]

    def before(self, other: Task) -> bool:
        """Whether it must be carried out before another."""
        return other is not self and other.clock.get(self.stream, 0) >= self.time


class StreamOrders:
    """Which operations of all streams come before which.

    `apart` are the streams that are in no order with the legacy default stream.
    """

    def __init__(self) -> None:
        self.apart: set[int] = set()
        self._clocks: dict[int, Clock] = {}  # of the last operation of each stream
        self._last: dict[int, Task] = {}

    def enter(self, task: Task, number: int, after: Sequence[Task]) -> list[int]:
        """Gives an operation its clock; the numbers of those it comes after."""
        key = clock_key(number)
        clock: Clock = {}  # what the host has waited for need not be in it: nobody asks for that
        previous = [*after]
        for stream, last in self._last.items():
            if self._is_ordered(key, stream):
                merge(clock, self._clocks[stream])
                if last not in previous:
                    previous.append(last)
        for event in after:
            merge(clock, event.clock)
        clock[key] = clock.get(key, 0) + 1
        task.stream, task.clock = key, clock
        self._clocks[key], self._last[key] = clock, task
        task.after = [t for t in previous if not t.done]
        return [t.number for t in previous]

    def _is_ordered(self, key: int, other: int) -> bool:
        """Whether work on one stream is in order with that on another."""
        return key == other or (DEFAULT in (key, other) and not {key, other} & self.apart)

    def meant(self, number: int) -> set[int]:
        """The streams that a wait for a stream covers, as clocks count them."""
        key = clock_key(number)
        # cuStreamSynchronize "uses standard default stream semantics": as before any action on
        # the legacy default stream, the streams that are in order with it are waited for
        whole = key == DEFAULT
        return {
            k for k in self._last
            if number == ALL_STREAMS or k == key or (whole and self._is_ordered(key, k))
        }  # fmt: skip

    def last(self, streams: set[int]) -> list[Task]:
        """The last operation of each of these streams."""
        return [task for key, task in self._last.items() if key in streams]

    def clear(self) -> None:
        """Starts over: all later operations come after all earlier ones."""
        self._clocks.clear()
        self._last.clear()


def nothing(task: Task) -> None:
    """The action of an operation that only orders others."""


def in_order(tasks: Sequence[Task], *, hasty: bool) -> list[Task]:
    """The operations and those that they must come after, in an order that CUDA allows.

    If `hasty`, of two that race the one that was asked for later goes first where it may.
    """
    order: list[Task] = []
    entered: set[int] = set()
    for start in tasks:
        path: list[tuple[Task, list[Task]]] = []
        reached: Task | None = start
        while reached is not None or path:
            if reached is not None:
                if reached.done or reached.number in entered:
                    reached = None
                    continue
                entered.add(reached.number)
                todo = reached.after[::-1]
                path.append((reached, todo))
                if hasty:
                    later = [t for t in reached.rivals if t.number > reached.number]
                    # one for which something on the path must be done first cannot go before it
                    todo[:0] = [t for t in later if not any(p.before(t) for p, _ in path)]
                reached = None
            task, todo = path[-1]
            if todo:
                reached = todo.pop()
            else:
                order.append(task)
                path.pop()
    return order
