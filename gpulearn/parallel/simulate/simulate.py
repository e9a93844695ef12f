"""Simulated ranks: threads that take turns, messages in memory, and a clock from a model."""

from __future__ import annotations

import contextlib
import contextvars
import os
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, Generic, TypeVar

import torch

from gpulearn import require
from gpulearn.errors import BadInput, RankError, about
from gpulearn.parallel.communicator import rank_of_this_thread, simulation, using_channel
from gpulearn.parallel.launch.failures import Interrupted, error_of
from gpulearn.parallel.launch.messages import Failure, Result, own_copy, results_of, traveling_call
from gpulearn.parallel.launch.rank import failure, traveling
from gpulearn.parallel.launch.streams import prefixed_output
from gpulearn.parallel.links import Link, as_link
from gpulearn.parallel.simulate.deadlock import MAX_RANKS as MAX_LISTED
from gpulearn.parallel.simulate.deadlock import deadlock, frames_of_error, frames_of_thread
from gpulearn.parallel.simulate.network import Network, SimulatedChannel
from gpulearn.parallel.simulate.scheduler import RankStop, Scheduler
from gpulearn.parallel.simulate.simulation import Simulation
from gpulearn.require import shown
from gpulearn.train.history import progress_bar
from simt.device.selection import waited_seconds


@contextlib.contextmanager
def exits_fail(rank_of: Callable[[], int | None]) -> Iterator[None]:
    """While simulated ranks run, `os._exit` in one of them, by `rank_of` its thread, fails it."""
    before, process = os._exit, os.getpid()

    def leave(status: int) -> Any:
        # a process that a rank has made, such as a loader's worker, may end as it likes
        if os.getpid() != process or rank_of() is None:
            return before(status)
        raise SystemExit(
            f"os._exit({status}) would end the notebook, in whose process simulated ranks run: "
            f"return instead, or let gl.launch start real ranks"
        )

    os._exit = leave
    try:
        yield
    finally:
        os._exit = before


PATIENCE_SECONDS = 1.0  # a run that takes less shows nothing


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

    Returns:
        Results, simulated clocks, messages, bytes, and a timeline.

    >>> import gpulearn as gl
    >>> def pass_on():
    ...     import torch
    ...     value = torch.tensor([7.0])
    ...     if gl.parallel.rank() == 0:
    ...         gl.parallel.send(value, to=1)
    ...         return 0.0
    ...     return gl.parallel.recv(torch.empty(1), source=0).item()
    >>> run = simulate(pass_on, 2, link=gl.parallel.Link(latency=1e-6, bandwidth=1e9))
    >>> run.results, run.bytes_sent, run.seconds
    ([0.0, 7.0], [4, 0], 1.004e-06)
    """
    ranks = require.whole("nprocs", nprocs)
    if ranks > MAX_RANKS:
        raise BadInput(f"nprocs is {ranks}: at most {MAX_RANKS:,} ranks can be simulated.")
    require.above_zero("timeout", timeout)
    if not callable(fn):
        raise BadInput(f"fn is {shown(fn)}: give the function itself, without brackets.")
    payload = traveling_call(fn, args)
    return _Run[R](payload, ranks, as_link(link)).run(float(timeout))


class _Run(Generic[R]):
    def __init__(self, payload: bytes, size: int, link: Link) -> None:
        self._payload = payload
        self._size = size
        self._link = link
        self._scheduler = Scheduler(size)
        self._network = Network(size, link, self._scheduler)
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
        with alone:
            self._run(timeout)
        network = self._network
        return Simulation(
            results_of([self._results[rank] for rank in range(self._size)]),
            self._link,
            tuple(self._scheduler.clocks),
            network.moved,
            network.blocked,
            network.computed,
        )

    def _run(self, timeout: float) -> None:
        state = torch.get_rng_state()
        try:
            with (
                prefixed_output(rank_of_this_thread),
                exits_fail(rank_of_this_thread),
                simulation(self._turn),
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
        finally:
            torch.set_rng_state(state)
        if error:
            raise error from None

    def _be(self, rank: int) -> None:
        channel = SimulatedChannel(self._network, rank, self._size)
        with contextlib.suppress(RankStop):
            try:
                with using_channel(channel):
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
                self._failures[rank] = _explained(failure(error, frames_of_error(error)))
                self._scheduler.leave(rank, failed=True)
            else:
                self._scheduler.leave(rank, failed=False)

    def _turn(self) -> SimulatedChannel:
        return SimulatedChannel(self._network, self._scheduler.holder, self._size)

    def _wait(self, timeout: float) -> None:
        """Wait until nobody can go on, or one rank has kept the turn for too long.

        What it waits for a core, while others are busy, does not count.
        """
        over, scheduler = self._scheduler.over, self._scheduler
        turn, waited = (scheduler.holder, scheduler.since), self._waited()
        start, bar, ranks = time.monotonic(), None, f"{self._size:,} ranks"
        with contextlib.ExitStack() as stack:
            while not over.wait(min(0.5, max(0.05, scheduler.since + timeout - time.monotonic()))):
                if bar is None and time.monotonic() - start > PATIENCE_SECONDS:
                    # without an end, since nobody knows how many messages there will be
                    shown_bar = progress_bar(True, None, doing=ranks, unit=" messages", stays=False)
                    bar = stack.enter_context(shown_bar)
                if bar is not None:
                    bar.update(self._network.count - bar.n)
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
            stuck.messages = self._network.count
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
