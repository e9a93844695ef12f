"""A learning-rate range test: descend while the rate grows, until the loss blows up."""

from collections.abc import Callable
from typing import Any

import numpy as np

from gpulearn.judge import compare
from gpulearn.judge.exercise import Case, Exercise, Violation
from gpulearn.optim.landscapes import LineFit
from gpulearn.optim.trajectories import range_test
from gpulearn.require import shown

Array = np.ndarray[Any, Any]


class Parabola:
    """Σ cᵢ·xᵢ² + 1, in any number of parameters."""

    def __init__(self, *curvatures: float) -> None:
        self.c = np.array(curvatures) / 2

    def value(self, theta: Array) -> float:
        return float((self.c * theta**2).sum()) + 1

    def gradient(self, theta: Array) -> Array:
        return 2 * self.c * theta


class Logarithm:
    """x − 2·log x, for which there is no number where x is not above zero."""

    def value(self, theta: Array) -> float:
        return float((theta - 2 * np.log(theta)).sum())

    def gradient(self, theta: Array) -> Array:
        return 1 - 2 / theta


class Stairs:
    """1 at zero and 4 elsewhere, whatever the rate."""

    def value(self, theta: Array) -> float:
        return 4.0 if theta.any() else 1.0

    def gradient(self, theta: Array) -> Array:
        return np.ones_like(theta)


def cases() -> list[Case]:
    """Losses that blow up slowly, at once, or never, become nan, or rise and fall again."""
    load = np.array([1.0, 2.5, 4.0, 8.0])
    fit = LineFit(load, 12 + 1.5 * load + np.array([0.3, -0.2, 0.1, -0.4]))
    tries: tuple[tuple[str, Any, list[float], float, float, int], ...] = (
        ("a line's fit", fit, [0.0, 0.0], 1e-4, 1.0, 60),
        ("a parabola of one parameter", Parabola(4.0), [3.0], 0.01, 10.0, 30),
        ("three parameters", Parabola(1.0, 9.0, 3.0), [1.0, -2.0, 0.5], 1e-3, 100.0, 25),
        ("rates that are all stable", Parabola(1.0, 2.0), [2.0, 1.0], 1e-3, 0.1, 7),
        ("a loss that rises by half, and falls again", Parabola(1.0), [2.0], 2.1, 2.4, 5),
        ("a first rate that is too high", Parabola(4.0), [3.0], 5.0, 50.0, 6),
        ("a loss that becomes nan", Logarithm(), [0.5], 0.01, 100.0, 12),
        ("a loss that grows slowly", Parabola(1.0), [2.0], 2.1, 2.1002, 20),
        ("two rates", Parabola(1.0), [1.0], 0.1, 0.2, 2),
        ("a loss of exactly 4 times the first", Stairs(), [0.0], 0.1, 0.4, 3),
    )
    return [Case(label, (on, np.array(start), *rest)) for label, on, start, *rest in tries]


def run(answer: Callable[..., Any], case: Case) -> tuple[Array, Array]:
    landscape, start, *rest = case.args
    copy = start.copy()
    with np.errstate(all="ignore"):
        pair = answer(landscape, copy, *rest)
    if not np.array_equal(copy, start):
        raise Violation("it changes the start that it is given")
    if pair is None:
        raise Violation(compare.NOTHING)
    if not isinstance(pair, tuple | list) or len(pair) != 2:
        raise Violation(f"it returns {shown(pair)}, expected two results: the rates and the losses")
    try:
        rates, losses = (np.array(column, dtype=float) for column in pair)
    except (TypeError, ValueError):
        raise Violation("what it returns is not two lists of numbers: rates and losses") from None
    if rates.ndim != 1 or losses.ndim != 1:
        raise Violation("what it returns is not two lists of numbers: rates and losses")
    return rates, losses


def difference(got: Any, expected: Any) -> str | None:
    for what, one, other in zip(("rates", "losses"), got, expected, strict=True):
        if one.shape != other.shape:
            return f"it returns {one.size} {what}, expected {other.size}"
        if not np.array_equal(np.isnan(one), np.isnan(other)):
            return f"{what}: nan is not where it is expected"
        near = np.isclose(one, other, rtol=1e-6, atol=0, equal_nan=True)
        if not near.all():
            at = int(np.argmin(near))
            return f"{what}, entry {at}: {shown(one[at])}, expected {shown(other[at])}"
    return None


EXERCISE = Exercise(
    task="Descend while the rate grows from lowest to highest; return the rates and the losses.",
    reference=range_test,
    cases=cases,
    run=run,
    difference=difference,
)
