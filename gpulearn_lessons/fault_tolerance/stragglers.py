"""The rank that makes all others wait, found from compute and waiting times."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gpulearn.errors import BadInput

Times = Sequence[Sequence[float]] | np.ndarray[Any, Any]


def find_the_straggler(compute: Times, wait: Times, times: float = 1.2) -> int | None:
    """The rank that is slow in most steps, or None if there is none.

    An all-reduce in each step makes the steps equally long on all ranks: one rank computes, and
    the others wait for it. So only the time before the collective tells. A rank's usual time is
    the median over its steps, which a hiccup does not change. It is compared with the median of
    the other ranks' usual times, which the straggler does not change.

    Args:
        compute: seconds before the collective, of shape (steps, ranks).
        wait: seconds in the collective, of the same shape.
        times: a straggler computes more than this many times as long as the others.

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
