"""The launcher's side: starts the ranks, passes on what they print, and ends them all.

A rank is copied from a server that has torch loaded, or starts afresh.
"""

import contextlib
import os
import pickle
import re
import selectors
import signal
import sys
import time
from collections.abc import Sequence
from multiprocessing.connection import Connection
from typing import Any

from gpulearn.parallel.launch import rank
from gpulearn.parallel.launch.failures import LOG, too_much
from gpulearn.parallel.launch.forkserver import context, surroundings
from gpulearn.parallel.launch.messages import (
    STUCK,
    Calls,
    Failure,
    Job,
    Result,
    TraceFrame,
    without_launcher,
)
from gpulearn.parallel.launch.streams import RankLines

ASKING = 5  # files that are opened to ask the server for a process: a socket and two pipes
GRACE_SECONDS = 1.0  # for the others to end by themselves once a rank has failed
STACK_SECONDS = 0.5  # for a stuck rank to say where it is
PIECE = 1 << 20
LAST_WORDS = 4096  # bytes of what a rank wrote to standard error, to learn what ended it
THREAD = re.compile(r"(Current thread|Thread|Stack)[^\n]*\(most recent call first\):")
STACK_LINE = re.compile(r'File "(.*)", line (\d+) in (\S+)')


class _Member:
    """One rank as the launcher sees it."""

    def __init__(self, job: Job, chosen: Any, known: set[str]) -> None:
        self._job = job
        self._errors = b""
        self.outcome: Result | Failure | None = None
        (out, to_out), (err, to_err), (life, self.life) = (
            chosen.Pipe(duplex=False) for _ in range(3)
        )
        self.pipes: list[Connection] = [out, err]
        self.lines = [
            RankLines(job.rank, sys.stdout),
            RankLines(job.rank, sys.stderr, but=LOG, known=known),
        ]
        self.process = chosen.Process(
            target=rank.run, args=(job, to_out, to_err, life), daemon=True
        )
        with surroundings():
            with contextlib.ExitStack() as opened:
                # OSError where no more files can be opened: a server that is connected to and
                # then told nothing ends, and the next launches would find it gone
                for _ in range(ASKING):
                    opened.callback(os.close, os.dup(life.fileno()))
            self.process.start()
        for connection in (to_out, to_err, life):
            connection.close()

    def take(self, number: int, piece: bytes) -> None:
        """Take what came through pipe `number`: output or errors."""
        self.lines[number].feed(piece)
        if number == 1:
            self._errors = self._errors[-LAST_WORDS:] + piece

    def reported(self, what: str) -> bytes:
        """What the rank has written into one of its files so far."""
        file = self._job.report(what)
        return file.read_bytes() if file.exists() else b""

    def frames(self) -> tuple[TraceFrame, ...]:
        """Where the rank said it was, outermost first."""
        stack = _own_thread(self.reported("stack").decode(errors="replace"))
        lines = reversed(STACK_LINE.findall(stack))
        return without_launcher([TraceFrame(file, int(line), name) for file, line, name in lines])

    def recorded(self) -> Calls | None:
        """The collectives that a stuck rank says it has called; None while it has said nothing."""
        try:
            calls: Calls = pickle.loads(self.reported("calls"))
        except Exception:  # not all of it has come
            return None
        return calls

    def ended(self) -> None:
        """Note how the rank ended; its process is no more."""
        self.process.join()
        try:
            self.outcome = pickle.loads(self.reported("answer"))
        except Exception:
            message = too_much(self._errors.decode(errors="replace"))
            self.outcome = Failure("", message or _manner(self.process.exitcode), self.frames())


