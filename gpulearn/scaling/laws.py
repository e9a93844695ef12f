"""How well more ranks pay: efficiency, Amdahl's law, and the learning rate of a larger batch."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from gpulearn import _require
from gpulearn._require import shown
from gpulearn.errors import BadInput

__all__ = ["Amdahl", "fit_amdahl", "scaled_learning_rate", "scaling_efficiency"]

KINDS = ("strong", "weak")


def _kind(given: dict[str, Any]) -> None:
    given["kind"] = _require.choice("kind", given["kind"], KINDS)


@_require.positive("seconds_one", "seconds_many")
@_require.sizes("ranks")
@_require.together(_kind)
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
        return self.one * (self.serial + (1 - self.serial) / _require.whole("ranks", ranks))

    def speedup(self, ranks: int) -> float:
        """T₁ / T(N)."""
        return self.one / self.seconds(ranks)

    @property
    def limit(self) -> float:
        """The speed-up that no number of ranks exceeds: 1/s."""
        return 1 / self.serial if self.serial else float("inf")


@_require.same_length("ranks", "seconds")
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
    counts = [_require.whole("an entry of ranks", count) for count in ranks]
    for value in seconds:
        _require.above_zero("an entry of seconds", value)
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


def _step_number(given: dict[str, Any]) -> None:
    for name in ("step", "warm_up"):
        try:
            number = -1 if isinstance(given[name], bool) else operator.index(given[name])
        except TypeError:
            number = -1
        if number < 0:
            raise BadInput(f"{name} is {shown(given[name])}: give a whole number from 0.")
        given[name] = number


@_require.positive("rate", "factor")
@_require.together(_step_number)
def scaled_learning_rate(step: int, rate: float, factor: float, warm_up: int = 0) -> float:
    """The learning rate of a batch that is `factor` times as large: the linear scaling rule.

    η · factor: one step of the large batch stands for `factor` steps of the small one. Early
    on, when the weights change fast, that does not hold; so the rate grows from η in equal
    parts, and reaches η · factor at step number `warm_up`. Goyal et al., "Accurate, large
    minibatch SGD: training ImageNet in 1 hour", arXiv 1706.02677, 2017, sections 2.1 and 2.2.

    Args:
        step: number of the step, from 0.
        rate: η, that of the small batch.
        factor: how many times as large the batch is: N, if each of N ranks has what one had.
        warm_up: how many steps the rate grows.

    Raises:
        BadInput: a number is out of range.

    >>> [scaled_learning_rate(step, 0.5, factor=5, warm_up=4) for step in range(6)]
    [0.5, 1.0, 1.5, 2.0, 2.5, 2.5]
    """
    target = rate * factor
    if step >= warm_up:
        return target
    return rate + (target - rate) * step / warm_up
