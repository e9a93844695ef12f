"""A descent as data: where each step led, and which learning rates a surface bears."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpulearn import require
from gpulearn.errors import BadInput
from gpulearn.optim.landscapes import Landscape
from gpulearn.optim.schedules import exponential_rate
from gpulearn.optim.step_checks import Array, StepRule

__all__ = ["RangeTest", "Trajectory", "descend", "rate_range_test"]

DIVERGED = 1e12  # a loss above this, on surfaces whose losses are about one, does not come back


@dataclass(frozen=True)
class Trajectory:
    """The path of one descent of T steps.

    Attributes:
        points: the parameters, (T + 1, n), the start first.
        values: the loss at each point, (T + 1,).
        gradient_norms: the length of the gradient at each point, (T + 1,).
        rates: the learning rate of each step, (T,).
        diverged: whether the descent was stopped because its loss left all bounds. T is then
            less than was asked for. Every number that is kept is finite.
    """

    points: Array
    values: Array
    gradient_norms: Array
    rates: Array
    diverged: bool

    @property
    def steps(self) -> int:
        """How many steps were made."""
        return len(self.rates)

    @property
    def outcome(self) -> str:
        """How it ended, in one sentence."""
        made = f"{self.steps} step{'s' * (self.steps != 1)}"
        if self.diverged and not self.steps:
            return (
                f"Diverged at once: the first step took the loss from {self.values[0]:.3g} beyond "
                "all bounds."
            )
        if self.diverged:
            return (
                f"Diverged after {made}: the loss rose from {self.values[0]:.3g} to "
                f"{self.values[-1]:.3g}, and the next would be beyond all bounds."
            )
        return f"{made} took the loss from {self.values[0]:.3g} to {self.values[-1]:.3g}."


@require.sizes("steps")
def descend(
    landscape: Landscape,
    start: Any,
    step: StepRule,
    *,
    lr: float | Callable[[int], float],
    steps: int,
    **options: float,
) -> Trajectory:
    """Walk down a landscape with a step function, and record the path.

    The descent stops, and says so, where the loss is no longer a number or above 10¹².

    Args:
        landscape: has `value` and `gradient`, such as a `Surface`.
        start: the first point, (n,).
        step: a step function, such as `adam_step`.
        lr: the learning rate, or a schedule: a function of the step's number, from 0.
        steps: how many steps to make.
        options: more arguments of the step function, such as `momentum=0.9`.

    Raises:
        BadInput: an argument is out of its range, or the loss at the start is not finite.

    >>> from gpulearn.optim.optimizers import gradient_step
    >>> from gpulearn.optim.landscapes import surface
    >>> path = descend(surface("bowl"), [4.0, 0.0], gradient_step, lr=0.5, steps=3)
    >>> path.points[:, 0].tolist(), path.outcome
    ([4.0, 2.0, 1.0, 0.5], '3 steps took the loss from 8 to 0.125.')
    """
    theta: Array = np.array(require.real_array("start", start))
    if theta.ndim != 1 or not theta.size:
        raise BadInput(f"start has shape {theta.shape}: give a point of shape (n,), such as [0.0].")
    state: Any = None
    value, gradient = landscape.value(theta), landscape.gradient(theta)
    if not (np.isfinite(value) and np.isfinite(gradient).all()):
        raise BadInput(f"the loss at start, {theta.tolist()}, is {value}: begin elsewhere.")
    points, values, norms, rates = [theta], [value], [np.linalg.norm(gradient)], []
    diverged = False
    with np.errstate(all="ignore"):  # a descent that diverges overflows, and is stopped below
        for number in range(steps):
            now = lr(number) if callable(lr) else lr
            theta, state = step(theta, gradient, state, lr=now, **options)
            value, gradient = landscape.value(theta), landscape.gradient(theta)
            norm = np.linalg.norm(gradient)
            diverged = not (np.isfinite([*theta, value, norm]).all() and value < DIVERGED)
            if diverged:
                break
            points.append(theta)
            values.append(value)
            norms.append(norm)
            rates.append(float(now))
    return Trajectory(
        np.array(points), np.array(values), np.array(norms), np.array(rates), diverged
    )


BLOWN_UP = 4.0  # times the loss at the start
CAUTION = 10.0  # the suggestion is this much below the rate at which the loss was lowest


@dataclass(frozen=True)
class RangeTest:
    """What a range test saw.

    Attributes:
        rates: the rates that were tried, ascending, (T,).
        losses: the loss after each step, (T,).
        blew_up: whether the loss rose beyond bounds; if not, the test did not go far enough.
    """

    rates: Array
    losses: Array
    blew_up: bool

    @property
    def suggested(self) -> float:
        """A tenth of the rate at which the loss was lowest."""
        return float(self.rates[self.losses.argmin()]) / CAUTION


@require.positive("lowest", "highest")
@require.sizes("steps")
def rate_range_test(
    landscape: Landscape,
    start: Any,
    step: StepRule,
    *,
    lowest: float = 1e-4,
    highest: float = 10.0,
    steps: int = 100,
    **options: float,
) -> RangeTest:
    """Descend once while the rate grows from `lowest` to `highest`, until the loss blows up.

    The rate grows by the same factor each step. The loss falls as long as the rate suits, and
    blows up a little after it does not: the test ends where the loss is more than four times
    that at the start.

    Smith, "Cyclical learning rates for training neural networks", arXiv 1506.01186, 2015,
    section 3.3, where the rate grows by equal amounts.

    Args:
        landscape: has `value` and `gradient`, such as a `Surface`.
        start: the first point, (n,).
        step: a step function, such as `momentum_step`.
        lowest: the first rate.
        highest: the rate of the last step, if it comes to that.
        steps: how many rates to try, 2 or more.
        options: more arguments of the step function.

    Raises:
        BadInput: a number is out of its range, or the very first step blows up.

    >>> from gpulearn.optim.optimizers import gradient_step
    >>> from gpulearn.optim.landscapes import surface
    >>> test = rate_range_test(surface("ravine"), [-4.0, 1.0], gradient_step)
    >>> test.blew_up, 0.01 < test.suggested < surface("ravine").largest_stable_step
    (True, True)
    """
    if steps < 2 or lowest >= highest:
        raise BadInput(
            f"lowest is {lowest:g}, highest {highest:g}, steps {steps}: give two or more steps "
            f"that go up."
        )
    factor = (highest / lowest) ** (1 / (steps - 1))
    path = descend(
        landscape,
        start,
        step,
        lr=lambda number: exponential_rate(number, lowest, factor),
        steps=steps,
        **options,
    )
    first, losses = path.values[0], path.values[1:]
    too_high = losses > first + (BLOWN_UP - 1) * abs(first)
    tried = int(too_high.argmax()) if too_high.any() else path.steps
    if tried == 0:
        raise BadInput(f"the loss blows up at once, with a rate of {lowest:g}: begin lower.")
    # the loss that is too high is kept, so that a picture shows the rise
    kept = min(tried + 1, path.steps)
    return RangeTest(path.rates[:kept], losses[:kept], bool(path.diverged or too_high.any()))
