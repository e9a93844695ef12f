"""The queue: work that was asked for and not yet carried out, in an order that CUDA allows.

Work on one stream is in order. Work on different streams is ordered by an event that one waits
for, by what the host has waited for, and by the legacy default stream, whose work comes after all
that was asked for before and before all that is asked for later, on every stream that is not made
apart from it (those are what CUDA calls blocking streams: all of `cuda`'s, and the per-thread
default stream).

What comes before what is told by vector clocks: each stream counts its operations, and the clock
of an operation says up to which one of each stream all come before it; the host's clock says the
same of what it has waited for.

Nothing is carried out before something demands it: a synchronization, a copy for which the host
waits, a question whether an event has happened. Then what must come before it is carried out too,
and of two operations that race the one that was asked for later goes first, so that a missing
event is seen in the result. A seed (`block_order`) chooses other allowed orders. Where nobody
looks for races, what was asked for earlier comes first.
"""

import threading
import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from simt.core.memory import poison
from simt.core.places import Place
from simt.errors import BadInput
from simt.host.settings import checking, current_seed
from simt.host.work.operations import StreamOperation
from simt.host.work.order import (
    ALL_STREAMS,
    DEFAULT,
    PER_THREAD,
    Action,
    Clock,
    StreamOrders,
    Task,
    in_order,
    merge,
    nothing,
    number_of,
)
from simt.host.work.pinned import HostMemory
from simt.host.work.program import HostProgram
from simt.host.work.ranges import Access, conflict, of_array, overlap
from simt.host.work.stream_races import FindingQueue, meddled, race

_STREAM_NAMES = {
    ALL_STREAMS: "all streams", DEFAULT: "the default stream",
    PER_THREAD: "the per-thread default stream",
}  # fmt: skip
MAX_QUEUED = 1000  # operations; a GPU's queues are bounded too, and a host that fills one waits


class NotYet(BaseException):
    """An operation waits for what the host has not asked for yet, nor waits for it itself."""


