"""How well more ranks pay: efficiency and Amdahl's law."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from gpulearn import require
from gpulearn.errors import BadInput
from gpulearn.require import shown

__all__ = ["Amdahl", "fit_amdahl", "scaling_efficiency"]

KINDS = ("strong", "weak")


def _kind(given: dict[str, Any]) -> None:
    given["kind"] = require.choice("kind", given["kind"], KINDS)


@require.positive("seconds_one", "seconds_many")
@require.sizes("ranks")
@require.together(_kind)
def scaling_efficiency(
    seconds_one: float, seconds_many: float, ranks: int, kind: str = "strong"
) -> float:
    """The part of N ranks' work that is not lost; 1 is perfect.

    Strong scaling shares one problem among the ranks: T₁ / (N · T_N). Weak scaling gives each
    rank as much as one rank had alone: T₁ / T_N.

    Args:
        seconds_one: of one rank.
        seconds_many: of N ranks.
        ranks: N.
        kind: "strong" or "weak".

    Raises:
        BadInput: a number is not above zero, or there is no such kind.

    >>> scaling_efficiency(8.0, 2.5, ranks=4)
    0.8
    >>> scaling_efficiency(8.0, 10.0, ranks=4, kind="weak")
    0.8
    """
    speedup = seconds_one / seconds_many
    return speedup / ranks if kind == "strong" else speedup


class Amdahl(NamedTuple):
    """T(N) = T₁ · (s + (1 − s) / N): what cannot be shared stays as long as it is.

    Amdahl, "Validity of the single processor approach to achieving large scale computing
    capabilities", AFIPS Spring Joint Computer Conference, 1967.

    Attributes:
        serial: s, the part that ranks cannot share, between 0 and 1.
        one: T₁, seconds of one rank.

    >>> law = Amdahl(serial=0.1, one=10.0)
    >>> law.seconds(3), law.speedup(9), law.limit
    (4.0, 5.0, 10.0)
    """

    serial: float
    one: float

    def seconds(self, ranks: int) -> float:
        """T(N)."""
        return self.one * (self.serial + (1 - self.serial) / require.whole("ranks", ranks))

    def speedup(self, ranks: int) -> float:
        """T₁ / T(N)."""
        return self.one / self.seconds(ranks)

    @property
    def limit(self) -> float:
        """The speed-up that no number of ranks exceeds: 1/s."""
        return 1 / self.serial if self.serial else float("inf")


@require.same_length("ranks", "seconds")
def fit_amdahl(ranks: Sequence[int], seconds: Sequence[float]) -> Amdahl:
    """Fit Amdahl's law to measured times, by least squares of the relative errors.

    T(N) = a + b/N with a and b not below zero; s = a / (a + b).

    Args:
        ranks: how many ranks each measurement had.
        seconds: the time that each took.

    Raises:
        BadInput: the lists differ in length, fewer than two numbers of ranks are different, or
            a time is not above zero.

    >>> law = fit_amdahl([1, 2, 4], [10.0, 6.0, 4.0])
    >>> f"{law.serial:.2f} of {law.one:.1f} s"
    '0.20 of 10.0 s'
    """
    counts = [require.whole("an entry of ranks", count) for count in ranks]
    for value in seconds:
        require.above_zero("an entry of seconds", value)
    if len(set(counts)) < 2:
        raise BadInput(f"ranks is {shown(counts)}: give at least two different numbers.")
    times = np.asarray(seconds, dtype=float)
    rows = np.stack([np.ones(len(counts)), 1 / np.asarray(counts, dtype=float)], axis=1)
    rows = rows / times[:, None]
    fixed, shared = np.linalg.lstsq(rows, np.ones(len(times)))[0]
    if fixed < 0 or shared < 0:  # the best with both from zero has one of them at zero
        alone = rows.sum(axis=0) / (rows**2).sum(axis=0)
        errors = ((rows * alone - 1) ** 2).sum(axis=0)
        fixed, shared = np.where(np.arange(2) == errors.argmin(), alone, 0.0)
    return Amdahl(float(fixed / (fixed + shared)), float(fixed + shared))
