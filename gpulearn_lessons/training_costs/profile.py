"""Where the time of a training step goes: by phase, and by operator."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import torch
from torch.nn import functional

from gpulearn.errors import BadInput
from gpulearn.perf.timing import format_seconds, now

LOG_LEVEL = "KINETO_LOG_LEVEL"


class StepTimes(NamedTuple):
    """Seconds of a training step by phase, each the fastest of the measured steps."""

    data: float
    forward: float
    backward: float
    optimizer: float

    @property
    def total(self) -> float:
        """The sum of the phases, in seconds."""
        return sum(self)

    def __repr__(self) -> str:
        rows = zip(self._fields, self, strict=True)
        return "\n".join(
            f"{name:<9}  {format_seconds(time):>8}  {time / self.total:4.0%}" for name, time in rows
        )

    def _repr_html_(self) -> str:
        from gpulearn.tables import table

        rows = [
            {"phase": name, "time": format_seconds(time), "share": f"{time / self.total:.0%}"}
            for name, time in zip(self._fields, self, strict=True)
        ]
        return table(rows, "Measured here; the fastest of the steps.")._repr_html_()


class OperatorTime(NamedTuple):
    """One of torch's operators, and its seconds without those of what it calls."""

    name: str
    seconds: float
    share: float


def step_times(
    model: torch.nn.Module,
    optimizer: torch.optim.Optimizer,
    batches: Iterable[tuple[torch.Tensor, torch.Tensor]],
) -> StepTimes:
    """Train on two batches or more and time each phase of each step; the first step warms up.

    The clock is read when the GPU, if torch sees one, has nothing left to do. That makes a step
    slower, so the phases show shares, not the speed of training. The phase "data" fetches a pair
    of images and labels and moves it to the model's device.
    """
    device = next(model.parameters()).device
    steps: list[list[float]] = []
    iterator = iter(batches)
    while True:
        clock = [now()]
        batch = next(iterator, None)
        if batch is None:
            break
        images, labels = (tensor.to(device) for tensor in batch)
        clock.append(now())
        optimizer.zero_grad()
        loss = functional.cross_entropy(model(images), labels)
        clock.append(now())
        loss.backward()
        clock.append(now())
        optimizer.step()
        clock.append(now())
        steps.append([end - begin for begin, end in itertools.pairwise(clock)])
    if len(steps) < 2:
        raise BadInput(f"batches holds {len(steps)}: give two or more, the first warms up.")
    # other programs only add to the time
    return StepTimes(*map(min, zip(*steps[1:], strict=True)))


def find_the_bottleneck(
    fetch: float, copy: float, compute: float, workers: int
) -> tuple[str, float, float]:
    """What a long run waits for, how long its steps take, and how busy its GPU is.

    Without workers one process does all three for a batch, one after the other. Otherwise each
    worker fetches a batch of its own, while the link copies an earlier one and the GPU computes
    on one before that, so the slowest of the three sets the pace.

    The seconds are those of one batch. Returned are "fetch", "copy" or "compute", whichever takes
    most of a step; the seconds per step; and the fraction of a step in which the GPU computes.

    >>> find_the_bottleneck(fetch=8.0, copy=1.0, compute=3.0, workers=0)
    ('fetch', 12.0, 0.25)
    >>> find_the_bottleneck(fetch=8.0, copy=1.0, compute=3.0, workers=4)
    ('compute', 3.0, 1.0)
    """
    times = {"fetch": fetch / max(workers, 1), "copy": copy, "compute": compute}
    step = max(times.values()) if workers else sum(times.values())
    return max(times, key=lambda name: times[name]), step, compute / step


def operator_times(step: Callable[[], object]) -> list[OperatorTime]:
    """Let torch's profiler watch five calls of a function and add up each operator's own time.

    One more call warms up. Operators with most time come first; it is time on the GPU if one has
    been used, else on the CPU.

    >>> ones = torch.ones(200, 200)
    >>> "mm" in [operator.name for operator in operator_times(lambda: ones @ ones)]
    True
    """
    on_gpu = torch.cuda.is_available() and torch.cuda.is_initialized()
    kinds = [torch.profiler.ProfilerActivity.CPU]
    if on_gpu:
        kinds.append(torch.profiler.ProfilerActivity.CUDA)
    step()
    with _quiet(), torch.profiler.profile(activities=kinds) as profiler:
        for _ in range(5):
            step()
        now()  # waits for the GPU
    rows = [
        (event.key.removeprefix("aten::"), _own_seconds(event, on_gpu))
        for event in profiler.key_averages()
    ]
    total = sum(seconds for _, seconds in rows) or 1.0
    operators = [OperatorTime(*row, share=row[1] / total) for row in rows if row[1] > 0]
    return sorted(operators, key=lambda operator: operator.seconds, reverse=True)


def _own_seconds(event: Any, on_gpu: bool) -> float:
    """An event's time without that of what it calls; the profiler counts in microseconds."""
    if not on_gpu:
        return float(event.self_cpu_time_total) / 1e6
    newer = getattr(event, "self_device_time_total", None)  # its name before torch 2.4: cuda
    return float(event.self_cuda_time_total if newer is None else newer) / 1e6


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep the profiler's library from logging its start and stop."""
    before = os.environ.get(LOG_LEVEL)
    os.environ[LOG_LEVEL] = "6"
    try:
        yield
    finally:
        del os.environ[LOG_LEVEL]
        if before is not None:
            os.environ[LOG_LEVEL] = before
