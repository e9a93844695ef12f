"""Work for a GPU that takes longer than its data's way through memory: many steps on each number.

The logistic map x → r·x·(1 − x) says how large a population is in the next season, as a share of
the most that its land can feed. Source: R. M. May, "Simple mathematical models with very
complicated dynamics", Nature 261 (1976).
"""

from __future__ import annotations

from gpulearn import cuda
from gpulearn.kernels.indexing import blocks_over
from gpulearn.kernels.specification import Array, Specification

GROWTH, SEASONS = 3.7, 40


@cuda.jit
def after_seasons(populations: Array) -> None:
    """Each population after `SEASONS` seasons, a thread for each, in place.

    `populations` is float64 (n,), from 0 to 1, since a difference grows from season to season.

    Launch: one-dimensional, with at least n threads.
    Cost: 3·`SEASONS` operations for each number, which is read and written once.

    >>> import numpy as np
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


def seasons(populations: Array) -> tuple[Array]:
    """What `after_seasons` must leave."""
    for _ in range(SEASONS):
        populations = GROWTH * populations * (1 - populations)
    return (populations,)


AFTER_SEASONS = Specification(after_seasons, seasons, grid=blocks_over(0), block=128, updated=(0,))
