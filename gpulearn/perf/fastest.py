"""The fastest of many runs: what a machine does when nothing is in its way.

A median says what to expect, and is what `gl.measure` is for. A limit, such as a roofline, is
what was reached at least once; other programs can hide it, and never improve it.
"""

from __future__ import annotations

from collections.abc import Callable

from gpulearn import require
from gpulearn.perf import timing
from gpulearn.perf.cpu_load import watch_neighbours
from gpulearn.perf.series import Provenance

__all__ = ["fastest"]

# Shorter calls are timed in blocks, since reading the clock takes time as well. Longer ones are
# timed one by one: on a busy machine no block of many gets through undisturbed.
SINGLE = 2e-4
# A launch and a look at the clock that waits for the GPU take some 10 µs, which would make a
# GPU's memory look a few hundredths slower than it is; on its own it is seldom disturbed.
SINGLE_ON_GPU = 5e-3


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
        measured = timing.measure(function, seconds=seconds)
        return min(measured.times), measured.provenance
    with watch_neighbours() as neighbours:
        end = timing.now() + seconds
        for _ in range(most):
            best = min(best, _once(function))
            if timing.now() > end:
                break
    return best, Provenance("measured", timing.place(), busy=neighbours.disturb)


def _once(function: Callable[[], object]) -> float:
    start = timing.now()
    function()
    return timing.now() - start
