"""The processes of a replicated parameter server: primary, backup and workers, over sockets.

One thread of each process waits for all that can come. Where a process is killed, its sockets
close, and that is how the others learn of it: on one machine, silence is death. (Between machines
it may also be a broken cable, and who is primary has to be agreed on by a majority.)
"""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

import numpy as np
from cloudpickle import cloudpickle

from gpulearn_lessons.parameter_server.server.events import EventLog
from gpulearn_lessons.parameter_server.server.replica import (
    Push,
    PushHandler,
    ServerState,
    unit_push,
)

POINTS = (
    "received",
    "before forward",
    "forward under way",
    "forwarded",
    "before acknowledge",
    "acknowledged",
)
WORKER_POINTS = ("before push", "pushed", "acknowledged")
GONE = (EOFError, ConnectionError, OSError)


class Over(Exception):  # noqa: N818 - no error: the launcher has ended, or wants an end
    """There is nobody left to work for."""


@dataclass
class Fuse:
    """Kills its own process at the `count`-th pass of a named point."""

    log: EventLog
    point: str = ""
    count: int = 0

    def at(self, point: str) -> None:
        """Pass a point, or die there."""
        if point == self.point:
            self.count -= 1
            if self.count <= 0:
                self.log.note("is killed")
                os.kill(os.getpid(), signal.SIGKILL)


def address(folder: str, number: int) -> str:
    """Where a server listens."""
    return str(Path(folder) / f"server-{number}")


def connected(folder: str, number: int) -> Connection | None:
    """A connection to a server, or None if it is gone."""
    plug = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        plug.connect(address(folder, number))
    except OSError:
        plug.close()
        return None
    return Connection(plug.detach())


def be_server(number: int, folder: str, size: int, packed: bytes, control: Connection) -> None:
    """Be one server, first as backup, until the launcher ends or says so.

    Args:
        number: of the server; each that is started has the next one.
        folder: where the sockets lie.
        size: of the weights.
        packed: the function that takes a push, by cloudpickle.
        control: to the launcher.
    """
    server = _Server(number, folder, control, size, cloudpickle.loads(packed))
    _say_failures(server.run, control)


def be_worker(
    worker: int, first: int, workers: int, pushes: int, folder: str, control: Connection
) -> None:
    """Be one worker: send each push until it is acknowledged, then the next.

    Args:
        worker: its number, from 0.
        first: the number of the first push that the launcher does not know to be acknowledged.
        workers: how many there are.
        pushes: how many each sends.
        folder: where the servers' sockets lie.
        control: to the launcher.
    """
    one = _Worker(worker, workers, pushes, folder, control)
    _say_failures(lambda: one.run(first), control)


