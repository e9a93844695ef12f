"""Training with a parameter server: rank 0 keeps the weights, the others push gradients."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
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
        return _serve(start, pushes, lr, bound, apply, watch)
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


def _serve(
    start: Tensor,
    pushes: int,
    lr: float,
    bound: float,
    apply: Apply,
    watch: Callable[[Tensor], float] | None,
) -> ServerRun:
    """Be rank 0."""
    workers = range(world_size() - 1)
    weights, began, version = start.clone(), clock(), 0
    inbox = [torch.empty_like(start) for _ in workers]
    arriving: dict[int, Handle] = {}
    versions = [0 for _ in workers]  # the version that each worker has
    clocks = [0 for _ in workers]  # steps that each has done
    updates: list[Update] = []
    losses: list[float] = []
    waiting: set[int] = set()

    def next_worker() -> int:
        """Whose gradient has come, the first of those that are under way."""
        worker = list(arriving)[wait_any(list(arriving.values()))]
        del arriving[worker]
        return worker

    def answer(ready: Iterable[int]) -> None:
        """Send the weights, and be ready for the next gradients."""
        message = torch.cat([weights.flatten(), weights.new_ones(1)])
        for worker in ready:
            versions[worker] = version
            arriving[worker] = irecv(inbox[worker], source=worker + 1)
        for sending in [isend(message, to=worker + 1) for worker in ready]:
            sending.wait()

    def stop(worker: int) -> None:
        send(weights.new_zeros(weights.numel() + 1), to=worker + 1)

    answer(workers)
    while version < pushes:
        worker = next_worker()
        staleness = version - versions[worker]
        version = apply(weights, inbox[worker], lr, version, versions[worker])
        updates.append(Update(worker, staleness, clock() - began))
        if watch is not None:
            losses.append(float(watch(weights)))
        clocks[worker] += 1
        waiting.add(worker)
        if version < pushes:
            ready = bounded_staleness(clocks, waiting, bound)
            waiting.difference_update(ready)
            answer(ready)
    late = len(arriving)
    for worker in sorted(waiting):
        stop(worker)
    while arriving:  # their gradients are not wanted any more
        stop(next_worker())
    return ServerRun(weights, tuple(updates), tuple(losses), late, clock() - began)
