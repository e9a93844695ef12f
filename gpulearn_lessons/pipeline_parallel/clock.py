"""Times of a pipeline schedule: passes on the simulated clock, and formulas for the bubble."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from gpulearn import require
from gpulearn.parallel.communicator import clock, compute
from gpulearn.parallel.links import Link
from gpulearn.parallel.simulate.simulate import simulate
from gpulearn_lessons.pipeline_parallel.actions import Action, Schedule
from gpulearn_lessons.pipeline_parallel.execution import carry_out
from gpulearn_lessons.pipeline_parallel.validity import check_schedule

NO_TIME = Link(latency=0.0, bandwidth=1e30, name="messages that take no time")


class PassSpan(NamedTuple):
    """An action of a rank, from `start` to `end` in simulated seconds."""

    rank: int
    action: Action
    start: float
    end: float


@dataclass(frozen=True)
class ScheduleTimes:
    """A schedule on the simulated clock: when each rank does what, rank by rank."""

    schedule: Schedule
    spans: tuple[PassSpan, ...]

    @property
    def seconds(self) -> float:
        """From the start until the last rank has done its last pass."""
        return max(span.end for span in self.spans)

    @property
    def idle(self) -> list[float]:
        """The part of this time in which each rank does nothing, between 0 and 1."""
        busy = [0.0] * len(self.schedule.ranks)
        for span in self.spans:
            busy[span.rank] += span.end - span.start
        return [1 - seconds / self.seconds for seconds in busy]

    @property
    def bubble(self) -> float:
        """The mean of `idle`: the part of all ranks' time that is lost."""
        return sum(self.idle) / len(self.idle)

    def __repr__(self) -> str:
        return (
            f"{self.schedule.name}: {self.seconds:.6g} s on {len(self.schedule.ranks)} ranks, "
            f"modeled; the bubble is {self.bubble:.1%}"
        )


def time_schedule(
    schedule: Schedule,
    *,
    forward: float = 1.0,
    backward: float = 2.0,
    link: Link | str | None = None,
    size: int = 0,
) -> ScheduleTimes:
    """Carry a schedule out on simulated ranks, with passes that only take time.

    Args:
        schedule: what each rank does.
        forward: seconds of a rank's forward passes for one micro-batch, which its stages share
            equally.
        backward: seconds of the backward passes, in the same way.
        link: between two ranks; messages take no time if None.
        size: bytes of what one stage sends to the next, and of the gradient that comes back.

    >>> from gpulearn_lessons import pipeline_parallel
    >>> time_schedule(pipeline_parallel.schedule("GPipe", ranks=4, micro_batches=4))
    GPipe: 21 s on 4 ranks, modeled; the bubble is 42.9%
    """
    check_schedule(schedule)
    require.above_zero("forward", forward)
    require.above_zero("backward", backward)
    chunks = schedule.stages // len(schedule.ranks)
    times = {"F": forward / chunks, "B": backward / chunks}
    size = require.from_zero("size", size)
    link = NO_TIME if link is None else link
    run = simulate(_timed, len(schedule.ranks), schedule, times, size, link=link)
    spans = [
        PassSpan(rank, action, start, end)
        for rank, (actions, pairs) in enumerate(zip(schedule.ranks, run.results, strict=True))
        for action, (start, end) in zip(actions, pairs, strict=True)
    ]
    return ScheduleTimes(schedule, tuple(spans))


class _TimedWork:
    """Passes that only take time."""

    tells_shapes = False

    def __init__(self, times: dict[str, float], size: int) -> None:
        self._times = times  # kind of pass → seconds on one stage
        self._size = size
        self.spans: list[tuple[float, float]] = []

    def landing(self, action: Action) -> Tensor:
        return torch.empty(self._size, dtype=torch.uint8)

    def do(self, action: Action, given: Tensor | None) -> Tensor:
        start = clock()
        compute(self._times[action.kind])
        self.spans.append((start, clock()))
        return torch.zeros(self._size, dtype=torch.uint8)


def _timed(schedule: Schedule, times: dict[str, float], size: int) -> list[tuple[float, float]]:
    """When this rank begins and ends each of its passes."""
    work = _TimedWork(times, size)
    carry_out(schedule, work)
    return work.spans


@require.sizes("ranks", "micro_batches", "chunks")
def bubble_fraction(ranks: int, micro_batches: int, chunks: int = 1) -> float:
    """The part of their time that ranks are idle in GPipe, in 1F1B, and with chunks interleaved.

    With p equal stages, each rank works for m micro-batches, and waits as long as p − 1 of them
    take on one chunk, a v-th of its layers: (p−1) / (v·m + p−1) (Narayanan et al., "Efficient
    large-scale language model training on GPU clusters using Megatron-LM", 2021, section 2.2,
    where the idle time is divided by the work, not by the whole).

    >>> bubble_fraction(ranks=4, micro_batches=4)
    0.42857142857142855
    """
    return (ranks - 1) / (chunks * micro_batches + ranks - 1)
