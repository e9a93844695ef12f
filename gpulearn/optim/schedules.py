"""Schedules: the learning rate of a step, from the step's number, which counts from 0.

Each is a plain function of numbers. `lambda step: cosine_rate(step, 0.1, steps=500)` fixes all
but the step, for `descend(…, rate=…)`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import TypeVar

from gpulearn import require
from gpulearn.errors import BadInput

__all__ = [
    "constant_rate",
    "cosine_rate",
    "exponential_rate",
    "scaled_learning_rate",
    "step_rate",
    "warm_up_cosine_rate",
    "warm_up_rate",
]

F = TypeVar("F", bound=Callable[..., float])


def _schedule(function: F) -> F:
    """Check a schedule's step and rate before each call."""
    checked = require.positive(or_zero=("rate",))(function)
    return require.checked(step=partial(require.from_zero, "step"))(checked)  # type: ignore[return-value]


@_schedule
def constant_rate(step: int, rate: float) -> float:
    """The same rate for every step.

    >>> [constant_rate(step, 0.5) for step in range(3)]
    [0.5, 0.5, 0.5]
    """
    return rate


@require.positive("factor")
@require.sizes("every")
@_schedule
def step_rate(step: int, rate: float, every: int, factor: float = 0.1) -> float:
    """A staircase: the rate is multiplied by `factor` after every `every` steps.

    η · factor^⌊step/every⌋. Equals `torch.optim.lr_scheduler.StepLR`.

    Raises:
        BadInput: a number is out of its range.

    >>> [step_rate(step, 1.0, every=2, factor=0.5) for step in range(6)]
    [1.0, 1.0, 0.5, 0.5, 0.25, 0.25]
    """
    return rate * factor ** (step // every)


@require.positive("factor")
@_schedule
def exponential_rate(step: int, rate: float, factor: float) -> float:
    """The rate is multiplied by `factor` after every step.

    η · factor^step. Equals `torch.optim.lr_scheduler.ExponentialLR`.

    Raises:
        BadInput: a number is out of its range.

    >>> [exponential_rate(step, 1.0, factor=0.5) for step in range(4)]
    [1.0, 0.5, 0.25, 0.125]
    """
    return rate * factor**step


@require.positive(or_zero=("lowest",))
@require.sizes("steps")
@_schedule
def cosine_rate(step: int, rate: float, steps: int, lowest: float = 0.0) -> float:
    """Half a wave of the cosine, from `rate` down to `lowest` after `steps` steps.

    lowest + ½·(η − lowest)·(1 + cos(π·step/steps)); from then on `lowest`. Equals
    `torch.optim.lr_scheduler.CosineAnnealingLR`, which goes up again after `steps`.

    Loshchilov, Hutter, "SGDR: stochastic gradient descent with warm restarts",
    arXiv 1608.03983, 2016.

    Raises:
        BadInput: a number is out of its range.

    >>> [round(cosine_rate(step, 1.0, steps=4), 3) for step in range(6)]
    [1.0, 0.854, 0.5, 0.146, 0.0, 0.0]
    """
    done = min(step / steps, 1.0)
    return lowest + (rate - lowest) * (1 + math.cos(math.pi * done)) / 2


@require.sizes("warm_up")
@_schedule
def warm_up_rate(step: int, rate: float, warm_up: int) -> float:
    """Grow in equal parts to `rate`, which step number `warm_up` − 1 is the first to have.

    η · min(1, (step + 1)/warm_up). Equals `torch.optim.lr_scheduler.LinearLR` with
    `start_factor=1/warm_up` and `total_iters=warm_up - 1`.

    Goyal et al., "Accurate, large minibatch SGD: training ImageNet in 1 hour",
    arXiv 1706.02677, 2017, section 2.2.

    Raises:
        BadInput: a number is out of its range.

    >>> [warm_up_rate(step, 1.0, warm_up=4) for step in range(6)]
    [0.25, 0.5, 0.75, 1.0, 1.0, 1.0]
    """
    return rate * min(1.0, (step + 1) / warm_up)


@require.positive(or_zero=("lowest",))
@require.sizes("warm_up", "steps")
@_schedule
def warm_up_cosine_rate(
    step: int, rate: float, warm_up: int, steps: int, lowest: float = 0.0
) -> float:
    """Grow to `rate` in `warm_up` steps, then fall along a cosine to `lowest` at step `steps`.

    `warm_up_rate`, then `cosine_rate` over the steps that are left.

    Raises:
        BadInput: a number is out of its range, or no step is left after the warm-up.

    >>> [round(warm_up_cosine_rate(step, 1.0, warm_up=2, steps=6), 3) for step in range(7)]
    [0.5, 1.0, 1.0, 0.854, 0.5, 0.146, 0.0]
    """
    if warm_up >= steps:
        raise BadInput(f"warm_up is {warm_up} of {steps} steps: leave some for the way down.")
    if step < warm_up:
        return warm_up_rate(step, rate, warm_up)
    return cosine_rate(step - warm_up, rate, steps - warm_up, lowest)


@require.positive("factor")
@require.checked(warm_up=partial(require.from_zero, "warm_up"))
@_schedule
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
