"""How long a call takes, measured honestly: its median, its fastest run, and who disturbed.

A median says what to expect, and is what `gl.measure` is for. A limit, such as a roofline, is
what was reached at least once; other programs can hide it, and never improve it.
"""

from __future__ import annotations

import inspect
import sys
import timeit
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from time import monotonic, perf_counter, process_time
from typing import Any

import numpy as np

from gpulearn import require
from gpulearn.errors import BadInput
from gpulearn.perf.series import Provenance
from simt.device import selection

MIN_REPEATS, MAX_REPEATS = 3, 500  # however slow or fast a call is

# Shorter calls are timed in blocks that last so many seconds, since reading the clock takes time as
# well. Longer ones are timed one by one: on a busy machine no block of many gets through
# undisturbed. A launch and a look at the clock that waits for the GPU take some 10 µs, which would
# make a GPU's memory look a few hundredths slower than it is; on its own it is seldom disturbed.
BLOCK, BLOCK_ON_GPU = 2e-3, 5e-3

BUSY = 0.15  # of all cores; an idle desktop takes a few hundredths


@dataclass(frozen=True)
class Measurement:
    """The seconds that a call took."""

    times: tuple[float, ...]  # per call, one a repeat; of a short call a repeat is a block of many
    first: float  # the very first call, which compiles, allocates and wakes up; not among `times`
    provenance: Provenance

    @property
    def median(self) -> float:
        """The median of the repeats, in seconds."""
        return float(np.quantile(self.times, 0.5))

    def __str__(self) -> str:
        low, high = np.quantile(self.times, (0.25, 0.75))
        return (
            f"{format_seconds(self.median)} (median of {len(self.times)}, spread "
            f"{format_seconds(high - low)}{'' if _stable(self.times) else ', not stable'}; "
            f"{self.provenance})"
        )

    __repr__ = __str__


def _stable(times: Sequence[float]) -> bool:
    """Whether the spread is at most a tenth of the median, over three repeats or more."""
    low, median, high = np.quantile(times, (0.25, 0.5, 0.75))
    return len(times) >= MIN_REPEATS and bool(high - low <= median / 10)


def format_seconds(seconds: float) -> str:
    """Write a duration, in seconds, with the unit that fits.

    >>> format_seconds(0.00123)
    '1.23 ms'
    """
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if abs(seconds) >= scale:
            return f"{seconds / scale:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"


def measure(function: Callable[[], object], *, seconds: float = 1.0) -> Measurement:
    """Time a call without arguments: warm up, synchronize, repeat until the median is stable.

    The repeats, three at least, end when their spread is under a tenth of their median, or
    after `seconds`; the result says if it is not stable. Where there is a GPU, every reading
    of the clock waits for all that torch and our kernels have launched. The provenance names the
    CPU, and the GPU beside it once this process has used it.

    >>> measure(lambda: sum(range(1000)), seconds=0.01).median > 0
    True
    """
    if not callable(function):
        raise BadInput(
            f"measure was given {function!r}, which cannot be called: "
            f"give it a function, such as measure(lambda: a @ b)."
        )
    try:
        inspect.signature(function).bind()
    except TypeError:
        raise BadInput(
            f"{getattr(function, '__name__', 'the function')} needs arguments: give measure a "
            f"function of none, such as measure(lambda: f(x))."
        ) from None
    except ValueError:
        pass  # a built-in function that does not say what it takes
    first = timeit.timeit(function, timer=now, number=1)
    with watch_neighbors() as neighbors:
        times = _host_times(function, seconds, True)
    origin = Provenance("measured", place(), busy=neighbors.disturb)
    return Measurement(tuple(times), first, origin)


def now() -> float:
    """The time in seconds, read once the GPU, where there is one, has nothing left to do."""
    torch = sys.modules.get("torch")  # where nobody has loaded it, it has launched nothing
    if torch is not None and torch.cuda.is_available():
        torch.cuda.synchronize()
    # torch may be a build without CUDA, or look at another GPU than the one kernels run on
    if (kernels := sys.modules.get("gpulearn.cuda")) is not None:
        kernels.synchronize()
    return perf_counter()


def _torch_on_gpu() -> Any:
    """torch, if this process has used a GPU by it; else None."""
    torch = sys.modules.get("torch")
    used = torch is not None and torch.cuda.is_available() and torch.cuda.is_initialized()
    return torch if used else None


def place() -> str:
    """What may have done the work: the CPU, and the GPU if this process has used it."""
    torch = _torch_on_gpu()
    return selection.cpu_name() + (f" with {torch.cuda.get_device_name()}" if torch else "")


def _host_times(function: Callable[[], object], seconds: float, until_stable: bool) -> list[float]:
    """Seconds per call, one entry a repeat, for some seconds or until the median is stable."""
    require.above_zero("seconds", seconds)
    timer, calls = timeit.Timer(function, timer=now), 1
    block = min(BLOCK_ON_GPU if _torch_on_gpu() else BLOCK, seconds / MIN_REPEATS)
    while (spent := timer.timeit(calls)) < block:
        calls *= 2
    times = [spent / calls]
    while len(times) < MIN_REPEATS or (spent < seconds and len(times) < MAX_REPEATS):
        if until_stable and spent > seconds / 3 and _stable(times):
            break
        spent += (elapsed := timer.timeit(calls))
        times.append(elapsed / calls)
    return times


@require.sizes("repeats")
def time_correctly(
    run: Callable[[], object],
    synchronize: Callable[[], object],
    clock: Callable[[], float] = perf_counter,
    repeats: int = 5,
) -> float:
    """Time a launch that returns before its work is done: the median seconds of `repeats` calls.

    `repeats` is odd, and counts the calls after one that warms up; `synchronize` returns when all
    launched work is done.
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


def fastest(function: Callable[[], object], seconds: float = 0.5) -> tuple[float, Provenance]:
    """The seconds of the fastest run of a call without arguments, and where it ran.

    It is repeated for `seconds`, about, after a call that compiles, allocates and wakes up.

    >>> fastest(lambda: sum(range(1000)), seconds=0.01)[0] > 0
    True
    """
    function()
    with watch_neighbors() as neighbors:
        best = min(_host_times(function, seconds, False))
    return best, Provenance("measured", place(), busy=neighbors.disturb)


@dataclass
class Neighbors:
    """The share of all cores, from 0 to 1, that other processes used; 0 where it is not known."""

    share: float = 0.0

    @property
    def disturb(self) -> bool:
        """Whether times measured meanwhile cannot be trusted to repeat."""
        return self.share > BUSY


@contextmanager
def watch_neighbors() -> Iterator[Neighbors]:
    """Watch what other processes use of the CPU while the block runs."""
    neighbors = Neighbors()
    try:
        import psutil  # comes with ipykernel; without it nobody is watched
    except ModuleNotFoundError:
        yield neighbors
        return
    before = _cpu_time(psutil)
    yield neighbors
    system, own, elapsed = (after - b for after, b in zip(_cpu_time(psutil), before, strict=True))
    if elapsed > 0.05:  # the system's clock ticks are a hundredth of a second
        neighbors.share = max(0.0, system - own) / (elapsed * psutil.cpu_count())


def _cpu_time(psutil: Any) -> tuple[float, float, float]:
    """Seconds of CPU that all processes used, that this one used, and the time."""
    system = psutil.cpu_times()
    busy = (
        sum(system) - system.idle - getattr(system, "iowait", 0.0) - getattr(system, "guest", 0.0)
    )
    return busy, process_time(), monotonic()
