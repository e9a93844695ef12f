"""What the processes of a replicated server did, each event written before the process goes on.

So a process that is killed leaves all that it has done. All read one clock of the machine.
"""

import json
import os
import time
from pathlib import Path
from typing import NamedTuple

from gpulearn_lessons.parameter_server.server.replica import Push, ServerState

FILE = "events"


class ProcessEvent(NamedTuple):
    """One thing that one process did.

    `moment` is in nanoseconds of the machine's clock, `who` such as "server 1" or "worker 0", and
    `push` the worker and number of a push, or None; `times` is how often a server's weights count
    it.
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
        self._file = os.open(Path(folder) / FILE, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    def note(self, what: str, push: Push | None = None, state: ServerState | None = None) -> None:
        """Write down what this process does; on a server also how often it counts the push."""
        counted = push is not None and state is not None
        times = round(-float(state.weights @ push.gradient)) if counted else 0  # type: ignore[union-attr]
        push_id = None if push is None else push[:2]
        line = json.dumps((time.monotonic_ns(), self.who, what, push_id, times)) + "\n"
        os.write(self._file, line.encode())

    def close(self) -> None:
        """Give the file back."""
        os.close(self._file)


def read_events(folder: str) -> tuple[ProcessEvent, ...]:
    """All events of a run, in order."""
    events = []
    for line in (Path(folder) / FILE).read_text("ascii").splitlines():
        moment, who, what, push, times = json.loads(line)
        events.append(ProcessEvent(moment, who, what, push and tuple(push), times))
    return tuple(sorted(events, key=lambda event: event.moment))
