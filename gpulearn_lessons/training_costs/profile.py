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

__all__ = ["OperatorTime", "StepTimes", "find_the_bottleneck", "operator_times", "step_times"]

QUIET = {"KINETO_LOG_LEVEL": "6"}  # the profiler's library logs its own start and stop


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
    """One of torch's operators: how often it was called, and its own time in seconds.

    What it calls in turn is not in its own time.
    """

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

    Args:
        model: is trained.
        optimizer: of its parameters.
        batches: pairs of images and labels; to fetch one, and to move it to the model's device,
            is the phase "data".
        precision: of the passes; float32 unless given.

    Raises:
        BadInput: there are fewer than two batches.
    """
    device = next(model.parameters()).device
    passes = precision or Precision("float32", device)
    steps, iterator = [], iter(batches)
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

    Args:
        fetch: seconds that one worker takes to read and prepare a batch.
        copy: seconds that a batch takes over the link to the GPU, one at a time.
        compute: seconds of the GPU for a batch.
        workers: processes that fetch.

    Returns:
        "fetch", "copy" or "compute", whichever takes most of a step; seconds a step; and the share
        of a step in which the GPU computes, 0 to 1.

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

    Args:
        step: a function of no arguments, such as a training step; called once before, to warm up.
        steps: how often it is watched.

    Returns:
        The operators, most time first; time on the GPU where one has been used, else on the CPU.

    Raises:
        BadInput: steps is not a whole number above zero.

    >>> ones = torch.ones(200, 200)
    >>> "mm" in [one.name for one in operator_times(lambda: ones @ ones)]
    True
    """
    steps = require.whole("steps", steps)
    on_gpu = torch.cuda.is_available() and torch.cuda.is_initialized()
    kinds = [torch.profiler.ProfilerActivity.CPU]
    if on_gpu:
        kinds.append(torch.profiler.ProfilerActivity.CUDA)
    step()
    with _environment(QUIET), torch.profiler.profile(activities=kinds) as watched:
        for _ in range(steps):
            step()
        now()  # waits for the GPU
    rows = [
        (event.key.removeprefix("aten::"), event.count, _own_seconds(event, on_gpu))
        for event in watched.key_averages()
    ]
    total = sum(seconds for *_, seconds in rows) or 1.0
    found = [OperatorTime(*row, share=row[2] / total) for row in rows if row[2] > 0]
    return sorted(found, key=lambda row: row.seconds, reverse=True)


def _own_seconds(event: Any, on_gpu: bool) -> float:
    """An event's time without that of what it calls; the profiler counts in microseconds."""
    if not on_gpu:
        return float(event.self_cpu_time_total) / 1e6
    newer = getattr(event, "self_device_time_total", None)  # its name before torch 2.4: cuda
    return float(event.self_cuda_time_total if newer is None else newer) / 1e6


@contextmanager
def _environment(wanted: dict[str, str]) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in wanted}
    os.environ.update(wanted)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
