"""Streams and events: orders of work, and points in them that others can wait for.

What is put on a stream waits in `work.queue`, which says what CUDA promises of its order.
"""

from __future__ import annotations

import asyncio
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from simt.errors import BadInput
from simt.host.work.order import DEFAULT, PER_THREAD, Task, nothing
from simt.host.work.queue import WorkQueue, work_queue

__all__ = [
    "Event", "Stream", "default_stream", "event", "event_elapsed_time", "external_stream",
    "legacy_default_stream", "per_thread_default_stream", "stream", "synchronize",
]  # fmt: skip

LEGACY = 1  # the default stream by its other name


class Stream:
    """An order of work: what is put on it is carried out one after the other, once it must be.

    Work on another stream may come before or after, unless an event, a wait of the host or the
    legacy default stream says which. Where that matters and nothing says it, it is a finding.
    """

    def __init__(self, handle: int | None = None, *, external: bool = False) -> None:
        self.external = external
        self.handle = work_queue.new_stream() if handle is None else handle

    def __int__(self) -> int:
        return self.handle

    def __repr__(self) -> str:
        default = {DEFAULT: "Default", LEGACY: "Legacy default", PER_THREAD: "Per-thread default"}
        if self.handle in default:
            return f"<{default[self.handle]} CUDA stream>"
        return f"<{'External ' * self.external}CUDA stream {self.handle}>"

    def synchronize(self) -> None:
        """Waits for all work on the stream.

        Raises:
            KernelError: of work that has failed; what was still to be done is not done then.
        """
        work_queue.synchronize(self)

    @contextmanager
    def auto_synchronize(self) -> Iterator[Stream]:
        """Synchronizes at the end of a block."""
        yield self
        self.synchronize()

    def add_callback(self, callback: Callable[..., object], arg: Any = None) -> None:
        """Calls `callback(stream, status, arg)` once earlier work on the stream is done.

        That is done at once, since nobody may ever wait for the stream. The host does not know
        of it: what it may count on it learns from the callback.
        """

        def call(_: Task) -> None:
            try:
                callback(self, 0, arg)
            except Exception as error:
                warnings.warn(f"Exception in stream callback: {error}", stacklevel=2)

        work_queue.progress(work_queue.issue("host", self, call))

    def async_done(self) -> asyncio.Future[Stream]:
        """What can be awaited: the stream, once earlier work on it is done."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Stream] = loop.create_future()
        event = Event()
        event.record(self)

        def resolve() -> None:
            if not future.done():
                try:
                    event.synchronize()
                except Exception as error:
                    future.set_exception(error)
                else:
                    future.set_result(self)

        loop.call_soon(resolve)
        return future


class Event:
    """A point in a stream. Its times are those of this computer, not of a GPU."""

    def __init__(self, queue: WorkQueue = work_queue) -> None:
        self._queue = queue
        self._time: float | None = None
        self._task: Task | None = None
        self.recorded = False

    def record(self, stream: Any = 0) -> None:
        """Sets the event to this point of a stream: it happens when all before it is done."""
        self.recorded = True
        if self._queue.direct(stream):
            self._task, self._time = None, time.perf_counter()
            return
        self._time = None

        def happen(task: Task) -> None:
            if self._task is task:  # and has not been recorded anew
                self._time = task.began

        self._task = self._queue.issue("event", stream, happen)

    def query(self) -> bool:
        """Whether the event has happened; one that was never recorded has.

        The machine works while it is asked: if the answer is no, the next one is yes.
        """
        return self._task is None or self._queue.progress(self._task)

    def synchronize(self) -> None:
        """Waits until the event has happened; not at all for one that was never recorded.

        Raises:
            KernelError: of work that has failed; what was still to be done is not done then.
        """
        self._queue.wait_for(self._task)

    def wait(self, stream: Any = 0) -> None:
        """Makes what is put on a stream from here on wait for the event, as last recorded."""
        after = [] if self._task is None or self._task.seen else [self._task]
        if after or not self._queue.direct(stream):
            self._queue.issue("wait", stream, nothing, after=after)

    def elapsed_time(self, evtend: Event) -> float:
        """Milliseconds between two events."""
        return event_elapsed_time(self, evtend)

    @property
    def happened(self) -> bool:
        """Whether it has been recorded and reached."""
        return self._time is not None

    @property
    def time(self) -> float:
        """When it happened, in seconds.

        Raises:
            BadInput: it was never recorded, or has not happened.
        """
        if not self.recorded:
            raise BadInput("both events must have been recorded: event.record(stream)")
        if self._time is None:
            raise BadInput(
                "an event has not happened yet: wait for it first, with event.synchronize()"
            )
        return self._time


def stream() -> Stream:
    """A new stream."""
    return Stream()


def default_stream() -> Stream:
    """The stream that is used when none is named: the legacy default stream."""
    return Stream(DEFAULT)


def legacy_default_stream() -> Stream:
    """The stream whose work comes after all earlier work, and before all later."""
    return Stream(LEGACY)


def per_thread_default_stream() -> Stream:
    """A stream of this thread's own; it too waits for the legacy default stream."""
    return Stream(PER_THREAD)


def external_stream(ptr: int) -> Stream:
    """A stream of another library, or one of these, by its handle."""
    return Stream(ptr, external=True)


def event(timing: bool = True) -> Event:
    """A new event."""
    return Event()


def event_elapsed_time(evtstart: Event, evtend: Event) -> float:
    """Milliseconds between two events that have happened.

    Raises:
        BadInput: one was never recorded, or has not happened.
    """
    return (evtend.time - evtstart.time) * 1000


def synchronize() -> None:
    """Waits for all work.

    Raises:
        KernelError: of work that has failed; what was still to be done is not done then.
    """
    if not work_queue.direct(0):  # else there is nothing to wait for
        work_queue.synchronize()
