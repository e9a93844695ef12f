"""Gradient descent from many starts: notebook 11."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from gpulearn.kernels.descent import DESCEND_ALL, DESCEND_ON_GPU, MINIMA
from gpulearn.kernels.specification import Specification, poisoned
from tools.gpu.case import Case
from tools.gpu.cases.arrays import PERIOD, repeated

__all__ = ["CASES"]

Array = np.ndarray[Any, Any]
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


def walk(rate: float, momentum: float, size: str) -> tuple[Any, ...]:
    n = STARTS[size]
    x, y = starts(n)
    settings = (np.float32(rate), np.float32(momentum), MOST)
    basin, taken = poisoned(n, dtype=np.int32), poisoned(n, dtype=np.int32)
    return x, y, *settings, basin, taken


def walk_to_an_end(size: str) -> tuple[Any, ...]:
    n = STARTS[size]
    return *starts(n), np.float32(0.01), 100, poisoned(n), poisoned(n)


def once(walks: Specification) -> Specification:
    """With a reference that walks from each start once: after PERIOD of them they come again."""

    def repeating(x: Array, y: Array, *more: Any) -> tuple[Array, ...]:
        found = walks.reference(x[:PERIOD], y[:PERIOD], *more)
        return tuple(repeated(part, x.size) for part in found)

    return replace(walks, reference=repeating)


# The number of the basin is exact within it: one of 0 to 3. The number of steps may differ by
# the step in which a height falls below the limit.
STEPS = 0.05
WALK = once(DESCEND_ALL)
CASES = (
    Case.of(WALK, "plain", "11", partial(walk, 0.01, 0.0), STEPS),
    Case.of(WALK, "momentum", "11", partial(walk, 0.003, 0.8), STEPS),
    Case.of(once(DESCEND_ON_GPU), "to an end", "11", walk_to_an_end, 1e-5),
)
