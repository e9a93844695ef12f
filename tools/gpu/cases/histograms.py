"""Histograms of values that are spread out, skewed and all the same: notebooks 07 and 22."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from gpulearn.kernels.histogram import (
    BINS,
    HISTOGRAM_GLOBAL,
    HISTOGRAM_RACY,
    HISTOGRAM_SHARED,
)
from gpulearn_lessons.broken_tutorials.brightness import BRIGHTNESS, LEVELS
from tools.gpu.case import Case
from tools.gpu.cases.arrays import PERIOD, bytes_of, repeated

__all__ = ["CASES"]

Array = np.ndarray[Any, Any]
Arrays = tuple[Array, ...]
# 128 MB of bytes; fewer where updates of one bin wait for each other
ELEMENTS = {"small": 5003, "large": 2**27}


def skewed(n: int) -> Array:
    """Small values are common and large ones rare: the fourth power of an even spread."""
    spread = np.random.default_rng(4).random(min(n, PERIOD))
    return repeated((BINS * spread**4).astype(np.uint8), n)


SPREADS: dict[str, Callable[[int], Array]] = {
    "at random": bytes_of,
    "skewed": skewed,
    "all equal": lambda n: np.full(n, 77, np.uint8),
}


def spread_out(spread: str, size: str) -> Arrays:
    return SPREADS[spread](ELEMENTS[size]), np.zeros(BINS, np.int32)


def fewer(spread: str, size: str) -> Arrays:
    n = ELEMENTS[size]
    return SPREADS[spread](n // 8 if size == "large" else n), np.zeros(BINS, np.int32)


def different(size: str) -> Arrays:
    """No value twice: the plain update has nobody to race with."""
    values = np.random.default_rng(0).permutation(BINS).astype(np.uint8)
    return values, np.zeros(BINS, np.int32)


def brightness(spread: str, size: str) -> Arrays:
    return bright(fewer(spread, size)[0]), np.zeros(LEVELS, np.int32)


def bright(values: Array) -> Array:
    return (values / np.float32(255)).astype(np.float32)


def racing(spread: str) -> Case:
    """Updates are lost, and which ones nobody knows."""
    return Case.of(
        HISTOGRAM_RACY,
        spread,
        "07",
        partial(fewer, spread),
        expect=lambda values, counts: {},
        finding="race",
    )


CASES = (
    *(Case.of(HISTOGRAM_GLOBAL, spread, "07", partial(fewer, spread)) for spread in SPREADS),
    *(Case.of(HISTOGRAM_SHARED, spread, "07", partial(spread_out, spread)) for spread in SPREADS),
    *map(racing, SPREADS),
    *(Case.of(BRIGHTNESS, spread, "22", partial(brightness, spread)) for spread in SPREADS),
    Case.of(HISTOGRAM_RACY, "no two alike", "07", different, sizes=("small",)),
)
