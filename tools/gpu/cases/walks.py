"""Gradient descent from many starts: notebook 10."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from gpulearn.kernels.descent import MINIMA, descend_all, descend_all_numpy
from gpulearn.kernels.specification import poisoned
from tools.gpu.case import Case, Shot
from tools.gpu.cases.arrays import PERIOD, repeated

__all__ = ["CASES"]

Array = np.ndarray[Any, Any]
Expected = dict[int, Array]
BLOCK = 128
MOST = 300
STARTS = {"small": 2003, "large": 2**22}


def starts(n: int) -> tuple[Array, Array]:
    """Points around the minima, far from the borders between their basins.

    On a border the last bit decides, and a GPU, which rounds once where NumPy rounds twice,
    may end elsewhere.
    """
    rng = np.random.default_rng(0)
    count = min(n, PERIOD)
    there = np.array(MINIMA)[rng.integers(0, 4, count)] + rng.uniform(-0.4, 0.4, (count, 2))
    x, y = there.T.astype(np.float32)
    return repeated(x, n), repeated(y, n)


def walk(rate: float, momentum: float, size: str) -> Shot:
    n = STARTS[size]
    x, y = starts(n)
    settings = (np.float32(rate), np.float32(momentum), MOST)
    basin, taken = poisoned(n, dtype=np.int32), poisoned(n, dtype=np.int32)
    return Shot(-(-n // BLOCK), BLOCK, (x, y, *settings, basin, taken))


def expect_walk(
    x: Array, y: Array, rate: Any, momentum: Any, most: int, basin: Array, taken: Array
) -> Expected:
    once = slice(None, PERIOD)  # beyond it the starts come again
    found = descend_all_numpy(x[once], y[once], float(rate), float(momentum), most)
    return {5: repeated(found[0], x.size), 6: repeated(found[1], x.size)}


# The number of the basin is exact within it: one of 0 to 3. The number of steps may differ by
# the step in which a height falls below the limit.
STEPS = 0.05
CASES = (
    Case("descend_all, plain", "10", descend_all, partial(walk, 0.01, 0.0), expect_walk, STEPS),
    Case("descend_all, momentum", "10", descend_all, partial(walk, 0.003, 0.8), expect_walk, STEPS),
)
