"""A GPU of pure arithmetic: launches return at once, and its clock shows no noise."""

from __future__ import annotations

from dataclasses import dataclass, field

__all__ = ["VirtualGpu"]

LAUNCH_SECONDS = 5e-6
FIRST_CALL = 40  # the first call takes this many times the work: it compiles
SLOW_CALL = 7  # so does a call that something interrupts


@dataclass
class VirtualGpu:
    """A device that works while the host goes on, with a clock that only it advances.

    Attributes:
        work: seconds that one call's work takes on the device.
        pending: seconds of earlier work that the device still has before it.
        slow_call: the number of a call, from 0, that takes several times as long.
        calls: how often `run` was called.
    """

    work: float
    pending: float = 0.0
    slow_call: int = -1
    calls: int = 0
    now: float = 100.0
    busy_until: float = field(init=False)

    def __post_init__(self) -> None:
        self.busy_until = self.now + self.pending

    def run(self) -> None:
        """Launch one call's work and return before it is done."""
        self.now += LAUNCH_SECONDS
        factor = 1 + 0.001 * (self.calls % 3 - 1)  # calls differ a little, as they do
        if self.calls == 0:
            factor = FIRST_CALL
        elif self.calls == self.slow_call:
            factor = SLOW_CALL
        self.busy_until = max(self.now, self.busy_until) + self.work * factor
        self.calls += 1

    def synchronize(self) -> None:
        """Wait until all launched work is done."""
        self.now = max(self.now, self.busy_until)

    def clock(self) -> float:
        """The time in seconds."""
        return self.now

    @property
    def seconds_per_call(self) -> float:
        """What one warm call takes: its launch and its work."""
        return LAUNCH_SECONDS + self.work
