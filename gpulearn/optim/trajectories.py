"""A descent as data: where each step led, and which learning rates stay stable."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpulearn import require
from gpulearn.errors import BadInput
from gpulearn.optim.landscapes import Landscape
from gpulearn.optim.step_checks import Array, StepRule

DIVERGED = 1e12  # a loss above this, on surfaces whose losses are about one, does not come back


@dataclass(frozen=True)
class Trajectory:
    """The path of one descent of T steps."""

    points: Array  # the parameters, (T + 1, n), the start first
    values: Array  # the loss at each point, (T + 1,)
    # whether the descent was stopped because its loss left all bounds. T is then less than was
    # asked for. Every number that is kept is finite.
    diverged: bool

    @property
    def steps(self) -> int:
        """How many steps were made."""
        return len(self.values) - 1

    @property
    def outcome(self) -> str:
        """How it ended, in one sentence."""
        steps = f"{self.steps} step{'s' * (self.steps != 1)}"
        first, last = f"{self.values[0]:.3g}", f"{self.values[-1]:.3g}"
        if self.diverged and not self.steps:
            return f"Diverged at once: the first step took the loss from {first} beyond all bounds."
        if self.diverged:
            return (
                f"Diverged after {steps}: the loss rose from {first} to {last}, and the next would "
                f"be beyond all bounds."
            )
        return f"{steps} took the loss from {first} to {last}."


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

    The landscape has `value` and `gradient`, such as a `Surface`; the start is (n,); the step is a
    step function, such as `adam_step`, and `options` are its, such as `momentum=0.9`; `lr` is the
    learning rate, or a schedule: a function of the step's number, from 0.

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
    points, values = [theta], [value]
    diverged = False
    with np.errstate(all="ignore"):  # a descent that diverges overflows, and is stopped below
        for number in range(steps):
            rate = lr(number) if callable(lr) else lr
            theta, state = step(theta, gradient, state, lr=rate, **options)
            value, gradient = landscape.value(theta), landscape.gradient(theta)
            norm = np.linalg.norm(gradient)
            diverged = not (np.isfinite([*theta, value, norm]).all() and value < DIVERGED)
            if diverged:
                break
            points.append(theta)
            values.append(value)
    return Trajectory(np.array(points), np.array(values), diverged)


def _check_range(args: dict[str, Any]) -> None:
    lowest, highest, steps = args["lowest"], args["highest"], args["steps"]
    args["start"] = require.real_array("start", args["start"])
    if steps < 2 or lowest >= highest:
        raise BadInput(
            f"lowest is {lowest:g}, highest {highest:g}, steps {steps}: give two or more "
            f"steps that go up."
        )
    first = args["landscape"].value(args["start"])
    if not 0 < first < math.inf:
        raise BadInput(
            f"the loss at the start is {first:g}: it must be above zero and "
            f"finite, so that four times as much says something."
        )


@require.positive("lowest", "highest")
@require.sizes("steps")
@require.together(_check_range)
@np.errstate(all="ignore")  # the loss is to blow up
def range_test(
    landscape: Landscape, start: Array, lowest: float, highest: float, steps: int
) -> tuple[Array, Array]:
    """Walk down once while the rate grows from `lowest` to `highest`, until the loss blows up.

    The rate grows by the same factor in each step. The walk ends with the step after which the
    loss is more than four times that at the start, or no number. Returned are the rate of each step
    that was made, and the loss after it, (T,) each.

    Smith, "Cyclical learning rates for training neural networks", arXiv 1506.01186, 2015,
    section 3.3, where the rate grows by equal amounts.

    >>> from gpulearn.optim.landscapes import surface
    >>> rates, losses = range_test(surface("bowl"), [2.0, 0.0], 0.01, 100.0, steps=6)
    >>> rates.round(2).tolist(), losses.round(1).tolist()
    ([0.01, 0.06, 0.4, 2.51, 15.85], [2.0, 1.7, 0.6, 1.4, 314.2])
    """
    factor = (highest / lowest) ** (1 / (steps - 1))
    theta, first = start, landscape.value(start)
    rates, losses = [], []
    for k in range(steps):
        rates.append(lowest * factor**k)
        theta = theta - rates[-1] * landscape.gradient(theta)
        losses.append(landscape.value(theta))
        if not losses[-1] <= 4 * first:
            break
    return np.array(rates), np.array(losses)
