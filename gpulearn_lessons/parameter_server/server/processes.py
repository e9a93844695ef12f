"""The processes of a replicated parameter server: primary, backup and workers, over sockets.

One thread of each process waits for all that can come. Where a process is killed, its sockets
close, and that is how the others learn of it: on one machine, silence is death. (Between machines
it may also be a broken cable, and who is primary has to be agreed on by a majority.)
"""

import contextlib
import os
import signal
import socket
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
GONE = (EOFError, OSError)


class NoPeersLeft(Exception):  # noqa: N818 - no error: the launcher has ended, or wants an end
    """No process is left to work for."""


def be_server(number: int, folder: str, size: int, packed: bytes, control: Connection) -> None:
    """Be the server of this number, first as backup; `packed` takes a push, by cloudpickle."""
    _Server(number, folder, control, size, cloudpickle.loads(packed)).live()


def be_worker(
    worker: int, first: int, workers: int, pushes: int, folder: str, control: Connection
) -> None:
    """Be one worker: send each push from `first` until it is acknowledged, then the next."""
    _Worker(worker, first, workers, pushes, folder, control).live()


class _Process:
    """What servers and workers have in common: orders of the launcher, a log, a point to die at."""

    def __init__(self, who: str, folder: str, control: Connection) -> None:
        self.folder = folder
        self.control = control  # to the launcher
        self.log = EventLog(folder, who)
        self.last_point, self.passes = "", 0

    def live(self) -> None:
        """Run, and tell the launcher of an exception; it hears of a kill from the system."""
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the launcher ends this process
        try:
            self.run()
        except NoPeersLeft:
            pass
        except BaseException as error:
            with contextlib.suppress(OSError):
                self.control.send(("failed", f"{type(error).__name__}: {error}"))

    def run(self) -> None:
        raise NotImplementedError

    def obey(self) -> None:
        """Wait for an order of the launcher, and follow it."""
        try:
            order = self.control.recv()
        except GONE:
            raise NoPeersLeft from None
        if order[0] == "die":
            _, self.last_point, self.passes = order
        else:
            self.follow(order)

    def follow(self, order: Any) -> None:
        raise NotImplementedError

    def at(self, point: str) -> None:
        """Pass a point of the program, or die there."""
        if point == self.last_point:
            self.passes -= 1
            if self.passes <= 0:
                self.log.note("is killed")
                os.kill(os.getpid(), signal.SIGKILL)

    def connected(self, server: int) -> Connection | None:
        """A connection to a server, or None if it is gone."""
        plug = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            plug.connect(_address(self.folder, server))
        except OSError:
            plug.close()
            return None
        return Connection(plug.detach())


class _Server(_Process):
    """One server: a backup that becomes primary when it is told to."""

    def __init__(
        self, number: int, folder: str, control: Connection, size: int, handle: PushHandler
    ) -> None:
        super().__init__(f"server {number}", folder, control)
        self.state = ServerState(np.zeros(size))
        self.handle = handle
        self.primary = False
        self.backup: Connection | None = None
        self.peers: list[Connection] = []
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.listener.bind(_address(folder, number))
        self.listener.listen(64)
        control.send(("listens",))

    def run(self) -> None:
        while True:
            ready = wait([self.control, self.listener, *self.peers])
            if self.control in ready:  # first: it may say that this server is the primary now
                self.obey()
                continue
            if self.listener in ready:
                self.peers.append(Connection(self.listener.accept()[0].detach()))
            for peer in [peer for peer in self.peers if peer in ready]:
                self._take_from(peer)

    def follow(self, order: Any) -> None:
        match order:
            case ("serve",):
                # what the old primary had sent before it died comes first
                for peer in list(self.peers):
                    while peer in self.peers:
                        self._take_from(peer)
                self.primary = True
                self.log.note("serves")
            case ("replicate", number):  # give a new backup all that this server has
                if self.backup is not None:
                    self.backup.close()
                self.backup = self.connected(number)
                if self._backup_takes(self.state):
                    self.control.send(("whole", number))
            case ("end",):
                self.control.send(("state", self.state))
                raise NoPeersLeft

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
        self.at("received")
        if self.primary:
            self.handle(self.state, message, self._forward, lambda push: self._tell(peer, push))
            self.log.note("is done", message, self.state)
        else:
            self.handle(self.state, message, lambda push: None, lambda push: None)
            self.log.note("has taken", message, self.state)
            self.at("before acknowledge")
            self._answer(peer, message.number)
            self.at("acknowledged")

    def _tell(self, peer: Connection, push: Push) -> None:
        self.log.note("has taken", push, self.state)
        self.at("before acknowledge")
        self.log.note("acknowledges", push, self.state)
        self._answer(peer, push.number)
        self.at("acknowledged")

    def _answer(self, peer: Connection, number: int) -> None:
        with contextlib.suppress(*GONE):  # that it is gone is seen when it is next read
            peer.send(number)

    def _forward(self, push: Push) -> None:
        """Hand a push to the backup; where that one dies, to the next, which has the state then."""
        self.at("before forward")
        while not self._backup_takes(push):
            if self.backup is None:  # nothing is acknowledged until there are two copies again
                self.obey()
        self.at("forwarded")

    def _backup_takes(self, message: Push | ServerState) -> bool:
        """Send a message to the backup; whether it has taken it."""
        backup = self.backup
        if backup is None:
            return False
        try:
            backup.send(message)
            self.at("forward under way")
            while self.backup is backup:  # else there is another one now: that one is gone
                if backup in wait([backup, self.control]):
                    backup.recv()
                    return True
                self.obey()
        except GONE:
            backup.close()
            if self.backup is backup:
                self.backup = None
        return False


class _Worker(_Process):
    """One worker."""

    def __init__(
        self, worker: int, first: int, workers: int, pushes: int, folder: str, control: Connection
    ) -> None:
        super().__init__(f"worker {worker}", folder, control)
        self.pushes = [unit_push(worker, n, workers, pushes) for n in range(first, pushes + 1)]
        self.primary = -1
        self.upto = 0  # the last push that the launcher allows so far
        self.server: Connection | None = None

    def run(self) -> None:
        for push in self.pushes:
            while push.number > self.upto or self.control.poll():
                self.obey()
            self.at("before push")
            while not self._acknowledged(push):
                self._find_primary()
            self.log.note("hears", push)
            self.at("acknowledged")
            self.control.send(("acknowledged", push.number))
        self.control.send(("done",))
        while True:  # until the launcher ends it
            self.obey()

    def follow(self, order: Any) -> None:
        match order:
            case ("primary", number):
                self.primary = number
            case ("upto", number):
                self.upto = number

    def _acknowledged(self, push: Push) -> bool:
        """Send a push; whether it was acknowledged."""
        if self.server is None:
            return False
        self.log.note("sends", push)
        try:
            self.server.send(push)
            self.at("pushed")
            while True:
                if self.server not in wait([self.server, self.control]):
                    self.obey()
                elif self.server.recv() == push.number:
                    return True
        except (EOFError, ConnectionError):
            return False

    def _find_primary(self) -> None:
        """Ask the launcher who is primary now, and connect."""
        if self.server is not None:
            self.server.close()
            self.server = None
        former = self.primary
        try:
            self.control.send(("who", former))
        except OSError:
            raise NoPeersLeft from None
        while self.primary == former:
            self.obey()
        self.server = self.connected(self.primary)


def _address(folder: str, server: int) -> str:
    """Where a server listens."""
    return str(Path(folder) / f"server-{server}")
