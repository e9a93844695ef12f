"""How long a call takes, measured honestly: its median, its fastest run, and who disturbed.

A median says what to expect, and is what `gl.measure` is for. A limit, such as a roofline, is
what was reached at least once; other programs can hide it, and never improve it.
"""

from __future__ import annotations

import importlib.util
import inspect
import sys
import timeit
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from time import monotonic, perf_counter, process_time
from typing import Any

from gpulearn import require
from gpulearn.errors import BadInput
from gpulearn.perf.series import Provenance
from simt.device import selection

__all__ = [
    "Measurement",
    "Neighbours",
    "fastest",
    "format_seconds",
    "measure",
    "now",
    "place",
    "time_correctly",
    "watch_neighbours",
]

REPEATS = 3  # at least, however slow a call is
HEAD_START = 1_000_000  # ticks of the GPU's clock, more than half a millisecond

# Shorter calls are timed in blocks, since reading the clock takes time as well. Longer ones are
# timed one by one: on a busy machine no block of many gets through undisturbed.
SINGLE = 2e-4
BLOCK = 5e-4  # seconds that a repeat of a short call lasts at least, where torch does not decide
# A launch and a look at the clock that waits for the GPU take some 10 µs, which would make a
# GPU's memory look a few hundredths slower than it is; on its own it is seldom disturbed.
SINGLE_ON_GPU = 5e-3

BUSY = 0.15  # of all cores; an idle desktop takes a few hundredths


@dataclass(frozen=True)
class Measurement:
    """The seconds that a call took.

    Attributes:
        times: one entry a repeat, in seconds per call; a repeat of a short call is a block of
            many, and its entry their mean.
        first: the very first call, which compiles, allocates and wakes up; not among `times`.
        provenance: where this was measured.
    """

    times: tuple[float, ...]
    first: float
    provenance: Provenance

    @property
    def repeats(self) -> int:
        """How many repeats the median is taken over."""
        return len(self.times)

    @property
    def median(self) -> float:
        """The median of the repeats, in seconds."""
        return self._quantile(0.5)

    @property
    def iqr(self) -> float:
        """The interquartile range, in seconds: the spread of the middle half."""
        return self._quantile(0.75) - self._quantile(0.25)

    @property
    def stable(self) -> bool:
        """Whether the spread is at most a tenth of the median, over three repeats or more."""
        return self.repeats >= REPEATS and self.iqr <= self.median / 10

    def _quantile(self, share: float) -> float:
        import numpy as np

        return float(np.quantile(self.times, share))

    def __str__(self) -> str:
        return (
            f"{format_seconds(self.median)} (median of {self.repeats}, spread "
            f"{format_seconds(self.iqr)}{'' if self.stable else ', not stable'}; {self.provenance})"
        )

    __repr__ = __str__


def format_seconds(seconds: float) -> str:
    """Write a duration, in seconds, with the unit that fits.

    >>> format_seconds(0.00123)
    '1.23 ms'
    """
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if abs(seconds) >= scale:
            return f"{seconds / scale:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"


def measure(
    function: Callable[[], object],
    *,
    seconds: float = 1.0,
    clock: str = "host",
    where: str | None = None,
) -> Measurement:
    """Time a call without arguments: warm up, synchronise, repeat until the median is stable.

    The repeats, three at least, end when their spread is under a tenth of their median, or
    after `seconds`; the result says if it is not stable. Where there is a GPU, every reading
    of the clock waits for all that torch and our kernels have launched; with `clock="events"`
    the GPU's own event timers are read instead, which leaves out the time the host takes to
    launch.

    Args:
        function: what to time.
        seconds: the most time to spend on repeats.
        clock: "host", or "events" for work on a GPU.
        where: the device to name in the provenance; by default the CPU, and the GPU beside it
            once this process has used it.

    Raises:
        BadInput: `function` cannot be called, `seconds` is not above zero, `clock` is unknown,
            or it is "events" where torch sees no GPU.
        MissingPackage: `clock` is "events", and torch is not installed.

    >>> measure(lambda: sum(range(1000)), seconds=0.01).median > 0
    True
    """
    if not callable(function):
        raise BadInput(
            f"measure was given {function!r}, which cannot be called: "
            f"give it a function, such as measure(lambda: a @ b)."
        )
    if not takes_nothing(function):
        raise BadInput(
            f"{getattr(function, '__name__', 'the function')} needs arguments: give measure a "
            f"function of none, such as measure(lambda: f(x))."
        )
    require.above_zero("seconds", seconds)
    require.choice("clock", clock, ("host", "events"))
    needed = clock == "events" or importlib.util.find_spec("torch")
    torch: Any = require.package("torch", "gl.measure") if needed else None
    if clock == "events" and not torch.cuda.is_available():
        raise BadInput("clock='events' reads a GPU's timers, and torch sees no GPU: use 'host'.")
    start = now()
    function()
    first = now() - start
    repeat = event_times if clock == "events" else _host_times
    with watch_neighbours() as neighbours:
        times = repeat(function, seconds, torch) if needed else _plain_times(function, seconds)
    where = where or place()
    origin = Provenance("measured", where, busy=neighbours.disturb)
    return Measurement(tuple(times), first, origin)


