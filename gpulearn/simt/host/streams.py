"""Streams and events. The machine finishes each launch before it returns: nothing is pending."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

__all__ = [
    "Event", "Stream", "default_stream", "event", "event_elapsed_time", "external_stream",
    "legacy_default_stream", "per_thread_default_stream", "stream", "synchronize",
]  # fmt: skip


class Stream:
    """An order of work. The machine finishes each launch before it returns."""

    def __init__(self, handle: int | None = None) -> None:
        self.external = handle is not None
        self.handle = id(self) if handle is None else handle

    def __int__(self) -> int:
        return self.handle

    async def async_done(self) -> Stream:
        """The stream, once earlier work is done: at once."""
        return self

    def synchronize(self) -> None:
        """Waits for the stream: nothing is ever pending."""

    @contextmanager
    def auto_synchronize(self) -> Iterator[Stream]:
        """Synchronises at the end of a block."""
        yield self

    def add_callback(self, callback: Any, arg: Any = None) -> None:
        """Calls `callback(stream, status, arg)` once earlier work is done: at once."""
        callback(self, 0, arg)

    def __bool__(self) -> bool:
        return True


class Event:
    """A point in a stream. Its times are those of this computer, not of a GPU."""

    def __init__(self) -> None:
        self._time: float | None = None

    def record(self, stream: Any = 0) -> None:
        """Notes the time."""
        self._time = time.perf_counter()

    def query(self) -> bool:
        """Whether the event has happened."""
        return True

    def synchronize(self) -> None:
        """Waits for the event."""

    def wait(self, stream: Any = 0) -> None:
        """Makes a stream wait for the event."""

    def elapsed_time(self, evtend: Event) -> float:
        """Milliseconds between two events."""
        return event_elapsed_time(self, evtend)


def stream() -> Stream:
    """A new stream."""
    return Stream()


def default_stream() -> Stream:
    """The stream that is used when none is named."""
    return Stream()


def external_stream(ptr: int) -> Stream:
    """A stream of another library."""
    return Stream(ptr)


def event(timing: bool = True) -> Event:
    """A new event."""
    return Event()


def event_elapsed_time(evtstart: Event, evtend: Event) -> float:
    """Milliseconds between two recorded events."""
    if evtstart._time is None or evtend._time is None:
        raise ValueError("both events must have been recorded")
    return (evtend._time - evtstart._time) * 1000


def synchronize() -> None:
    """Waits for all work: nothing is ever pending."""


legacy_default_stream = per_thread_default_stream = default_stream