class WorkQueue:
    """All streams of a host's program; an operation that fails raises where it is carried out."""

    def __init__(self, host: HostProgram) -> None:
        self.host = host
        self._lock = threading.RLock()
        self._streams = StreamOrders()
        self._host_clock: Clock = {}  # what the host has waited for
        self._waited = -1  # the number of the last operation that the host has waited for
        self._unseen: list[Task] = []  # those that the host has not waited for
        self._count = 0
        self._draws = 0
        self._busy = False  # in an operation
        self._needed = True  # what is carried out, by that for which the host waits
        self._findings = FindingQueue(host)
        self._created = 0

    def new_stream(self, *, apart: bool = False) -> int:
        """The number of a stream that nobody has used.

        `apart` from the legacy default stream, as by `cudaStreamNonBlocking`: neither waits for
        the other.
        """
        with self._lock:
            self._created += 1
            number = PER_THREAD + self._created
            if apart:
                self._streams.apart.add(number)
            return number

    # --- asking

    def direct(self, stream: Any) -> bool:
        """Whether work on a stream may be carried out at once: nothing waits, nobody records."""
        if self._unseen or self.host.records() or not self.host.at_once:
            return False
        return (type(stream) is int and stream == 0) or number_of(stream) == DEFAULT

    def issue(
        self, kind: str, stream: Any, action: Action, *,
        accesses: Sequence[Access] = (), host: HostMemory | None = None, name: str = "",
        size: int = 0, waits: bool = False, staged: bool = False, after: Sequence[Task] = (),
        where: Place | None = None, **details: Any,
    ) -> Task:  # fmt: skip
        """Puts an operation on a stream; with `waits` it is carried out before this returns.

        `action` may return what the operation has touched, where that is not known before.
        `host` is the host's memory of a copy; if `staged`, the host has waited until its bytes
        lay elsewhere. `after` are operations of other streams that it waits for, `details` what
        its record has beyond that.
        """
        with self._lock:
            self._check_reentry()
            where = where or self.host.place()
            number = number_of(stream)
            pinned = host.pinned if host is not None else None
            operation = StreamOperation(
                kind, number, self._label(number, stream, where), name, size, pinned,
                waits or staged, line=where.line, text=where.text, **details,
            )  # fmt: skip
            where.forget()
            hazards = checking()
            task = Task(operation, where, action, accesses if hazards else (), host)
            before = self._streams.enter(task, number, after)
            self._record(task, [*before, self._waited])
            if hazards:
                for other in self._unseen:  # in no order with it, on the same memory
                    if not other.before(task) and conflict(other.accesses, task.accesses):
                        task.rivals.append(other)
                        other.rivals.append(task)
                if host is not None and host.pinned:
                    host.remember()
            self._unseen.append(task)
            if waits:
                self._wait_for([task])
                self._waited = task.number
            elif len(self._unseen) > MAX_QUEUED:
                self._wait_for(self._unseen[: MAX_QUEUED // 10])
            return task

    def _record(self, task: Task, before: Sequence[int]) -> None:
        task.number = self._count
        self._count += 1
        for record in self.host.records():
            record.add(task.number, replace(task.operation), before)

    # --- waiting

    def synchronize(self, stream: Any = ALL_STREAMS) -> None:
        """The host waits for a stream, or for all."""
        with self._lock:
            self._check_reentry()
            number = ALL_STREAMS if stream is ALL_STREAMS else number_of(stream)
            keys = self._streams.meant(number)
            last = self._streams.last(keys)
            where = self.host.place()
            self._note_wait(number, self._label(number, stream, where), last, where)
            self._wait_for([t for t in self._unseen if t.stream in keys])

    def wait_for(self, task: Task | None) -> None:
        """The host waits for one operation, such as the record of an event."""
        with self._lock:
            self._check_reentry()
            tasks = [] if task is None else [task]
            number, name = DEFAULT, _STREAM_NAMES[DEFAULT]
            if task is not None:
                number, name = task.operation.stream, task.operation.stream_name
            self._note_wait(number, name, tasks, self.host.place())
            self._wait_for([t for t in tasks if not t.seen])

    def progress(self, task: Task) -> bool:
        """Whether an operation is done, which the host then knows; if not, it is carried out."""
        with self._lock:
            self._check_reentry()
            return self._progress([task])

    def query(self, stream: Any) -> bool:
        """Whether all work on a stream is done, which the host then knows; if not, it is then."""
        with self._lock:
            self._check_reentry()
            keys = self._streams.meant(number_of(stream))
            return self._progress([t for t in self._unseen if t.stream in keys])

    def _progress(self, tasks: Sequence[Task]) -> bool:
        waiting = [t for t in tasks if not t.done]
        if waiting:
            self._run_with_dependencies(waiting)
            self._findings.tell()
        else:
            self._mark_seen([t for t in tasks if not t.seen])
        return not waiting

    def unpin(self, array: Any) -> None:
        """A host array is no longer pinned: what copies from or to it is carried out."""
        with self._lock:
            ranges = of_array(array)
            hosts = [(t, t.host) for t in self._unseen if not t.done and t.host is not None]
            using = [t for t, memory in hosts if overlap(of_array(memory.array), ranges)]
            for task in using:
                self._findings.add(meddled(task, self.host, "unpinned"), task.place)
            self._wait_for(using)

    def finish(self) -> None:
        """Carries out all that waits; the host waits for it."""
        with self._lock:
            self._check_reentry()
            self._wait_for(self._unseen)

    def _label(self, number: int, stream: Any, where: Place) -> str:
        """What to call a stream."""
        if number in _STREAM_NAMES:
            return _STREAM_NAMES[number]
        name = "" if isinstance(stream, int) else where.name_of(stream)
        own = number <= PER_THREAD + self._created
        return name or (f"stream {number - PER_THREAD}" if own else f"external stream {number}")

    def _note_wait(self, number: int, name: str, last: Sequence[Task], where: Place) -> None:
        if self.host.records():
            operation = StreamOperation(
                "synchronize", number, name, host_waits=True, line=where.line, text=where.text
            )
            task = Task(operation, where, nothing, (), None)
            self._record(task, [*(t.number for t in last), self._waited])
            self._waited = task.number
        where.forget()

    def _wait_for(self, tasks: Sequence[Task]) -> None:
        tasks = list(tasks)
        try:
            self._run_with_dependencies([t for t in tasks if not t.done])
            self._mark_seen(tasks)
        finally:
            self._findings.tell()

    def _mark_seen(self, tasks: Iterable[Task]) -> None:
        """Notes that the host knows these and all before them to be done."""
        for task in tasks:
            merge(self._host_clock, task.clock)
        for task in self._unseen:
            task.seen = self._host_clock.get(task.stream, 0) >= task.time
        self._unseen = [t for t in self._unseen if not t.seen]
        if not self._unseen:  # all that comes is after all that was
            self._streams.clear()
            self._host_clock.clear()

    # --- carrying out

    def _run_with_dependencies(self, tasks: Sequence[Task]) -> None:
        """Runs operations, after those that must come before them."""
        needed = in_order(tasks, hasty=True)
        known = {*needed}
        for task in self._schedule(tasks, needed):
            self._try(task, task in known)

    def _try(self, task: Task, needed: bool) -> bool:
        """Carries an operation out if its turn has come; whether it is done by that."""
        if task.done or not all(other.done for other in task.after):
            return False
        self._needed, action = needed, task.action
        try:
            self._carry_out(task)
        except NotYet:
            task.done, task.action = False, action
        return task.done

    def _schedule(self, tasks: Sequence[Task], needed: list[Task]) -> list[Task]:
        seed = current_seed()
        if not seed and checking():
            return needed
        if not seed:
            last = max([t.number for t in tasks], default=-1)
            return in_order([*(t for t in self._unseen if t.number <= last), *tasks], hasty=True)
        self._draws += 1
        draw = np.random.default_rng((seed, self._draws))
        waiting = [t for t in self._unseen if not t.done]
        chosen = [*tasks, *(t for t in waiting if draw.random() < 0.5)]
        draw.shuffle(chosen)
        return in_order(chosen, hasty=False)

    def _carry_out(self, task: Task) -> None:
        host, action = task.host, task.action
        if host is not None and task.accesses and host.pinned:
            if host.freed:
                self._findings.add(meddled(task, self.host, "freed"), task.place)
                poison(host.array.ravel(order="K"))  # others may have the memory by now
            elif host.changed:
                self._findings.add(meddled(task, self.host, "changed"), task.place)
        self._busy, start = True, time.perf_counter()
        task.began = max([task.began, *(other.ended for other in task.after)])
        try:
            if action is not None:
                accesses = task.context.run(action, task)
                task.accesses = task.accesses if accesses is None else accesses
        except NotYet:
            raise
        except BaseException:  # all waiting work is dropped
            for other in self._unseen:
                other.done, other.action, other.after = True, None, []
            self._mark_seen(self._unseen)
            raise
        finally:
            self._busy = False
            task.done, task.action, task.after = True, None, []
            task.ended = task.began + time.perf_counter() - start
        if task.operation.kind == "copy-out" and host is not None:
            self._refresh_checksums(task, host)
        for other in task.rivals:
            if other.done:
                first, second = sorted((task, other), key=lambda t: t.number)
                self._findings.add(race(first, second, self.host), second.place)
        task.host = None

    def overtake(self, task: Task) -> bool:
        """Whether there was work in no order with what waits forever: it is carried out first."""
        if not self._needed:
            raise NotYet
        others = [t for t in self._unseen if not (t.done or t is task or task.before(t))]
        order = in_order(others, hasty=False)
        while sum(self._try(other, needed=False) for other in order):
            pass
        self._busy = True
        return any(other.done for other in others)

    def _refresh_checksums(self, task: Task, written: HostMemory) -> None:
        """Takes new checksums of host memory that the device itself has written."""
        ranges = of_array(written.array)
        for other in self._unseen:
            memory = None if other.done else other.host
            if memory is not None and memory.remembered and overlap(of_array(memory.array), ranges):
                memory.remember()

    def _check_reentry(self) -> None:
        if self._busy:
            raise BadInput(
                "a callback on a stream calls cuda: CUDA does not allow that; let it tell the "
                "host, which can then ask for more work"
            )


work_queue = WorkQueue(HostProgram())
