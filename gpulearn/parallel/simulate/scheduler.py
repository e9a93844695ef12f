"""One rank runs at a time, and which one is next is the same every time."""

import contextlib
import ctypes
import heapq
import threading
import time
from collections.abc import Sequence
from typing import NoReturn

import torch

GRACE_SECONDS = 1.0  # for a rank that is ended to tidy up


class RankStop(BaseException):
    """Ends a rank because another one failed; no `except Exception` stops it."""


class Scheduler:
    """Threads of which one runs at a time: the rank with the smallest (clock, rank) is next.

    Since messages are posted in the order of the simulated clock, the outcome depends neither on
    the operating system nor on how fast this machine is. `holder` is the rank that runs, -1 before
    the first, and `since` when its turn began, by `time.monotonic`; `over` is set when nobody can
    go on: all are done, one has failed, or all wait.
    """

    def __init__(self, size: int) -> None:
        self.clocks = [0.0] * size
        self.holder = -1
        self.since = time.monotonic()
        self.over = threading.Event()
        self._ready = [(0.0, rank) for rank in range(size)]
        self._gates = [threading.Lock() for _ in range(size)]  # a rank runs when its own opens
        for gate in self._gates:
            gate.acquire()
        self._at_gate = [False] * size
        self._left = [False] * size
        self._ending = False
        self._raising = threading.Lock()

    def take(self, rank: int) -> None:
        """Wait for this rank's first turn; it begins with torch's usual random numbers."""
        self._wait(rank)
        torch.set_rng_state(torch.Generator().get_state())

    def step(self, rank: int) -> None:
        """Let those go first whose clock is behind this rank's."""
        if self._ending:
            self._end_here(rank)
        if self._ready and self._ready[0] < (self.clocks[rank], rank):
            heapq.heappush(self._ready, (self.clocks[rank], rank))
            self.pause(rank)

    def pause(self, rank: int) -> None:
        """Give up the turn, and wait until it comes again; random numbers stay the rank's own."""
        if self._ending:
            self._end_here(rank)
        state = torch.default_generator.get_state()
        self.next_turn()
        self._wait(rank)
        torch.default_generator.set_state(state)

    def ready(self, rank: int, clock: float) -> None:
        """A rank that paused can go on, at this time of its clock."""
        heapq.heappush(self._ready, (clock, rank))

    def next_turn(self) -> None:
        """Give the turn to the next rank, or end the run if there is none."""
        if not self._ready:
            self.over.set()
            return
        _, self.holder = heapq.heappop(self._ready)
        self.since = time.monotonic()
        self._gates[self.holder].release()

    def leave(self, rank: int, failed: bool) -> None:
        """A rank is at its end: the next one goes on, or nobody does if it failed."""
        self._never_raise_in(rank)
        if failed:
            self.over.set()
        else:
            self.next_turn()

    def end(self, threads: Sequence[threading.Thread]) -> None:
        """End those that still run, one after another."""
        self._ending = True
        for rank, thread in enumerate(threads):
            with self._raising:
                waits = self._at_gate[rank] or self._left[rank]
                if rank == self.holder and not waits and thread.ident:
                    # it is in code of its own: raise at its next line of Python
                    ident, stop = ctypes.c_ulong(thread.ident), ctypes.py_object(RankStop)
                    ctypes.pythonapi.PyThreadState_SetAsyncExc(ident, stop)
            with contextlib.suppress(RuntimeError):  # open already
                self._gates[rank].release()
            if thread.is_alive():
                thread.join(GRACE_SECONDS)

    def _wait(self, rank: int) -> None:
        self._at_gate[rank] = True
        self._gates[rank].acquire()
        self._at_gate[rank] = False
        if self._ending:
            self._end_here(rank)

    def _end_here(self, rank: int) -> NoReturn:
        self._never_raise_in(rank)
        raise RankStop

    def _never_raise_in(self, rank: int) -> None:
        """A rank comes to its end by itself; what was raised in it before this comes out of here.

        An exception that is raised in a thread later would end it again, where nobody expects it.
        """
        with self._raising:
            self._left[rank] = True
