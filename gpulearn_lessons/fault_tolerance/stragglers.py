"""The rank that makes all others wait, found from what each computes and how long it waits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gpulearn.errors import BadInput

Times = Sequence[Sequence[float]] | np.ndarray[Any, Any]


def find_the_straggler(compute: Times, wait: Times, times: float = 1.2) -> int | None:
    """The rank that is slow in most steps, or None if there is none.

    With an all-reduce in each step all steps take as long on all ranks: one computes long, and
    the others wait for it. So only the time before the collective tells. A rank's usual time is
    the median over the steps, which a hiccup does not move; it is held against the median of the
    other ranks' usual times, which the straggler does not move.

    Args:
        compute: seconds before the collective, of shape (steps, ranks).
        wait: seconds in the collective, of the same shape.
        times: how many times as long as usual a straggler computes, more than that.

    >>> find_the_straggler([[1.0, 1.5], [1.0, 1.5]], [[0.5, 0.0], [0.5, 0.0]])
    1
    >>> find_the_straggler([[1.0, 1.0], [1.0, 9.0], [1.0, 1.0]], [[0.0, 0.0]] * 3) is None
    True
    """
    seconds, waited = np.asarray(compute, float), np.asarray(wait, float)
    if seconds.shape != waited.shape or seconds.ndim != 2 or seconds.shape[1] < 2:
        raise BadInput(
            f"compute has shape {seconds.shape} and wait {waited.shape}: give both of shape "
            f"(steps, ranks), with two ranks or more."
        )
    usual = np.median(seconds, axis=0)
    slowest = int(np.argmax(usual))
    others = np.median(np.delete(usual, slowest))
    return slowest if usual[slowest] > times * others else None
