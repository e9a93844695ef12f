"""A GPU of pure arithmetic: launches return at once, and its clock shows no noise."""

from __future__ import annotations

from dataclasses import dataclass, field

__all__ = ["VirtualGpu"]

LAUNCH_SECONDS = 5e-6
FIRST_CALL = 40.0  # the first call takes this many times the work: it compiles
# What later calls take, over and over: in any five, and in any three, the median is 1.
LATER_CALLS = (7.0, 1.0, 0.3, 1.001, 0.999)


@dataclass
class VirtualGpu:
    """A device that works while the host goes on, with a clock that only it advances.

    Attributes:
        work: seconds that one call's work takes on the device.
        pending: seconds of earlier work that the device still has before it.
        steady: whether every call after the first takes the same time.
        calls: how often `run` was called.
        readings: how often `clock` was called.
    """

    work: float
    pending: float = 0.0
    steady: bool = False
    calls: int = 0
    readings: int = 0
    now: float = 100.0
    busy_until: float = field(init=False)

    def __post_init__(self) -> None:
        self.busy_until = self.now + self.pending

    def run(self) -> None:
        """Launch one call's work and return before it is done."""
        self.now += LAUNCH_SECONDS
        factor = 1.0 if self.steady else LATER_CALLS[(self.calls - 1) % len(LATER_CALLS)]
        if self.calls == 0:
            factor = FIRST_CALL
        self.busy_until = max(self.now, self.busy_until) + self.work * factor
        self.calls += 1

    def synchronize(self) -> None:
        """Wait until all launched work is done."""
        self.now = max(self.now, self.busy_until)

    def clock(self) -> float:
        """The time in seconds."""
        self.readings += 1
        return self.now

    @property
    def seconds_per_call(self) -> float:
        """What one warm call takes: its launch and its work."""
        return LAUNCH_SECONDS + self.work
