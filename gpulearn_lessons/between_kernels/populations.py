"""Work for a GPU that takes longer than its data's way through memory: many steps on each number.

The logistic map x → r·x·(1 − x) says how large a population is in the next season, as a share of
the most that its land can feed. Source: R. M. May, "Simple mathematical models with very
complicated dynamics", Nature 261 (1976).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gpulearn import cuda
from gpulearn.kernels.specification import Specification, blocks_along

__all__ = ["AFTER_SEASONS", "GROWTH", "SEASONS", "after_seasons"]

Vector = np.ndarray[tuple[int], Any]

GROWTH, SEASONS = 3.7, 40


@cuda.jit
def after_seasons(populations: Vector) -> None:
    """Each population after `SEASONS` seasons, a thread for each, in place.

    In float64, since a difference grows from season to season.

    Args:
        populations: float64, shape (n,), from 0 to 1.

    Launch: one-dimensional, with at least n threads. Cost: 3·`SEASONS` operations for each
    number, which is read and written once.

    >>> populations = np.array([0.0, 1 - 1 / GROWTH])  # two that never change
    >>> after_seasons[1, 32](populations)
    >>> populations.round(6)
    array([0.     , 0.72973])
    """
    i = cuda.grid(1)
    if i < populations.size:
        x = populations[i]
        for _ in range(SEASONS):
            x = GROWTH * x * (1 - x)
        populations[i] = x


def seasons(populations: Vector) -> tuple[Vector]:
    """What `after_seasons` must leave."""
    for _ in range(SEASONS):
        populations = GROWTH * populations * (1 - populations)
    return (populations,)


AFTER_SEASONS = Specification(
    after_seasons,
    seasons,
    grid=lambda populations, block: blocks_along(populations.size, block),
    block=128,
    updated=(0,),
)