class Group:
    """Ranks that run together."""

    def __init__(self, jobs: Sequence[Job], timeout: float) -> None:
        self._jobs = jobs
        self._timeout = timeout
        self._members: list[_Member] = []
        self._selector = selectors.DefaultSelector()

    def run(self) -> list[Result | Failure]:
        """The outcome of each rank, in order of rank; no process is left behind."""
        chosen, known = context(), set[str]()
        try:
            for job in self._jobs:
                member = _Member(job, chosen, known)
                self._members.append(member)
                for number, pipe in enumerate(member.pipes):
                    os.set_blocking(pipe.fileno(), False)
                    self._selector.register(pipe.fileno(), selectors.EVENT_READ, (member, number))
                sentinel = member.process.sentinel
                self._selector.register(sentinel, selectors.EVENT_READ, (member, None))
            self._wait()
            return [member.outcome for member in self._members if member.outcome]
        finally:
            for member in self._members:
                _kill(member.process)
            for member in self._members:
                member.process.join()
                member.process.close()
                for connection in (*member.pipes, member.life):
                    connection.close()
            self._selector.close()

    def _wait(self) -> None:
        quiet_since: float | None = None
        while running := self._running():
            over = len(running) < len(self._members)
            failed = any(isinstance(m.outcome, Failure) for m in self._members)
            patience = GRACE_SECONDS if failed else self._timeout
            if over:
                quiet_since = quiet_since or time.monotonic()
                if time.monotonic() - quiet_since > patience:
                    self._give_up(running)
                    break
            if self._pump(0.1 if over else None):
                quiet_since = time.monotonic() if not failed else quiet_since
        for member in self._members:
            for lines in member.lines:
                lines.close()

    def _running(self) -> list[_Member]:
        return [member for member in self._members if member.outcome is None]

    def _pump(self, seconds: float | None) -> bool:
        """Pass on what has come; whether a rank has ended."""
        ended = []
        for key, _ in self._selector.select(seconds):
            member, number = key.data
            if number is None:
                ended.append(member)
            else:
                self._read(member, number, key.fd)
        for member in ended:
            self._selector.unregister(member.process.sentinel)
            for number, pipe in enumerate(member.pipes):
                if pipe.fileno() in self._selector.get_map():
                    self._read(member, number, pipe.fileno(), to_the_end=True)
            member.ended()
        return bool(ended)

    def _read(self, member: _Member, number: int, fd: int, to_the_end: bool = False) -> None:
        with contextlib.suppress(BlockingIOError):
            while piece := os.read(fd, PIECE):
                member.take(number, piece)
                if not to_the_end:
                    return
            self._selector.unregister(fd)

    def _give_up(self, stuck: Sequence[_Member]) -> None:
        """Ask those that are left where they are and what they have called, then end them."""
        for member in stuck:
            with contextlib.suppress(ProcessLookupError, OSError):
                os.kill(member.process.pid, signal.SIGUSR1)
                member.life.send_bytes(b"calls")
        until = time.monotonic() + STACK_SECONDS
        while time.monotonic() < until and not all(
            m.reported("stack").endswith(b"in <module>\n") and m.recorded() is not None
            for m in stuck
        ):
            self._pump(0.05)
        for member in self._running():
            message = "did not finish in time and was stopped"
            member.outcome = Failure(STUCK, message, member.frames(), member.recorded() or {})


def _own_thread(stacks: str) -> str:
    """The stack of the thread that failed, if it is said, or of that which runs the function.

    faulthandler begins with the latest thread and ends with the first, whose stack it is. A
    thread of a library's own may be the one that failed; it has no line of Python to show.
    """
    _, *parts = THREAD.split(stacks)
    by_kind = dict(zip(parts[::2], parts[1::2], strict=True))
    in_order = [by_kind.get(kind, "") for kind in ("Current thread", "Thread", "Stack")]
    return next((stack for stack in in_order if STACK_LINE.search(stack)), "")


def _manner(code: int | None) -> str:
    if code is not None and code < 0:
        return f"was killed by {signal.Signals(-code).name}"
    return f"ended with exit code {code} before its function returned"


def _kill(process: Any) -> None:
    """End a rank and what it has started."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.kill()  # it may not have a group of its own yet
