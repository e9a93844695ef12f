"""Training with a parameter server: rank 0 keeps the weights, the others push gradients."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import torch
from torch import Tensor

from gpulearn import require
from gpulearn.errors import BadInput, RankError
from gpulearn.parallel.communicator import (
    Handle,
    clock,
    compute,
    current,
    irecv,
    isend,
    rank,
    recv,
    send,
    wait_any,
    world_size,
)
from gpulearn.parallel.torch_messages import TorchChannel
from gpulearn_lessons.parameter_server.server.staleness import bounded_staleness

Gradient = Callable[[Tensor, int, int], Tensor]
Apply = Callable[[Any, Any, float, int, int], int]
Seconds = Sequence[float] | Callable[[int, int], float]


class Update(NamedTuple):
    """One update of the server's weights.

    `staleness` is how many updates lie between the weights at which `worker` computed the
    gradient and those to which it was applied; `moment` is the server's clock, in seconds.
    """

    worker: int
    staleness: int
    moment: float


@dataclass(frozen=True)
class ServerRun:
    """What a server saw: the weights at the end, of shape (n,), and all updates in order.

    `losses` are those after each update, where the server was asked to watch; `late` counts the
    gradients that came after the last update and were thrown away; `seconds` lie between the first
    weights sent and the last worker told to stop.
    """

    weights: Tensor
    updates: tuple[Update, ...]
    losses: tuple[float, ...] = field(repr=False)
    late: int
    seconds: float

    @property
    def staleness(self) -> tuple[int, ...]:
        """That of each update."""
        return tuple(update.staleness for update in self.updates)

    @property
    def by_worker(self) -> dict[int, int]:
        """How many updates are each worker's."""
        return dict(sorted(Counter(update.worker for update in self.updates).items()))


def apply_gradient(weights: Any, gradient: Any, lr: float, version: int, computed_at: int) -> int:
    """Apply a gradient whatever its staleness, θ ← θ − lr · g; returns the new version."""
    weights -= lr * gradient
    return version + 1


def train_with_server(
    gradient: Gradient,
    start: Tensor,
    pushes: int,
    lr: float,
    bound: float = math.inf,
    seconds: Seconds = (),
    apply: Apply = apply_gradient,
    watch: Callable[[Tensor], float] | None = None,
) -> ServerRun | None:
    """Train with a parameter server; every rank calls it, and rank 0 is the server.

    A worker gets the weights, computes a gradient, sends it, and waits for weights again. The
    server takes gradients as they arrive, and answers a worker that is at most `bound` steps
    ahead of the slowest: 0 is synchronous, infinity asynchronous, between them stale-synchronous
    training. After `pushes` updates all are told to stop.

    Args:
        gradient: called as gradient(weights, worker, step), with the worker's number from 0 and
            its step from 0; returns a tensor like the weights.
        start: the weights at the beginning, of shape (n,), the same on all ranks.
        pushes: how many updates in all, by any worker.
        lr: learning rate of one update.
        bound: how many steps a worker may be ahead of the slowest.
        seconds: what a gradient takes each worker, on the simulated clock; a real worker sleeps
            as long. A list, or called as seconds(worker, step); empty where it takes its own time.
        apply: what the server does with a gradient: apply(weights, gradient, lr, version,
            computed_at) changes the weights and returns the new version.
        watch: the loss of weights, noted after each update.

    Returns:
        What the server saw, on rank 0; None on the workers.

    >>> import gpulearn as gl
    >>> def halve(weights, worker, step):
    ...     return weights
    >>> run = gl.simulate(train_with_server, 3, halve, torch.ones(1), 4, 0.5).results[0]
    >>> run.weights.item(), run.staleness
    (-0.25, (0, 1, 1, 1))
    """
    pushes = require.whole("pushes", pushes)
    require.above_zero("lr", lr)
    workers = world_size() - 1
    if workers < 1:
        raise RankError("a server needs a worker: start two ranks or more.")
    if not callable(seconds) and len(seconds) not in (0, workers):
        raise BadInput(f"seconds has {len(seconds)} times, and there are {workers} workers.")
    if bound < 0 or math.isnan(bound):
        raise BadInput(f"bound is {bound}: give 0 or more.")
    if rank() == 0:
        return _Server(start, lr, bound, apply, watch).serve(pushes)
    _work(gradient, start, seconds)
    return None


def _work(gradient: Gradient, start: Tensor, seconds: Seconds) -> None:
    """Be a worker, until the server says stop."""
    worker, step, answer = rank() - 1, 0, torch.empty(start.numel() + 1, dtype=start.dtype)
    while recv(answer, source=0)[-1] > 0:
        if seconds:
            duration = seconds(worker, step) if callable(seconds) else seconds[worker]
            if isinstance(current(), TorchChannel):
                time.sleep(duration)
            compute(duration)
        weights = answer[:-1].clone().reshape(start.shape)
        send(gradient(weights, worker, step).contiguous(), to=0)
        step += 1


class _Server:
    """Rank 0."""

    def __init__(
        self,
        start: Tensor,
        lr: float,
        bound: float,
        apply: Apply,
        watch: Callable[[Tensor], float] | None,
    ) -> None:
        self.weights = start.clone()
        self.lr, self.bound, self.apply, self.watch = lr, bound, apply, watch
        self.workers = world_size() - 1
        self.inbox = [torch.empty_like(start) for _ in range(self.workers)]
        self.arriving: dict[int, Handle] = {}
        self.versions = [0] * self.workers  # the version that each worker has
        self.clocks = [0] * self.workers  # steps that each has done

    def serve(self, pushes: int) -> ServerRun:
        start, version = clock(), 0
        updates: list[Update] = []
        losses: list[float] = []
        waiting: set[int] = set()
        self._answer(range(self.workers), version)
        while version < pushes:
            worker = self._next()
            staleness = version - self.versions[worker]
            gradient = self.inbox[worker]
            version = self.apply(self.weights, gradient, self.lr, version, self.versions[worker])
            updates.append(Update(worker, staleness, clock() - start))
            if self.watch is not None:
                losses.append(float(self.watch(self.weights)))
            self.clocks[worker] += 1
            waiting.add(worker)
            if version < pushes:
                ready = bounded_staleness(self.clocks, waiting, self.bound)
                waiting.difference_update(ready)
                self._answer(ready, version)
        late = len(self.arriving)
        self._stop(waiting)
        while self.arriving:  # their gradients are not wanted any more
            self._stop([self._next()])
        return ServerRun(self.weights, tuple(updates), tuple(losses), late, clock() - start)

    def _next(self) -> int:
        """Whose gradient has come, the first of those that are under way."""
        worker = list(self.arriving)[wait_any(list(self.arriving.values()))]
        del self.arriving[worker]
        return worker

    def _answer(self, workers: Sequence[int], version: int) -> None:
        """Send the weights, and be ready for the next gradients."""
        answer = torch.cat([self.weights.flatten(), self.weights.new_ones(1)])
        for worker in workers:
            self.versions[worker] = version
            self.arriving[worker] = irecv(self.inbox[worker], source=worker + 1)
        for message in [isend(answer, to=worker + 1) for worker in workers]:
            message.wait()

    def _stop(self, workers: Any) -> None:
        for worker in sorted(workers):
            send(self.weights.new_zeros(self.weights.numel() + 1), to=worker + 1)
