"""Where the time of a training step goes: by phase, and by operator."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import torch
from torch.nn import functional

from gpulearn import require
from gpulearn.errors import BadInput
from gpulearn.perf.timing import format_seconds, now
from gpulearn.train.precision import Precision

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
    """One of torch's operators: its calls, and its seconds without those of what it calls."""

    name: str
    calls: int
    seconds: float
    share: float


def step_times(
    model: torch.nn.Module,
    optimizer: torch.optim.Optimizer,
    batches: Iterable[tuple[torch.Tensor, torch.Tensor]],
    precision: Precision | None = None,
) -> StepTimes:
    """Train on batches and time each phase of each step; the first step warms up.

    The clock is read once the GPU, where torch sees one, has nothing left to do. That costs a
    step some time of its own, so the phases tell shares, not the speed of training.

    To fetch a pair of images and labels, and to move it to the model's device, is the phase "data".
    There are two batches or more; the passes are in float32 unless a precision is given.
    """
    device = next(model.parameters()).device
    passes = precision or Precision("float32", device)
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
        with passes.autocast():
            loss = functional.cross_entropy(model(images), labels)
        clock.append(now())
        passes.backward(loss)
        clock.append(now())
        passes.step(optimizer)
        clock.append(now())
        steps.append([end - begin for begin, end in itertools.pairwise(clock)])
    if len(steps) < 2:
        raise BadInput(f"batches holds {len(steps)}: give two or more, the first warms up.")
    # what other programs take of the machine only adds
    return StepTimes(*map(min, zip(*steps[1:], strict=True)))


def find_the_bottleneck(
    fetch: float, copy: float, compute: float, workers: int
) -> tuple[str, float, float]:
    """What a long run waits for, how long its steps take, and how busy its GPU is.

    Without workers one process does all three for a batch, one after the other. With them, each
    worker fetches a batch of its own, while the link copies an earlier one and the GPU computes
    on one before that; then the slowest of the three sets the pace.

    Seconds are those of one batch: for one worker to read and prepare it, for the link to the GPU,
    one batch at a time, and for the GPU. Returned are "fetch", "copy" or "compute", whichever takes
    most of a step; seconds a step; and the share of a step in which the GPU computes, 0 to 1.

    >>> find_the_bottleneck(fetch=8.0, copy=1.0, compute=3.0, workers=0)
    ('fetch', 12.0, 0.25)
    >>> find_the_bottleneck(fetch=8.0, copy=1.0, compute=3.0, workers=4)
    ('compute', 3.0, 1.0)
    """
    times = {"fetch": fetch / max(workers, 1), "copy": copy, "compute": compute}
    step = max(times.values()) if workers else sum(times.values())
    return max(times, key=lambda name: times[name]), step, compute / step


def operator_times(step: Callable[[], object], steps: int = 5) -> list[OperatorTime]:
    """Let torch's profiler watch a function and add up each operator's own time.

    The function is called once before, to warm up. Operators with most time come first; it is time
    on the GPU where one has been used, else on the CPU.

    >>> ones = torch.ones(200, 200)
    >>> "mm" in [operator.name for operator in operator_times(lambda: ones @ ones)]
    True
    """
    steps = require.whole("steps", steps)
    on_gpu = torch.cuda.is_available() and torch.cuda.is_initialized()
    kinds = [torch.profiler.ProfilerActivity.CPU]
    if on_gpu:
        kinds.append(torch.profiler.ProfilerActivity.CUDA)
    step()
    with _quiet(), torch.profiler.profile(activities=kinds) as profiler:
        for _ in range(steps):
            step()
        now()  # waits for the GPU
    rows = [
        (event.key.removeprefix("aten::"), event.count, _own_seconds(event, on_gpu))
        for event in profiler.key_averages()
    ]
    total = sum(seconds for *_, seconds in rows) or 1.0
    operators = [OperatorTime(*row, share=row[2] / total) for row in rows if row[2] > 0]
    return sorted(operators, key=lambda operator: operator.seconds, reverse=True)


def _own_seconds(event: Any, on_gpu: bool) -> float:
    """An event's time without that of what it calls; the profiler counts in microseconds."""
    if not on_gpu:
        return float(event.self_cpu_time_total) / 1e6
    newer = getattr(event, "self_device_time_total", None)  # its name before torch 2.4: cuda
    return float(event.self_cuda_time_total if newer is None else newer) / 1e6


@contextmanager
def _quiet() -> Iterator[None]:
    """Have the profiler's library log neither its start nor its stop."""
    before = os.environ.get(LOG_LEVEL)
    os.environ[LOG_LEVEL] = "6"
    try:
        yield
    finally:
        del os.environ[LOG_LEVEL]
        if before is not None:
            os.environ[LOG_LEVEL] = before
