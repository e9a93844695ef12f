"""A GPU of pure arithmetic: launches return at once, and its clock shows no noise."""

import statistics
from collections.abc import Callable
from dataclasses import dataclass, field

LAUNCH_SECONDS = 5e-6
FIRST_CALL = 40.0  # the first call takes this many times the work: it compiles


def slower_and_slower(call: int) -> float:
    """Calls that take ever longer, as on a GPU that grows hot."""
    return 1.0 + 0.1 * call


def faster_and_faster(call: int) -> float:
    """Calls that take ever less, as with a cache that fills."""
    return 1.0 / (1.0 + 0.1 * call)


def zigzag(call: int) -> float:
    """Calls of which no two take equally long, in no order, some of them several times as long."""
    return (0.4, 1.0, 3.0, 0.7, 1.6)[call * 3 % 5] + 0.013 * call


@dataclass
class VirtualGpu:
    """A device that works while the host goes on, with a clock that only it advances."""

    work: float  # seconds that one call's work takes on the device, times `factor`
    factor: Callable[[int], float]  # of the number of a call, 1 and up; call 0 is slow
    pending: float = 0.0  # seconds of earlier work that the device still has before it
    readings: int = 0  # how often `clock` was called
    now: float = 100.0
    taken: list[float] = field(default_factory=list)  # by each call, from launch to end of work
    busy_until: float = field(init=False)

    def __post_init__(self) -> None:
        self.busy_until = self.now + self.pending

    def run(self) -> None:
        """Launch one call's work and return before it is done."""
        call = len(self.taken)
        work = self.work * (self.factor(call) if call else FIRST_CALL)
        self.now += LAUNCH_SECONDS
        self.busy_until = max(self.now, self.busy_until) + work
        self.taken.append(LAUNCH_SECONDS + work)

    def synchronize(self) -> None:
        """Wait until all launched work is done."""
        self.now = max(self.now, self.busy_until)

    def clock(self) -> float:
        """The time in seconds."""
        self.readings += 1
        return self.now

    def medians(self, repeats: int) -> tuple[float, float]:
        """The right results: of the last `repeats` calls, or of every other one.

        Every other one is what a benchmark counts that warms up before each repeat.
        """
        last = self.taken[-repeats:]
        other = self.taken[-1 : -2 * repeats : -2] if len(self.taken) >= 2 * repeats else last
        return statistics.median(last), statistics.median(other)
