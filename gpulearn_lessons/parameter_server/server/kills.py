"""Kills of a replicated parameter server's processes: what was lost, what was applied twice."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from typing import Any, NamedTuple

import numpy as np

from gpulearn import require
from gpulearn.errors import BadInput, RankError
from gpulearn.parallel.launch.forkserver import context, meeting_place, surroundings
from gpulearn.parallel.launch.messages import packed
from gpulearn_lessons.parameter_server.server.events import EventLog, ProcessEvent, read_events
from gpulearn_lessons.parameter_server.server.processes import (
    POINTS,
    WORKER_POINTS,
    be_server,
    be_worker,
)
from gpulearn_lessons.parameter_server.server.replica import (
    PushHandler,
    ServerState,
    count_pushes,
    serve_with_backup,
)

WHOM = ("primary", "backup", "worker")
ANY_MOMENT = "any moment"
MAX_KILL_DELAY = 0.004  # until a kill from outside; a push takes a few tenths of a millisecond


class Kill(NamedTuple):
    """One process that is killed: whose, and at which point of its program.

    `whom` is "primary", "backup" or "worker"; `point` is a name of
    the module `processes` beside it, or "any moment", when the signal comes from outside.
    """

    whom: str
    point: str


@dataclass(frozen=True)
class KillReport:
    """What became of the pushes of a run in which processes were killed."""

    # how often each push was applied, of shape (workers, pushes): on the primary
    applied: np.ndarray[Any, Any]
    on_backup: np.ndarray[Any, Any]  # the same on its backup
    # which pushes a worker was told to be safe, of the same shape
    acknowledged: np.ndarray[Any, Any]
    kills: tuple[Kill, ...]  # those that were carried out, in order
    # what the processes did, in order, each written down by the process itself
    events: tuple[ProcessEvent, ...] = field(default=(), repr=False)

    @property
    def lost(self) -> int:
        """Pushes that were acknowledged, and are missing on the primary or on its backup."""
        missing = (self.applied < 1) | (self.on_backup < 1)
        return int((self.acknowledged & missing).sum())

    @property
    def twice(self) -> int:
        """Pushes that the primary or its backup has applied more than once."""
        return int(((self.applied > 1) | (self.on_backup > 1)).sum())

    def __repr__(self) -> str:
        kills = "1 kill" if len(self.kills) == 1 else f"{len(self.kills)} kills"
        pushes = f"{int(self.acknowledged.sum())} pushes acknowledged"
        return f"{kills}, {pushes}: {self.lost} lost, {self.twice} applied twice"


def run_with_kills(
    kills: int | list[Kill] = 10,
    *,
    workers: int = 2,
    pushes: int = 50,
    seed: int = 0,
    handle: PushHandler = serve_with_backup,
    timeout: float = 60.0,
) -> KillReport:
    """Push to a primary with a backup, all of them processes, while some are killed by SIGKILL.

    A primary that dies is replaced by its backup, and a backup by a new process, which first
    gets all that the primary has; a worker is started again, and sends what it was not told to
    be safe. One process is killed at a time: the next kill waits until there are two servers
    again. Each of so many workers sends `pushes`, and each push adds 1 to a weight of its own.

    `kills` are given one by one, or only how many: then the seed draws whom and where, a third each
    for primary, backup and workers; it also draws how many pushes lie between them. `handle` is
    what a server does with a push, and `timeout` the seconds that the whole run may take.

    >>> run_with_kills([Kill("primary", "forwarded"), Kill("worker", "pushed")], pushes=20)
    2 kills, 40 pushes acknowledged: 0 lost, 0 applied twice
    """
    workers, pushes = require.whole("workers", workers), require.whole("pushes", pushes)
    require.above_zero("timeout", timeout)
    if not hasattr(os, "fork"):
        raise BadInput("Processes start on Linux and macOS; on Windows run the notebook in WSL.")
    random = np.random.default_rng(require.from_zero("seed", seed))
    plan = _drawn(kills, random) if isinstance(kills, int) else [_known(kill) for kill in kills]
    with meeting_place() as folder:
        run = _Run(plan, workers, pushes, random, str(folder), packed(handle))
        try:
            return run.run(float(timeout))
        finally:
            run.end()


def _drawn(count: int, random: np.random.Generator) -> list[Kill]:
    """So many kills: whom, and where, each as likely as the others."""
    victims = [str(random.choice(WHOM)) for _ in range(require.from_zero("kills", count))]
    return [Kill(whom, str(random.choice(_points(whom)))) for whom in victims]


def _known(kill: Kill) -> Kill:
    whom = require.choice("process to kill", kill[0], WHOM)
    return Kill(whom, require.choice("point", kill[1], _points(whom)))


def _points(whom: str) -> list[str]:
    """Where a process may die; a backup forwards nothing."""
    points = WORKER_POINTS if whom == "worker" else POINTS
    return [p for p in points if whom != "backup" or "forward" not in p] + [ANY_MOMENT]


@dataclass
class _Member:
    """One process as the launcher sees it."""

    kind: str  # "server" or "worker"
    number: int
    process: Any
    control: Connection
    closed: bool = False
    asks: int | None = None  # a worker that waits for another primary than this one
    done: bool = False
    listens: bool = False


@dataclass
class _Run:
    """The launcher: it starts all, hears who has died, and says who is primary."""

    plan: list[Kill]
    workers: int
    pushes: int
    random: np.random.Generator
    folder: str
    packed: bytes
    members: list[_Member] = field(default_factory=list)
    started: int = 0
    whole: bool = False  # whether the backup has all that the primary has
    kills: list[Kill] = field(default_factory=list)  # carried out
    victim: _Member | None = None
    allowed: int = 0  # pushes of each worker that may be sent so far: each kill has its share
    gap: int = 0  # pushes until the next kill
    strike_at: float | None = None  # when a kill comes from outside

    def run(self, timeout: float) -> KillReport:
        start = time.monotonic()
        self.acknowledged = np.zeros((self.workers, self.pushes), bool)
        self.primary, self.backup = self._server(), self._server()
        self._order(self.primary, "serve")
        self._allow(self.pushes // (len(self.plan) + 1))
        for worker in range(self.workers):
            self._worker(worker)
        while not (self.whole and sum(m.done for m in self.members) == self.workers):
            if time.monotonic() - start > timeout:
                raise RankError(
                    f"after {timeout:g} seconds {int(self.acknowledged.sum())} of "
                    f"{self.acknowledged.size} pushes are acknowledged: the others still wait"
                )
            self._advance_plan()
            self._listen()
            if not self.primary.listens:
                start = time.monotonic()  # the first processes take as long as the machine is busy
        states = [self._state_of(server) for server in (self.primary, self.backup)]
        applied, copies = (count_pushes(state, self.workers) for state in states)
        kills, events = tuple(self.kills), read_events(self.folder)
        return KillReport(applied, copies, self.acknowledged, kills, events)

    def end(self) -> None:
        """Leave no process and no open file behind."""
        for member in self.members:
            member.process.kill()
        for member in self.members:
            member.process.join()
            member.process.close()
            member.control.close()

    def _start(self, kind: str, number: int, target: Any, *args: Any) -> _Member:
        chosen = context()
        ours, theirs = chosen.Pipe()
        process = chosen.Process(target=target, args=(*args, theirs), daemon=True)
        with surroundings():
            process.start()
        theirs.close()
        self.members.append(_Member(kind, number, process, ours))
        return self.members[-1]

    def _server(self) -> _Member:
        self.started += 1
        size = self.workers * self.pushes
        args = self.started, self.folder, size, self.packed
        return self._start("server", self.started, be_server, *args)

    def _worker(self, worker: int) -> None:
        missing = np.flatnonzero(~self.acknowledged[worker])
        first = int(missing[0]) + 1 if len(missing) else self.pushes + 1
        args = worker, first, self.workers, self.pushes, self.folder
        self._order(self._start("worker", worker, be_worker, *args), "upto", self.allowed)

    def _allow(self, number: int) -> None:
        """Let each worker send its pushes up to this number; the last are for the last kill."""
        over = len(self.kills) == len(self.plan)
        self.allowed = self.pushes if over else min(self.pushes, max(self.allowed, number))
        for member in self.members:
            if member.kind == "worker":
                self._order(member, "upto", self.allowed)

    def _advance_plan(self) -> None:
        """Choose the next victim, and strike where it is time."""
        waiting = self.allowed < self.pushes and self.acknowledged[:, : self.allowed].all()
        if self.whole and waiting:
            self._allow(self.allowed + 1)  # no process has reached the point where it dies
        if self.strike_at is not None and time.monotonic() >= self.strike_at:
            self.strike_at = None
            if self.victim is not None:
                log = EventLog(self.folder, f"{self.victim.kind} {self.victim.number}")
                log.note("is killed")  # which the victim cannot write down
                log.close()
                os.kill(self.victim.process.pid, signal.SIGKILL)
        if self.victim is not None and self.victim.done:
            self.victim, self.strike_at = None, None  # a worker that was quicker
        if self.victim or not self.whole or self.gap > 0 or len(self.kills) == len(self.plan):
            return
        kill = self.plan[len(self.kills)]
        alive = [m for m in self.members if m.kind == "worker" and not m.done]
        if not alive:
            return
        self.victim = {"primary": self.primary, "backup": self.backup}.get(
            kill.whom, alive[self.random.integers(len(alive))]
        )
        if kill.point == ANY_MOMENT:
            self.strike_at = time.monotonic() + self.random.uniform(0, MAX_KILL_DELAY)
        else:
            self._order(self.victim, "die", kill.point, 1 + int(self.random.integers(3)))

    def _listen(self) -> None:
        """Take what the processes say, and see which have died."""
        sources: dict[Any, _Member] = {m.process.sentinel: m for m in self.members}
        sources |= {m.control: m for m in self.members if not m.closed}
        pause = 0.5 if self.strike_at is None else max(0.0, self.strike_at - time.monotonic())
        ready = wait(list(sources), pause)
        for source in ready:
            if isinstance(source, Connection):
                self._hear(sources[source])
        for source in ready:
            if not isinstance(source, Connection):
                self._bury(sources[source])

    def _hear(self, member: _Member) -> None:
        try:
            while member.control.poll():
                self._take(member, member.control.recv())
        except (EOFError, OSError):
            member.closed = True

    def _take(self, member: _Member, message: Any) -> None:
        match message:
            case ("listens",):
                member.listens = True
                if member is self.backup:
                    self._order(self.primary, "replicate", member.number)
                self._say_primary()
            case ("whole", number):
                self.whole = number == self.backup.number
            case ("acknowledged", number):
                self.acknowledged[member.number, number - 1] = True
                self.gap -= 1
            case ("who", former):
                member.asks = former
                self._say_primary()
            case ("done",):
                member.done = True
            case ("failed", error):
                who = "a server" if member.kind == "server" else f"worker {member.number}"
                raise RankError(f"{who} raised {error}")

    def _bury(self, member: _Member) -> None:
        """A process has died: another takes its place."""
        self._hear(member)
        self.members.remove(member)
        member.process.join()
        code = member.process.exitcode
        member.process.close()
        member.control.close()
        if member is self.victim:
            self.victim, self.strike_at = None, None
            self.kills.append(self.plan[len(self.kills)])
            share = self.acknowledged.size // (len(self.plan) + 1)
            self.gap = int(self.random.integers(1 + max(0, share - 4 * self.workers)))
            self._allow(self.pushes * (len(self.kills) + 1) // (len(self.plan) + 1))
        elif code != -signal.SIGKILL:
            raise RankError(f"a {member.kind} ended with exit code {code}")
        if member.kind == "worker":
            self._worker(member.number)
            return
        self.whole = False
        if member is self.primary:
            self.primary = self.backup
            self._order(self.primary, "serve")
            self._say_primary()
        self.backup = self._server()

    def _say_primary(self) -> None:
        for member in self.members:
            if member.asks not in (None, self.primary.number) and self.primary.listens:
                self._order(member, "primary", self.primary.number)
                member.asks = None

    def _order(self, member: _Member, *order: Any) -> None:
        with contextlib.suppress(OSError):  # it has just died, which is seen soon
            member.control.send(order)

    def _state_of(self, server: _Member) -> ServerState:
        self._order(server, "end")
        while True:
            message = server.control.recv()
            if message[0] == "state":
                state: ServerState = message[1]
                return state
