"""The spring of notebooks 10 and 11: its length under forty loads, from a random generator."""

from __future__ import annotations

from typing import Any

import numpy as np

Vector = np.ndarray[tuple[int], Any]


def spring() -> tuple[Vector, Vector]:
    """Forty loads on a spring in newtons, ascending from 1 to 9, and its length under each, in cm.

    The spring is 12 cm long and stretches by 1.5 cm for each newton; a measurement is off by
    0.5 cm, the standard deviation of a normal distribution. The numbers are always the same.

    >>> load, length = spring()
    >>> load[:2].round(2), length[:2].round(2)
    (array([2.09, 2.09]), array([15.43, 15.01]))
    """
    rng = np.random.default_rng(10)
    load = np.sort(rng.uniform(1, 9, 40))
    return load, 12 + 1.5 * load + rng.normal(0, 0.5, 40)
