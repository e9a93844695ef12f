"""Times of single launches by CUDA events, with cold caches and without the host's part."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gpulearn import cuda

__all__ = ["event_times", "sweeper"]

AT_LEAST, LONG = 5, 0.1  # repeats of a launch; seconds, after which more are not needed


def event_times(
    launch: Callable[[], object], before: Callable[[], object], most: int = 30
) -> list[float]:
    """Seconds of single launches between two CUDA events, `most` or as many as take 0.1 s.

    Args:
        launch: what is timed.
        before: work for the GPU that comes before each: while it goes on, the host launches, so
            that the host's time is not between the events.
        most: how many launches.
    """
    times: list[float] = []
    while len(times) < most and (len(times) < AT_LEAST or sum(times) < LONG):
        start, end = cuda.event(timing=True), cuda.event(timing=True)
        before()
        start.record()
        launch()
        end.record()
        end.synchronize()
        times.append(cuda.event_elapsed_time(start, end) / 1e3)  # it is in milliseconds
    return times


def _sum_up(values: Any, total: Any) -> None:
    """Reads everything; the sum of numbers above zero is never -1, which no compiler knows."""
    found = np.float32(0)
    for i in range(cuda.grid(1), values.size, cuda.gridsize(1)):
        found += values[i]
    if found == np.float32(-1):
        total[0] = found


def sweeper(n: int) -> Callable[[], None]:
    """A launch that reads n numbers: caches then hold nothing of a kernel's data."""
    kernel = cuda.jit(_sum_up)
    numbers = np.random.default_rng(0).random(min(n, 2**20), np.float32)
    values = cuda.device_array(n, np.float32)
    for start in range(0, n, numbers.size):
        values[start : start + numbers.size].copy_to_device(numbers)
    total = cuda.to_device(np.zeros(1, np.float32))
    grid = min(4096, n // 256)
    return lambda: kernel[grid, 256](values, total)
