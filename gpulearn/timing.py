"""How long something took, and where that number comes from.

Timings come from one of three places, which are never mixed up: measured here, recorded
on a named machine, or modelled. A `Provenance` travels with every number.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

from gpulearn import _require, device
from gpulearn.errors import BadInput
from gpulearn.neighbours import watch_neighbours

__all__ = [
    "Measurement",
    "Provenance",
    "Series",
    "crossover",
    "format_seconds",
    "measure",
    "time_correctly",
]


@dataclass(frozen=True)
class Provenance:
    """Where a number comes from.

    `kind` is "measured", "recorded" or "modelled"; `where` names the device (or the
    model), `when` is the date of a recording, or "while busy" where other programs
    disturbed a measurement.
    """

    kind: str
    where: str
    when: str = ""

    def __post_init__(self) -> None:
        _require.choice("kind of provenance", self.kind, ("measured", "recorded", "modelled"))

    def __str__(self) -> str:
        if self.kind == "measured":
            return f"measured here on {self.where}" + (f", {self.when}" if self.when else "")
        if self.kind == "recorded":
            return f"recorded on {self.where}, {self.when}"
        return f"modelled by {self.where}"


@dataclass(frozen=True)
class Measurement:
    """The seconds that single calls took.

    `times` has one entry a repeat (seconds per call); `first` is the very first call,
    which compiles, allocates and wakes up and is no part of `times`.
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

    def _quantile(self, share: float) -> float:
        import numpy as np

        return float(np.quantile(self.times, share))

    def __str__(self) -> str:
        return (
            f"{format_seconds(self.median)} (median of {self.repeats}, spread "
            f"{format_seconds(self.iqr)}; {self.provenance})"
        )

    __repr__ = __str__


@dataclass(frozen=True)
class Series:
    """Seconds over sizes under one name, such as one curve of a figure."""

    name: str
    sizes: tuple[int, ...]
    seconds: tuple[float, ...]
    provenance: Provenance
    note: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        _require.ascending("sizes", self.sizes)
        if len(self.sizes) != len(self.seconds):
            raise BadInput(
                f"{self.name} has {len(self.sizes)} sizes and {len(self.seconds)} times: "
                f"give one time for each size."
            )
        for seconds in self.seconds:
            _require.above_zero("a time", seconds)


def format_seconds(seconds: float) -> str:
    """Write a duration with the unit that fits.

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

    The repeats end when their spread is under a tenth of their median, or after `seconds`.
    PyTorch's benchmark timer waits for the GPU before it reads the clock; with
    `clock="events"` the GPU's own event timers are read instead, which leaves out the
    time the host takes to launch.

    Args:
        function: what to time.
        seconds: the most time to spend on repeats.
        clock: "host", or "events" for work on a GPU.
        where: the device to name in the provenance; the CPU or GPU of this machine by default.

    Raises:
        BadInput: `function` cannot be called, `seconds` is not above zero, `clock` is unknown,
            or it is "events" where torch sees no GPU.
        MissingPackage: torch is not installed.

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
    _require.above_zero("seconds", seconds)
    _require.choice("clock", clock, ("host", "events"))
    torch = _require.package("torch", "gl.measure")
    has_gpu = torch.cuda.is_available()
    if clock == "events" and not has_gpu:
        raise BadInput("clock='events' reads a GPU's timers, and torch sees no GPU: use 'host'.")
    wait = torch.cuda.synchronize if has_gpu else _nothing_to_wait_for
    start = perf_counter()
    function()
    wait()
    first = perf_counter() - start
    repeat = event_times if clock == "events" else _host_times
    with watch_neighbours() as neighbours:
        times = repeat(function, seconds, torch)
    where = where or device.current().name
    when = "while busy" if neighbours.disturb else ""
    return Measurement(tuple(times), first, Provenance("measured", where, when))


def takes_nothing(function: Callable[..., object]) -> bool:
    """Whether a function can be called without arguments, as far as can be known."""
    try:
        inspect.signature(function).bind()
    except TypeError:
        return False
    except ValueError:  # a built-in function that does not say
        return True
    return True


def _nothing_to_wait_for() -> None:
    pass


def _host_times(function: Callable[[], object], seconds: float, torch: Any) -> list[float]:
    from torch.utils.benchmark import Timer

    timer = Timer("function()", globals={"function": function}, num_threads=torch.get_num_threads())
    found = timer.adaptive_autorange(threshold=0.1, min_run_time=seconds / 3, max_run_time=seconds)
    return list(found.times)


def event_times(
    function: Callable[[], object], seconds: float, torch: Any, most: int = 100
) -> list[float]:
    """Time single calls by pairs of CUDA events, in seconds, until `seconds` or `most` are up."""
    times: list[float] = []
    while len(times) < most and (len(times) < 5 or sum(times) < seconds):
        before, after = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        before.record()
        function()
        after.record()
        torch.cuda.synchronize()
        times.append(before.elapsed_time(after) / 1e3)  # elapsed_time is in milliseconds
    return times


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
        repeats: how many timed calls, after one that warms up.

    Returns:
        Seconds per call.
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


def crossover(
    sizes: Sequence[int], cpu_seconds: Sequence[float], gpu_seconds: Sequence[float]
) -> int | None:
    """The smallest measured size from which the GPU stays faster; None if it never does.

    Args:
        sizes: the sizes, ascending.
        cpu_seconds: the CPU's time for each size.
        gpu_seconds: the GPU's time for each size.

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
