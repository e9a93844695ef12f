"""Simulated ranks: threads that take turns, messages in memory, and a clock from a model."""

from __future__ import annotations

import contextlib
import contextvars
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Generic, TypeVar

import torch

from gpulearn import require
from gpulearn.errors import BadInput, RankError, about
from gpulearn.parallel.communicator import rank_of_this_thread, simulation, using_channel
from gpulearn.parallel.launch.failures import Interrupted, error_of
from gpulearn.parallel.launch.messages import (
    Failure,
    Result,
    failure,
    own_copy,
    results_of,
    traveling_call,
)
from gpulearn.parallel.launch.rank import traveling
from gpulearn.parallel.launch.streams import prefixed_output
from gpulearn.parallel.links import Link, as_link
from gpulearn.parallel.simulate.deadlock import MAX_LISTED, deadlock, frames_of_thread
from gpulearn.parallel.simulate.network import Network, SimulatedChannel
from gpulearn.parallel.simulate.scheduler import RankStop, Scheduler
from gpulearn.parallel.simulate.simulation import Simulation
from simt.device.selection import waited_seconds

R = TypeVar("R")
MAX_RANKS = 1024
# torch has one state of random numbers, and Python one standard output
_one_at_a_time = threading.Lock()


def simulate(
    fn: Callable[..., R],
    nprocs: int,
    *args: Any,
    link: Link | str = "100 Gbit",
    timeout: float = 30.0,
) -> Simulation[R]:
    """Run a function on simulated ranks, which speak through `gl.parallel.send`, `recv` and so on.

    Each rank has its own copy of the function, its arguments and what it uses of the notebook,
    and torch's random numbers of its own. One rank runs at a time and the order is always the
    same. The clock is modeled: a message takes what `link` says, `gl.parallel.compute` what it is
    given, and all else no time. Python's and NumPy's global random numbers are one sequence for
    all ranks: give each a generator of its own. A second simulation, from another thread, waits
    until the first is over.

    Args:
        fn: what every rank runs; it may be defined in a notebook's cell.
        nprocs: how many ranks; at most 1,024.
        args: its arguments.
        link: the link between any two ranks, or the name of one (`gl.parallel.link`).
        timeout: seconds (real ones) that a rank may run without speaking to another.

    >>> import gpulearn as gl
    >>> def total():
    ...     return gl.parallel.all_reduce(torch.tensor(gl.parallel.rank())).item()
    >>> run = simulate(total, 2, link=gl.parallel.Link(latency=1e-6, bandwidth=1e9))
    >>> run.results, run.bytes_sent
    ([1, 1], [8, 8])
    """
    ranks = require.whole("nprocs", nprocs)
    if ranks > MAX_RANKS:
        raise BadInput(f"nprocs is {ranks}: at most {MAX_RANKS:,} ranks can be simulated.")
    require.above_zero("timeout", timeout)
    return _Run[R](traveling_call(fn, args), ranks, as_link(link)).run(float(timeout))


class _Run(Generic[R]):
    def __init__(self, payload: bytes, size: int, link: Link) -> None:
        self._payload = payload
        self._size = size
        self._link = link
        self._scheduler = Scheduler(size)
        self._network = Network(size, link, self._scheduler)
        self._channels = [SimulatedChannel(self._network, rank, size) for rank in range(size)]
        self._results: dict[int, bytes] = {}
        self._failures: dict[int, Failure] = {}
        self._threads = [
            threading.Thread(
                target=contextvars.copy_context().run, args=(self._be, rank), daemon=True
            )
            for rank in range(size)
        ]

    def run(self, timeout: float) -> Simulation[R]:
        # a rank that simulates others has the turn, so nobody comes between
        alone = _one_at_a_time if rank_of_this_thread() is None else contextlib.nullcontext()
        try:
            with (
                alone,
                torch.random.fork_rng(devices=[]),
                prefixed_output(rank_of_this_thread),
                simulation(lambda: self._channels[self._scheduler.holder]),
            ):
                try:
                    for thread in self._threads:
                        thread.start()
                    self._scheduler.next_turn()
                    self._wait(timeout)
                    error = self._error()
                finally:
                    self._scheduler.end(self._threads)
        except KeyboardInterrupt:
            raise Interrupted(f"you ended the {self._size:,} simulated ranks.") from None
        if error:
            raise error from None
        return Simulation(
            results_of([self._results[rank] for rank in range(self._size)]),
            self._link,
            tuple(self._scheduler.clocks),
            self._network.moved,
            self._network.blocked,
            self._network.computed,
        )

    def _be(self, rank: int) -> None:
        with contextlib.suppress(RankStop):
            try:
                with using_channel(self._channels[rank]):
                    self._scheduler.take(rank)
                    function, args = own_copy(self._payload)
                    result = function(*args)
                    for request in self._network.open[rank]:
                        message = f"it ended before wait() was called where it {request}"
                        raise about("never waits", RankError(message))
                    self._results[rank] = traveling(result)
            except RankStop:
                raise
            except BaseException as error:
                self._failures[rank] = _explained(failure(error))
                self._scheduler.leave(rank, failed=True)
            else:
                self._scheduler.leave(rank, failed=False)

    def _wait(self, timeout: float) -> None:
        """Wait until nobody can go on, or one rank has kept the turn for too long.

        What it waits for a core, while others are busy, does not count.
        """
        over, scheduler = self._scheduler.over, self._scheduler
        turn, waited = (scheduler.holder, scheduler.since), self._waited()
        while not over.wait(min(0.5, max(0.05, scheduler.since + timeout - time.monotonic()))):
            if turn != (turn := (scheduler.holder, scheduler.since)):
                waited = self._waited()
            ran = time.monotonic() - scheduler.since - (self._waited() - waited)
            if self._size > 1 and ran > timeout:
                self._failures[scheduler.holder] = Failure(
                    "",
                    f"ran for {timeout:g} seconds without speaking to another rank",
                    frames_of_thread(self._threads[scheduler.holder]),
                    about="endless",
                )
                return

    def _waited(self) -> float:
        """Seconds that the rank whose turn it is has waited for a core so far."""
        return waited_seconds(self._threads[self._scheduler.holder].native_id or 0)

    def _error(self) -> RankError | None:
        """What went wrong, while all ranks still stand where they were."""
        waiting = self._network.waiting
        if not self._failures:
            if not waiting:
                return None
            stuck = deadlock(waiting, self._threads)
            stuck.messages = len(self._network.moved) // 5
            return stuck
        outcomes: list[Result | Failure] = [Result(b"")] * self._size
        for rank in sorted(waiting)[:MAX_LISTED]:
            frames = frames_of_thread(self._threads[rank])
            outcomes[rank] = Failure("", f"was ended where it {waiting[rank]}", frames)
        for rank, raised in self._failures.items():
            outcomes[rank] = replace(raised, moment=0.0)
        error = error_of(outcomes)
        if error and len(waiting) > MAX_LISTED:
            more = RankError(f"{error}\nand {len(waiting) - MAX_LISTED} more waited")
            vars(more).update(vars(error))
            return more
        return error


def _explained(raised: Failure) -> Failure:
    """With what to do where a simulated rank used what only a real one has, as torch says."""
    if "process group" in raised.message and "initialized" in raised.message:
        message = (
            f"{raised.message.rstrip('.')}: simulated ranks speak through gl.parallel.rank, "
            f"gl.parallel.send, gl.parallel.recv and the collectives there, not through "
            f"torch.distributed"
        )
        return replace(raised, message=message, about="torch.distributed")
    return raised
