"""The learning-rate range test: try growing rates on one descent, and see where it breaks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gpulearn import require
from gpulearn.errors import BadInput
from gpulearn.optim.landscapes import Landscape
from gpulearn.optim.schedules import exponential_rate
from gpulearn.optim.step_rules import Array, StepRule
from gpulearn.optim.trajectories import descend

__all__ = ["RangeTest", "rate_range_test"]

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
    >>> from gpulearn.optim.surfaces import surface
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
        rate=lambda number: exponential_rate(number, lowest, factor),
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
