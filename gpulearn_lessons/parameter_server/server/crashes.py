"""Crashes of a replicated server, each at every point of its protocol, in one process.

What the module `processes` beside it does with processes and sockets is done here with function
calls, so that all places for a crash can be tried, and pairs of them.
"""

import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from gpulearn_lessons.parameter_server.server.replica import (
    Push,
    PushHandler,
    ServerState,
    count_pushes,
    unit_push,
)

TRIES = 3  # that a worker sends one push while no process dies
WORDS = {
    "received": "when it has come",
    "before forward": "before the backup gets it",
    "forwarded": "when the backup has it",
    "before acknowledge": "before it is acknowledged",
    "acknowledged": "when it is acknowledged",
    "done": "when the primary is done with it",
}


@dataclass(frozen=True)
class CrashPlan:
    """Who dies, one after another, at every point of a run of this size."""

    whom: tuple[str, ...] = ()  # "primary", "backup" or "worker"
    workers: int = 2
    pushes: int = 2  # of each worker
    lr: float = 1.0


class Crash(NamedTuple):
    """One crash: of the "primary", the "backup" or the "worker", at an event counted from 0."""

    whom: str
    event: int


class _ServerCrash(BaseException):
    """Ends what a primary was doing when it died; no `except Exception` stops it."""


@dataclass
class CrashRun:
    """What became of all pushes in one run with crashes."""

    crashes: tuple[Crash, ...]
    summary: str = ""  # where the crashes were, in words
    # how often each push was applied on the primary, of shape (workers, pushes)
    applied: Any = None
    on_backup: Any = None  # the same on its backup
    acknowledged: Any = None  # which pushes a worker was told to be safe
    # a push that was sent again and again and never acknowledged, if there is one
    stuck: Push | None = None
    events: int = 0  # how many there were

    def outcome(self) -> tuple[Any, ...]:
        """What can be compared."""
        stuck = None if self.stuck is None else self.stuck[:2]
        return (*(a.tolist() for a in (self.applied, self.on_backup, self.acknowledged)), stuck)

    def fault(self) -> str | None:
        """What is wrong, in one sentence without its full stop, or None."""
        after = f"{self.summary}: " if self.summary else ""
        if self.stuck is not None:
            return f"{after}{_push_name(self.stuck)} is sent again and again and never acknowledged"
        for where, counts in (("primary", self.applied), ("backup", self.on_backup)):
            for worker, number in np.argwhere(counts != 1):
                push, count = f"push {number + 1} of worker {worker}", counts[worker, number]
                if count == 0:
                    return f"{after}{push} was acknowledged, and is missing on the {where}"
                return f"{after}{push} is applied {count:g} times on the {where}"
        return None


@dataclass
class _Pair:
    """A primary and its backup, and what happens to them."""

    handle: PushHandler
    run: CrashRun
    primary: ServerState
    backup: ServerState
    backup_died: bool = False
    worker_died: bool = False
    words: list[str] = field(default_factory=list)

    def event(self, name: str, push: Push) -> None:
        """Pass a point of the protocol; a process may die there."""
        number, self.run.events = self.run.events, self.run.events + 1
        for crash in self.run.crashes:
            if crash.event != number:
                continue
            whom = f"worker {push.worker}" if crash.whom == "worker" else f"the {crash.whom}"
            self.words.append(f"{whom} dies at {_push_name(push)}, {WORDS[name]}")
            if crash.whom == "primary":
                raise _ServerCrash
            if crash.whom == "worker":
                self.worker_died = True
            else:
                self.backup_died = True
                if name == "before forward":
                    self.replace_backup()

    def replace_backup(self) -> None:
        """A new backup gets all that the primary has at this moment."""
        self.backup, self.backup_died = copy.deepcopy(self.primary), False

    def take(self, push: Push) -> bool:
        """The primary takes a push; whether the worker hears that it is safe."""
        delivered = False

        def forward(other: Push) -> None:
            self.event("before forward", push)
            # a copy, as a message is; a backup neither forwards nor acknowledges
            copied = Push(other.worker, other.number, other.gradient.copy())
            self.handle(self.backup, copied, lambda push: None, lambda push: None)
            self.event("forwarded", push)

        def acknowledge(other: Push) -> None:
            nonlocal delivered
            self.event("before acknowledge", push)
            delivered = delivered or tuple(other[:2]) == tuple(push[:2])
            self.event("acknowledged", push)

        try:
            self.event("received", push)
            copied = Push(push.worker, push.number, push.gradient.copy())
            self.handle(self.primary, copied, forward, acknowledge)
            self.event("done", push)
        except _ServerCrash:
            if self.backup_died:
                self.words.append("(both are gone: nothing could help)")
            self.primary = self.backup
            self.replace_backup()
        if self.backup_died:
            self.replace_backup()
        if self.worker_died:  # and is started again, not knowing what it has heard
            self.worker_died = delivered = False
        return delivered


def _push_name(push: Push) -> str:
    return f"push {push.number} of worker {push.worker}"


def run_with_crashes(
    handle: PushHandler, crashes: Sequence[Crash] = (), plan: CrashPlan = CrashPlan()
) -> CrashRun:
    """Send the pushes of all workers in turns, with these crashes.

    A push that is not acknowledged is sent again, after those of the other workers. Each adds 1
    to a weight of its own, whatever the rate.

    >>> from gpulearn_lessons.parameter_server.server.replica import serve_with_backup
    >>> run = run_with_crashes(serve_with_backup, [Crash("primary", 2)])
    >>> run.summary
    'the primary dies at push 1 of worker 0, when the backup has it'
    >>> run.applied.tolist(), run.fault()
    ([[1.0, 1.0], [1.0, 1.0]], None)
    """
    run, workers, pushes = CrashRun(tuple(crashes)), plan.workers, plan.pushes
    run.acknowledged = np.zeros((workers, pushes), bool)
    primary, backup = (ServerState(np.zeros(workers * pushes), lr=plan.lr) for _ in range(2))
    pair = _Pair(handle, run, primary, backup)
    for number in range(1, pushes + 1):
        waiting = [(worker, 0) for worker in range(workers)]
        while waiting:
            worker, tries = waiting.pop(0)
            push = unit_push(worker, number, workers, pushes)
            push = push._replace(gradient=push.gradient / plan.lr)
            if pair.take(push):
                run.acknowledged[worker, number - 1] = True
            elif tries + 1 < TRIES + len(crashes):
                waiting.append((worker, tries + 1))
            else:
                run.stuck = run.stuck or push
    counts = [count_pushes(state, workers).round(9) for state in (pair.primary, pair.backup)]
    run.applied, run.on_backup = counts
    run.summary = ", and then ".join(pair.words)
    return run


def crash_everywhere(handle: PushHandler, plan: CrashPlan) -> Iterator[CrashRun]:
    """Runs with a crash of each named process, one after another, at every point for it.

    Two servers never die at one push, since a new backup needs a primary to get its state from.

    >>> from gpulearn_lessons.parameter_server.server.replica import serve_with_backup
    >>> runs = list(crash_everywhere(serve_with_backup, CrashPlan(("primary",))))
    >>> len(runs), [run.fault() for run in runs if run.fault()]
    (24, [])
    """
    series: list[tuple[Crash, ...]] = [()]
    for victim in plan.whom:
        series = [
            (*crashes, Crash(victim, event))
            for crashes in series
            for event in range(
                crashes[-1].event + 1 if crashes else 0,
                run_with_crashes(handle, crashes, plan).events,
            )
        ]
    for crashes in series:
        run = run_with_crashes(handle, crashes, plan)
        if "both are gone" not in run.summary:
            yield run
