"""A learning-rate range test: walk while the rate grows, until the loss blows up."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gpulearn.judge import compare
from gpulearn.judge.answers import Answers
from gpulearn.judge.exercise import Case, Exercise, Refused
from gpulearn.optim.landscapes import LineFit
from gpulearn.optim.trajectories import range_test
from gpulearn.require import shown

answers = Answers(range_test)

# what stands in the solution
FACTOR = "(highest / lowest) ** (1 / (steps - 1))"
RATE = "lowest * factor**k"
MOVE = "theta - rates[-1] * landscape.gradient(theta)"
STOP = "        if not losses[-1] <= 4 * first:\n            break\n"
LOSS = "        losses.append(landscape.value(theta))\n"

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
    """Blown up slowly, at once, by no number, or never; a loss that rises and falls again."""
    load = np.array([1.0, 2.5, 4.0, 8.0])
    fit = LineFit(load, 12 + 1.5 * load + np.array([0.3, -0.2, 0.1, -0.4]))
    tries: tuple[tuple[str, Any, list[float], float, float, int], ...] = (
        ("a line's fit", fit, [0.0, 0.0], 1e-4, 1.0, 60),
        ("a parabola of one parameter", Parabola(4.0), [3.0], 0.01, 10.0, 30),
        ("three parameters", Parabola(1.0, 9.0, 3.0), [1.0, -2.0, 0.5], 1e-3, 100.0, 25),
        ("rates that all do", Parabola(1.0, 2.0), [2.0, 1.0], 1e-3, 0.1, 7),
        ("a loss that rises by half, and falls again", Parabola(1.0), [2.0], 2.1, 2.4, 5),
        ("a first rate that is too high", Parabola(4.0), [3.0], 5.0, 50.0, 6),
        ("a loss that stops being a number", Logarithm(), [0.5], 0.01, 100.0, 12),
        ("a loss that grows slowly", Parabola(1.0), [2.0], 2.1, 2.1002, 20),
        ("two rates", Parabola(1.0), [1.0], 0.1, 0.2, 2),
        ("a loss of just 4 times the first", Stairs(), [0.0], 0.1, 0.4, 3),
    )
    return [Case(label, (on, np.array(start), *rest)) for label, on, start, *rest in tries]


def run(answer: Callable[..., Any], case: Case) -> tuple[Array, Array]:
    """The rates and losses that an answer returns, as arrays.

    Raises:
        Refused: it returns no two lists of numbers, or changes the start.
    """
    landscape, start, *rest = case.args
    given = start.copy()
    with np.errstate(all="ignore"):
        made = answer(landscape, given, *rest)
    if not np.array_equal(given, start):
        raise Refused("it changes the start that it is given")
    if made is None:
        raise Refused(compare.NOTHING)
    if not isinstance(made, tuple | list) or len(made) != 2:
        raise Refused(f"it returns {shown(made)}, expected two things: the rates and the losses")
    try:
        rates, losses = (np.array(one, dtype=float) for one in made)
    except (TypeError, ValueError):
        raise Refused("what it returns is not two lists of numbers: rates and losses") from None
    if rates.ndim != 1 or losses.ndim != 1:
        raise Refused("what it returns is not two lists of numbers: rates and losses")
    return rates, losses


def difference(got: Any, expected: Any) -> str | None:
    """The first of the two lists that differs, and where."""
    for what, one, other in zip(("rates", "losses"), got, expected, strict=True):
        if one.shape != other.shape:
            return f"it returns {one.size} {what}, expected {other.size}"
        if not np.array_equal(np.isnan(one), np.isnan(other)):
            return f"{what}: other entries are no numbers than expected"
        near = np.isclose(one, other, rtol=1e-6, atol=0, equal_nan=True)
        if not near.all():
            at = int(np.argmin(near))
            return f"{what}, entry {at}: {shown(one[at])}, expected {shown(other[at])}"
    return None


answers.edit(
    {RATE: "lowest + (highest - lowest) * k / (steps - 1)"},
    "the rate grows by equal amounts: from one step to the next it is multiplied by the same "
    "factor.",
)
answers.edit(
    {FACTOR: "(highest / lowest) ** (1 / steps)"},
    "the last rate does not reach highest: between steps rates there are steps − 1 factors.",
)
answers.edit(
    {FACTOR: "(highest / lowest) / (steps - 1)"},
    "the factor is a root: multiplied by itself steps − 1 times it must give highest/lowest.",
)
answers.edit(
    {RATE: "lowest * factor**(k + 1)"}, "the first rate is one factor too high: it is lowest."
)
answers.edit({STOP: ""}, "it never stops: after a loss above 4 times the first one, break.")
answers.edit(
    {"not losses[-1] <= 4 * first": "losses[-1] > 4 * first"},
    "a loss that is no number is not above anything: nan > 4 is False, and the walk goes on. Ask "
    "whether it is *not* at most 4 times the first.",
)
answers.edit(
    {LOSS: STOP.replace("losses[-1]", "landscape.value(theta)"), STOP: LOSS},
    "the loss that is too high is left out: note it, then stop, so that the curve shows the rise.",
)
answers.edit(
    {
        "        rates.append(": "        rate = (",
        MOVE: MOVE.replace("rates[-1]", "rate"),
        LOSS: STOP.replace("losses[-1]", "landscape.value(theta)"),
        STOP: f"        rates.append(rate)\n{LOSS}",
    },
    "the step after which the loss is too high is left out: note its rate and its loss, then stop.",
)
answers.edit(
    {"np.array(rates), np.array(losses)": "np.array(rates)[:-1], np.array(losses)[:-1]"},
    "the last step is cut off, the one after which the loss is too high among them: keep it.",
)
answers.edit(
    {"4 * first": "4 * min(losses)"},
    "that stops at 4 times the lowest loss: it is the loss at the start that counts.",
)
answers.edit(
    {"<= 4 * first": "< 4 * first"},
    "a loss of just 4 times the first is not above it: the walk goes on.",
)
answers.edit(
    {"not losses[-1] <= 4 * first": "losses[-1] > first"},
    "that stops as soon as the loss is above the first one: 4 times as much is asked for.",
)
answers.edit(
    {"not losses[-1] <= 4 * first": "len(losses) > 1 and not losses[-1] <= losses[-2]"},
    "that stops when the loss rises for the first time: it may rise and fall again, so wait until "
    "it is above 4 times the loss at the start.",
)
answers.edit(
    {MOVE: "start - rates[-1] * landscape.gradient(start)"},
    "each step begins at the start again: walk on from where the last one ended.",
)
answers.edit(
    {MOVE: "theta - rates[-1] * landscape.gradient(start)"},
    "the gradient is always that at the start: take it where the walk is.",
)
answers.edit(
    {MOVE: "theta + rates[-1] * landscape.gradient(theta)"}, "that walks uphill: subtract the step."
)
answers.edit(
    {MOVE: "theta - lowest * landscape.gradient(theta)"},
    "each step is made with the lowest rate, whatever is noted: make it with its own.",
)
answers.edit(
    {f"        theta = {MOVE}\n{LOSS}": f"{LOSS}        theta = {MOVE}\n"},
    "each loss is that before its step: step first, then note the loss.",
)
answers.edit(
    {"rates, losses = [], []": "rates, losses = [], [first]"},
    "the loss at the start is in the list as well: there is one loss for each rate, that after its "
    "step.",
)
answers.edit(
    {"return np.array(rates), np.array(losses)": "return np.array(losses), np.array(rates)"},
    "the two results are swapped: rates first, then losses.",
)
answers.edit(
    {"return np.array(rates), np.array(losses)": "return np.array(losses)"},
    "only the losses come back: return the rates and the losses.",
)
answers.edit(
    {f"theta = {MOVE}": "theta -= rates[-1] * landscape.gradient(theta)"},
    "-= changes the start that the caller holds: write theta = theta - …, which makes a new array.",
)


@answers.right
def by_geomspace(landscape: Any, start: Any, lowest: float, highest: float, steps: int) -> Any:
    first, theta, losses = landscape.value(start), start.copy(), []
    rates = np.geomspace(lowest, highest, steps)
    for rate in rates:
        theta -= rate * landscape.gradient(theta)
        losses.append(landscape.value(theta))
        if np.isnan(losses[-1]) or losses[-1] > 4 * first:
            break
    return rates[: len(losses)], losses


@answers.right
def by_multiplying(landscape: Any, start: Any, lowest: float, highest: float, steps: int) -> Any:
    pairs: list[tuple[float, float]] = []
    rate, loss = lowest, landscape.value(start)
    bound, theta = 4 * loss, start
    while len(pairs) < steps and loss <= bound:
        theta = theta - rate * landscape.gradient(theta)
        loss = landscape.value(theta)
        pairs.append((rate, loss))
        rate *= (highest / lowest) ** (1 / (steps - 1))
    return [one for one, _ in pairs], [two for _, two in pairs]


EXERCISE = Exercise(
    task="Walk while the rate grows from lowest to highest; return the rates and the losses.",
    reference=range_test,
    cases=cases,
    run=run,
    difference=difference,
    answers=answers,
)