def _say_failures(run: Callable[[], None], control: Connection) -> None:
    """Run, and tell the launcher of an exception; it hears of a kill from the system."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the launcher ends this process
    try:
        run()
    except Over:
        pass
    except BaseException as error:
        try:
            control.send(("failed", f"{type(error).__name__}: {error}"))
        except OSError:
            return


class _Server:
    """One server: a backup that becomes primary when it is told to."""

    def __init__(
        self, number: int, folder: str, control: Connection, size: int, handle: PushHandler
    ) -> None:
        self.state = ServerState(np.zeros(size))
        self.handle = handle
        self.folder = folder
        self.control = control
        self.log = EventLog(folder, f"server {number}")
        self.fuse = Fuse(self.log)
        self.primary = False
        self.backup: Connection | None = None
        self.peers: list[Connection] = []
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.listener.bind(address(folder, number))
        self.listener.listen(64)
        control.send(("listens",))

    def run(self) -> None:
        while True:
            ready = wait([self.control, self.listener, *self.peers])
            if self.control in ready:  # first: it may say that this server is the primary now
                self._obey(self._from_launcher())
                continue
            if self.listener in ready:
                self.peers.append(Connection(self.listener.accept()[0].detach()))
            for peer in [one for one in self.peers if one in ready]:
                self._take_from(peer)

    def _from_launcher(self) -> Any:
        try:
            return self.control.recv()
        except GONE:
            raise Over from None

    def _obey(self, order: Any) -> None:
        match order:
            case ("die", point, count):
                self.fuse = Fuse(self.log, point, count)
            case ("serve",):
                # what the old primary had sent before it died comes first
                for peer in list(self.peers):
                    while peer in self.peers:
                        self._take_from(peer)
                self.primary = True
                self.log.note("serves")
            case ("replicate", number):
                self._transfer(number)
            case ("end",):
                self.control.send(("state", self.state))
                raise Over

    def _take_from(self, peer: Connection) -> None:
        """Take one message; a peer that is gone is forgotten."""
        try:
            message = peer.recv()
        except GONE:
            peer.close()
            self.peers.remove(peer)
            return
        if isinstance(message, ServerState):
            self.state = message
            self.log.note("has the state")
            self._answer(peer, 0)
            return
        self.log.note("receives", message, self.state)
        if self.primary:
            self.fuse.at("received")
            self.handle(self.state, message, self._forward, lambda push: self._tell(peer, push))
            self.log.note("is done", message, self.state)
        else:
            self.fuse.at("received")
            self.handle(self.state, message, lambda push: None, lambda push: None)
            self.log.note("has taken", message, self.state)
            self.fuse.at("before acknowledge")
            self._answer(peer, message.number)
            self.fuse.at("acknowledged")

    def _tell(self, peer: Connection, push: Push) -> None:
        self.log.note("has taken", push, self.state)
        self.fuse.at("before acknowledge")
        self.log.note("acknowledges", push, self.state)
        self._answer(peer, push.number)
        self.fuse.at("acknowledged")

    def _answer(self, peer: Connection, number: int) -> None:
        try:
            peer.send(number)
        except GONE:
            return  # that it is gone is seen when it is next read

    def _forward(self, push: Push) -> None:
        """Hand a push to the backup; where that one dies, to the next, which has the state then."""
        self.fuse.at("before forward")
        while not self._asked_backup(push):
            if self.backup is None:  # nothing is acknowledged until there are two copies again
                self._obey(self._from_launcher())
        self.fuse.at("forwarded")

    def _asked_backup(self, message: Push | ServerState) -> bool:
        """Send a message to the backup; whether it has taken it."""
        backup = self.backup
        try:
            if backup is not None:
                backup.send(message)
                self.fuse.at("forward under way")
            while backup is not None:
                ready = wait([backup, self.control])
                if backup in ready:
                    backup.recv()
                    return True
                self._obey(self._from_launcher())
                if self.backup is not backup:  # there is another one now: that one is gone
                    return False
        except GONE:
            if backup is not None:
                backup.close()
            if self.backup is backup:
                self.backup = None
        return False

    def _transfer(self, number: int) -> None:
        """Give a new backup all that this server has."""
        if self.backup is not None:
            self.backup.close()
        self.backup = connected(self.folder, number)
        if self._asked_backup(self.state):
            self.control.send(("whole", number))


class _Worker:
    """One worker."""

    def __init__(
        self, worker: int, workers: int, pushes: int, folder: str, control: Connection
    ) -> None:
        self.worker = worker
        self.shape = (workers, pushes)
        self.folder = folder
        self.control = control
        self.log = EventLog(folder, f"worker {worker}")
        self.fuse = Fuse(self.log)
        self.primary = -1
        self.upto = 0  # the last push that the launcher allows so far
        self.server: Connection | None = None

    def run(self, first: int) -> None:
        for number in range(first, self.shape[1] + 1):
            push = unit_push(self.worker, number, *self.shape)
            while number > self.upto or self.control.poll():
                self._obey()
            self.fuse.at("before push")
            while not self._acknowledged(push):
                self._find_primary()
            self.log.note("hears", push)
            self.fuse.at("acknowledged")
            self.control.send(("acknowledged", number))
        self.control.send(("done",))
        while True:  # until the launcher ends it
            self._obey()

    def _acknowledged(self, push: Push) -> bool:
        """Send a push; whether it was acknowledged."""
        if self.server is None:
            return False
        self.log.note("sends", push)
        try:
            self.server.send(push)
            self.fuse.at("pushed")
            while True:
                ready = wait([self.server, self.control])
                if self.server not in ready:
                    self._obey()
                elif self.server.recv() == push.number:
                    return True
        except (EOFError, ConnectionError):
            return False

    def _find_primary(self) -> None:
        """Ask the launcher who is primary now, and connect."""
        if self.server is not None:
            self.server.close()
            self.server = None
        self._tell("who", self.primary)
        asked = self.primary
        while self.primary == asked:
            self._obey()
        self.server = connected(self.folder, self.primary)

    def _tell(self, *message: Any) -> None:
        try:
            self.control.send(message)
        except OSError:
            raise Over from None

    def _obey(self) -> None:
        try:
            order = self.control.recv()
        except (EOFError, OSError):
            raise Over from None
        match order:
            case ("die", point, count):
                self.fuse = Fuse(self.log, point, count)
            case ("primary", number):
                self.primary = number
            case ("upto", number):
                self.upto = number
            case ("end",):
                raise Over
