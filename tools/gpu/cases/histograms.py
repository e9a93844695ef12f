"""Histograms of values that are spread out, skewed and all the same: notebook 07."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from gpulearn.kernels import histogram
from gpulearn.kernels.histogram import BINS
from tools.gpu.case import Case, Shot
from tools.gpu.cases.arrays import PERIOD, bytes_of, repeated

__all__ = ["CASES"]

Array = np.ndarray[Any, Any]
Expected = dict[int, Array]
BLOCK = 256
# 128 MB of bytes; fewer where updates of one bin wait for each other
ELEMENTS = {"small": 5003, "large": 2**27}
FEW = {"small": 3, "large": 8 * 132}  # blocks: 8 for each multiprocessor


def skewed(n: int) -> Array:
    """Small values are common and large ones rare: the fourth power of an even spread."""
    spread = np.random.default_rng(4).random(min(n, PERIOD))
    return repeated((BINS * spread**4).astype(np.uint8), n)


SPREADS: dict[str, Callable[[int], Array]] = {
    "at random": bytes_of,
    "skewed": skewed,
    "all equal": lambda n: np.full(n, 77, np.uint8),
}


def counted(spread: str, few: bool, size: str) -> Shot:
    n = ELEMENTS[size]
    if size == "large" and not few:
        n //= 8
    blocks = FEW[size] if few else -(-n // BLOCK)
    return Shot(blocks, BLOCK, (SPREADS[spread](n), np.zeros(BINS, np.int32)))


def expect_counts(values: Array, counts: Array) -> Expected:
    return {1: np.bincount(values, minlength=counts.size)}


def different(size: str) -> Shot:
    """No value twice: the plain update has nobody to race with."""
    values = np.random.default_rng(0).permutation(BINS).astype(np.uint8)
    return Shot(1, BINS, (values, np.zeros(BINS, np.int32)))


def expect_nothing(values: Array, counts: Array) -> Expected:
    return {}  # updates are lost, and which ones nobody knows


CASES = (
    *(
        Case(f"histogram_global, {spread}", "07", histogram.histogram_global,
             partial(counted, spread, False), expect_counts)
        for spread in SPREADS
    ),
    *(
        Case(f"histogram_shared, {spread}", "07", histogram.histogram_shared,
             partial(counted, spread, True), expect_counts)
        for spread in SPREADS
    ),
    *(
        Case(f"histogram_racy, {spread}", "07", histogram.histogram_racy,
             partial(counted, spread, False), expect_nothing, finding="race")
        for spread in SPREADS
    ),
    Case("histogram_racy, no two alike", "07", histogram.histogram_racy, different,
         expect_counts, sizes=("small",)),
)  # fmt: skip
