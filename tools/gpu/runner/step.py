"""A step of `make gpu`: a command in a process of its own, which ends when its time is up.

Whatever a step does (fail, crash, hang, print without end, leave processes behind), it costs its
own seconds and its own row of the summary.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

__all__ = ["SECONDS", "Outcome", "Step", "run_step", "seconds_left"]

SECONDS = "GPULEARN_STEP_SECONDS"  # variable that tells a step its limit
GRACE = 2.0  # seconds between asking a process to end and killing it
LOG = 2_000_000  # bytes of output that are kept from the beginning
TAIL = 20_000  # bytes that are kept from the end


@dataclass(frozen=True)
class Step:
    """A command and the seconds that it may take; a name such as "recordings/matmul"."""

    name: str
    seconds: float
    command: tuple[str, ...]

    def chosen(self, names: set[str]) -> bool:
        """Whether it is named, or its group: the part of its name before the slash."""
        return bool({self.name, self.name.partition("/")[0]} & names)


@dataclass(frozen=True)
class Outcome:
    """How a step ended.

    Attributes:
        step: its name.
        status: "right", "failed", "crashed", "out of time", or "no time left" if it never began.
        seconds: how long it took.
        said: the last lines of its output.
    """

    step: str
    status: str
    seconds: float
    said: str

    @property
    def right(self) -> bool:
        """Whether it did all that it should."""
        return self.status == "right"


def seconds_left(usual: float, closing: float = 5.0) -> float:
    """What a step may spend, so that it ends by itself before its limit.

    Args:
        usual: seconds, where nobody set a limit.
        closing: seconds to start and to write results in.
    """
    limit = os.environ.get(SECONDS)
    return usual if limit is None else max(1.0, float(limit) - closing)


class _Output(threading.Thread):
    """Reads what a process prints: the beginning into a file, the end into memory."""

    def __init__(self, pipe: IO[bytes], log: Path) -> None:
        super().__init__(daemon=True)  # a process that left the group may hold the pipe open
        self.pipe, self.log = pipe, log
        self.size, self.end = 0, b""
        self.start()

    def run(self) -> None:
        with self.pipe, self.log.open("wb", buffering=0) as file:
            while part := os.read(self.pipe.fileno(), 1 << 16):
                file.write(part[: max(0, LOG - self.size)])
                self.size += len(part)
                self.end = (self.end + part)[-TAIL:]
            if self.size > LOG:
                file.write(f"\n… {self.size - LOG:,} bytes more, which end in:\n".encode())
                file.write(self.end)

    def lines(self, count: int) -> str:
        """The last lines, once all is read or nothing more comes."""
        self.join(GRACE)
        text = self.end.decode(errors="replace").replace("\r", "\n").strip()
        return "\n".join(text.splitlines()[-count:])


def run_step(
    step: Step, limit: float, log: Path, environment: Mapping[str, str], lines: int = 20
) -> Outcome:
    """Run a step for `limit` seconds at most, and end every process that it started.

    Args:
        step: what to run.
        limit: seconds; then its processes are asked to end, and `GRACE` seconds later killed.
        log: the file that gets its output.
        environment: the variables it sees.
        lines: how many of its last lines to keep.
    """
    began = time.monotonic()
    process = subprocess.Popen(
        step.command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        env=dict(environment), start_new_session=True,
    )  # fmt: skip
    assert process.stdout is not None
    output = _Output(process.stdout, log)
    try:
        status = _status(process.wait(limit))
    except subprocess.TimeoutExpired:
        status = "out of time"
        _signal_group(process, signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            process.wait(GRACE)
    finally:  # what it left behind ends too, also when the user interrupts
        _signal_group(process, signal.SIGKILL)
        process.wait()
    said = output.lines(lines)
    return Outcome(step.name, status, time.monotonic() - began, said)


def _status(code: int) -> str:
    if code < 0:
        return "crashed"
    return "failed" if code else "right"


def _signal_group(process: subprocess.Popen[bytes], number: int) -> None:
    if sys.platform == "win32":
        process.kill()
        return
    with suppress(ProcessLookupError):
        os.killpg(process.pid, number)
