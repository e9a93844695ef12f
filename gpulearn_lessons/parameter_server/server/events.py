"""What the processes of a replicated server did, written down as they did it.

Each line is in the file before the process goes on, so that a process that is killed leaves all
that it has done. All processes read one clock of the machine.
"""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import NamedTuple

from gpulearn_lessons.parameter_server.server.replica import Push, ServerState


class ProcessEvent(NamedTuple):
    """One thing that one process did.

    `moment` is in nanoseconds of the machine's clock, `who` such as "server 1" or "worker 0", and
    `push` the worker and the number of a push, or None. A server also notes in `times` how often
    its weights count that push, if it is one of `unit_push`.
    """

    moment: int
    who: str
    what: str
    push: tuple[int, int] | None = None
    times: int = 0


class EventLog:
    """One process's way to write events down."""

    def __init__(self, folder: str, who: str) -> None:
        self.who = who
        self._file = os.open(_file(folder), os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    def note(self, what: str, push: Push | None = None, state: ServerState | None = None) -> None:
        """Write down what this process does, with a push or without."""
        times = 0
        if push is not None and state is not None:
            times = round(-float(state.weights @ push.gradient))
        named = None if push is None else push[:2]
        line = json.dumps((time.monotonic_ns(), self.who, what, named, times)) + "\n"
        os.write(self._file, line.encode())

    def close(self) -> None:
        """Give the file back."""
        os.close(self._file)


def _file(folder: str) -> Path:
    return Path(folder) / "events"


def read_events(folder: str) -> tuple[ProcessEvent, ...]:
    """All events of a run, in order."""
    found = []
    for line in _file(folder).read_text("ascii").splitlines():
        moment, who, what, push, times = json.loads(line)
        found.append(ProcessEvent(moment, who, what, push and tuple(push), times))
    return tuple(sorted(found, key=lambda event: event.moment))
