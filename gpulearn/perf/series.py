"""Times over sizes, where they come from, and from which size on one device leads.

Numbers come from one of three places, which are never mixed up: measured here, recorded on a
named machine, or modeled. A `Provenance` travels with every one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gpulearn import require


@dataclass(frozen=True)
class Provenance:
    """Where a number comes from."""

    kind: str  # "measured", "recorded" or "modeled"
    where: str  # the device, or the model
    when: str = ""  # the date of a recording
    busy: bool = False  # whether other programs disturbed a measurement

    def __str__(self) -> str:
        if self.kind == "measured":
            return f"measured here on {self.where}" + (", while busy" if self.busy else "")
        if self.kind == "recorded":
            return f"recorded on {self.where}, {self.when}"
        return f"modeled by {self.where}"


@dataclass(frozen=True)
class Series:
    """Seconds over ascending sizes under one name, such as one curve of a figure."""

    name: str
    sizes: tuple[int, ...]
    seconds: tuple[float, ...]
    provenance: Provenance


@require.same_length("sizes", "cpu_seconds", "gpu_seconds")
def crossover(
    sizes: Sequence[int], cpu_seconds: Sequence[float], gpu_seconds: Sequence[float]
) -> int | None:
    """The smallest of ascending sizes from which the GPU stays faster; None if it never does.

    >>> crossover([64, 128, 256, 512], [1, 2, 8, 60], [5, 5, 5, 6])
    256
    """
    start = None
    for size, cpu, gpu in zip(sizes, cpu_seconds, gpu_seconds, strict=True):
        if gpu >= cpu:
            start = None
        elif start is None:
            start = size
    return start