def takes_nothing(function: Callable[..., object]) -> bool:
    """Whether a function can be called without arguments, as far as can be known."""
    try:
        inspect.signature(function).bind()
    except TypeError:
        return False
    except ValueError:  # a built-in function that does not say
        return True
    return True


def now() -> float:
    """The time in seconds, read once the GPU, where there is one, has nothing left to do."""
    torch = sys.modules.get("torch")  # where nobody has loaded it, it has launched nothing
    if torch is not None and torch.cuda.is_available():
        torch.cuda.synchronize()
    # torch may be a build without CUDA, or look at another GPU than the one kernels run on
    if (kernels := sys.modules.get("gpulearn.cuda")) is not None:
        kernels.synchronize()
    return perf_counter()


def place() -> str:
    """What may have done the work: the CPU, and the GPU if this process has used it."""
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_available() and torch.cuda.is_initialized():
        return f"{selection.cpu_name()} with {torch.cuda.get_device_name()}"
    return selection.cpu_name()


def _host_times(function: Callable[[], object], seconds: float, torch: Any) -> list[float]:
    from torch.utils.benchmark import Timer

    timer = Timer(
        "function()",
        globals={"function": function},
        timer=now,
        num_threads=torch.get_num_threads(),
    )
    found = timer.adaptive_autorange(threshold=0.1, min_run_time=seconds / 3, max_run_time=seconds)
    times = list(found.times)
    while len(times) < REPEATS:
        times.extend(timer.timeit(1).times)
    return times


def _plain_times(function: Callable[[], object], seconds: float) -> list[float]:
    """Where there is no torch, whose timer finds by itself how often to repeat: for `seconds`."""
    timer, calls = timeit.Timer(function, timer=now), 1
    while (took := timer.timeit(calls)) < min(BLOCK, seconds / REPEATS):
        calls *= 2
    repeats = max(REPEATS, int(seconds / took))
    return [block / calls for block in timer.repeat(repeats, calls)]


def event_times(
    function: Callable[[], object], seconds: float, torch: Any, most: int = 100
) -> list[float]:
    """Time single calls by pairs of CUDA events, in seconds, until `seconds` or `most` are up.

    torch records the events in the default stream, in which numba launches too. Before the
    first of a pair the GPU is given something to wait for: else it would reach the launch before
    the host does, and the time between the events would be the host's.
    """
    times: list[float] = []
    wait = getattr(torch.cuda, "_sleep", lambda ticks: None)
    while len(times) < most and (len(times) < 5 or sum(times) < seconds):
        before, after = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        wait(HEAD_START)
        before.record()
        function()
        after.record()
        torch.cuda.synchronize()
        times.append(before.elapsed_time(after) / 1e3)  # elapsed_time is in milliseconds
    return times


@require.sizes("repeats")
def time_correctly(
    run: Callable[[], object],
    synchronize: Callable[[], object],
    clock: Callable[[], float] = perf_counter,
    repeats: int = 5,
) -> float:
    """Time a launch that returns before its work is done: the median of `repeats` calls.

    Args:
        run: launches the work and returns at once.
        synchronize: returns when all launched work is done.
        clock: gives the time in seconds.
        repeats: how many timed calls, an odd number, after one that warms up.

    Returns:
        Seconds per call.

    Raises:
        BadInput: `repeats` is not a whole number above zero.
    """
    run()
    times = []
    for _ in range(repeats):
        synchronize()
        start = clock()
        run()
        synchronize()
        times.append(clock() - start)
    return sorted(times)[repeats // 2]


def fastest(
    function: Callable[[], object], seconds: float = 0.5, most: int = 500
) -> tuple[float, Provenance]:
    """The seconds of the fastest run of a call without arguments, and where it ran.

    Args:
        function: what to time.
        seconds: the time to spend, about.
        most: how many single runs at most.

    Raises:
        BadInput: `seconds` is not above zero.
        MissingPackage: torch is not installed.

    >>> fastest(lambda: sum(range(1000)), seconds=0.01)[0] > 0
    True
    """
    require.above_zero("seconds", seconds)
    torch = require.package("torch", "Timing")
    function()  # compiles, allocates and wakes up
    best = min(_once(function) for _ in range(3))
    if best < (SINGLE_ON_GPU if torch.cuda.is_initialized() else SINGLE):
        measured = measure(function, seconds=seconds)
        return min(measured.times), measured.provenance
    with watch_neighbours() as neighbours:
        end = now() + seconds
        for _ in range(most):
            best = min(best, _once(function))
            if now() > end:
                break
    return best, Provenance("measured", place(), busy=neighbours.disturb)


def _once(function: Callable[[], object]) -> float:
    start = now()
    function()
    return now() - start


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
    return used, process_time(), monotonic()
