"""How much of the CPU other programs took while something was measured."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

__all__ = ["Neighbours", "watch_neighbours"]

BUSY = 0.15  # of all cores; an idle desktop takes a few hundredths


@dataclass
class Neighbours:
    """The share of all cores, from 0 to 1, that other processes used; 0 where it is not known."""

    share: float = 0.0

    @property
    def disturb(self) -> bool:
        """Whether times measured meanwhile cannot be trusted to repeat."""
        return self.share > BUSY


@contextmanager
def watch_neighbours() -> Iterator[Neighbours]:
    """Watch what other processes use of the CPU while the block runs."""
    found = Neighbours()
    try:
        import psutil  # comes with ipykernel; without it nobody is watched
    except ModuleNotFoundError:
        yield found
        return
    before = _used(psutil)
    yield found
    system, own, elapsed = (after - b for after, b in zip(_used(psutil), before, strict=True))
    if elapsed > 0.05:  # the system's clock ticks are a hundredth of a second
        found.share = max(0.0, system - own) / (elapsed * psutil.cpu_count())


def _used(psutil: Any) -> tuple[float, float, float]:
    """Seconds of CPU that all processes used, that this one used, and the time."""
    system = psutil.cpu_times()
    used = (
        sum(system) - system.idle - getattr(system, "iowait", 0.0) - getattr(system, "guest", 0.0)
    )
    return used, time.process_time(), time.perf_counter()
