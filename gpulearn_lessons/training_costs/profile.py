"""Where the time of a training step goes, phase by phase."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import NamedTuple

import torch
from torch.nn import functional

from gpulearn.errors import BadInput
from gpulearn.perf.timing import format_seconds, now
from gpulearn.tables import Table, table


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
        return repr(self._table())

    def _repr_html_(self) -> str:
        return self._table()._repr_html_()

    def _table(self) -> Table:
        rows = [
            {"phase": name, "time": format_seconds(time), "share": f"{time / self.total:.0%}"}
            for name, time in zip(self._fields, self, strict=True)
        ]
        return table(rows, "Measured here; the fastest of the steps.")


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
