"""Schedules: the learning rate of a step, from the step's number, from 0, or from the loss.

`lambda step: cosine_rate(step, 0.1, steps=500)` fixes all but the step, for `descend(…, lr=…)`.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from gpulearn import require
from gpulearn.errors import BadInput
from gpulearn.optim.step_checks import Array

PROGRESS = 1e-4  # how far below the best a loss must be, relative to it


@require.positive(or_zero=("lr", "lowest"))
@require.sizes("steps")
def cosine_rate(step: int, lr: float, steps: int, lowest: float = 0.0) -> float:
    """Half a wave of the cosine, from `lr` down to `lowest` after `steps` steps.

    lowest + ½·(η − lowest)·(1 + cos(π·step/steps)); from then on `lowest`. Equals
    `torch.optim.lr_scheduler.CosineAnnealingLR`, which goes up again after `steps`.

    Loshchilov, Hutter, "SGDR: stochastic gradient descent with warm restarts",
    arXiv 1608.03983, 2016.

    >>> [round(cosine_rate(step, 1.0, steps=4), 3) for step in range(6)]
    [1.0, 0.854, 0.5, 0.146, 0.0, 0.0]
    """
    done = min(step / steps, 1.0)
    return lowest + (lr - lowest) * (1 + math.cos(math.pi * done)) / 2


def _check_warm_up(args: dict[str, Any]) -> None:
    warm_up, steps = args["warm_up"], args["steps"]
    if warm_up >= steps:
        raise BadInput(f"warm_up is {warm_up} of {steps} steps: leave some for the way down.")


@require.positive(or_zero=("lr", "lowest"))
@require.sizes("warm_up", "steps")
@require.together(_check_warm_up)
def warm_up_cosine_rate(
    step: int, lr: float, warm_up: int, steps: int, lowest: float = 0.0
) -> float:
    """Grow to `lr` in `warm_up` steps, then fall along a cosine to `lowest` at step `steps`.

    η · (step + 1)/warm_up, then `cosine_rate` over the steps that are left. The way up is that of
    Goyal et al., "Accurate, large minibatch SGD: training ImageNet in 1 hour", arXiv 1706.02677,
    2017, section 2.2.

    >>> [round(warm_up_cosine_rate(step, 1.0, warm_up=2, steps=6), 3) for step in range(7)]
    [0.5, 1.0, 1.0, 0.854, 0.5, 0.146, 0.0]
    """
    if step < warm_up:
        return lr * (step + 1) / warm_up
    done = min((step - warm_up) / (steps - warm_up), 1.0)
    return lowest + (lr - lowest) * (1 + math.cos(math.pi * done)) / 2


def scaled_learning_rate(step: int, lr: float, factor: float, warm_up: int = 0) -> float:
    """The learning rate of a batch that is `factor` times as large: the linear scaling rule.

    η · factor: one step of the large batch stands for `factor` steps of the small one. Early
    on, when the weights change fast, that does not hold; so the rate grows from η in equal
    parts, and reaches η · factor at step number `warm_up`. Goyal et al., "Accurate, large
    minibatch SGD: training ImageNet in 1 hour", arXiv 1706.02677, 2017, sections 2.1 and 2.2.

    η is `lr`, that of the small batch; the factor is N if each of N ranks has what one had.

    >>> [scaled_learning_rate(step, 0.5, factor=5, warm_up=4) for step in range(6)]
    [0.5, 1.0, 1.5, 2.0, 2.5, 2.5]
    """
    target = lr * factor
    if step >= warm_up:
        return target
    return lr + (target - lr) * step / warm_up


class Plateau(NamedTuple):
    """What is remembered from one look at the loss to the next."""

    loss: float  # the lowest loss so far
    theta: Array  # the parameters that had it
    waited: int  # how many looks in a row brought nothing better


@require.positive("lr", "factor")
def plateau_step(
    theta: Any,
    loss: float,
    lr: float,
    state: Plateau | None = None,
    *,
    patience: int = 10,
    factor: float = 0.1,
) -> tuple[Any, float, Plateau]:
    """Look at the loss once; after more than `patience` looks without progress, roll back.

    A loss is progress if it is below best·(1 − 10⁻⁴). Without progress for more than `patience`
    looks, the best parameters so far come back, and the rate is multiplied by `factor`, between 0
    and 1. A loss that is no finite number does so at once. The rates are those of
    `torch.optim.lr_scheduler.ReduceLROnPlateau`, which leaves the parameters alone.

    After a roll-back (the rate that comes back is smaller) begin with a new optimizer state:
    the old velocity belongs to the place that was left.

    The state is what the last look returned, None for the first. Returned are the parameters and
    the rate to continue with, and the state for the next look.

    >>> theta, lr, state = plateau_step(np.array([1.0]), 0.5, lr=0.1)
    >>> theta, lr, state = plateau_step(np.array([9.0]), 40.5, lr, state, patience=0)
    >>> theta, round(lr, 3)
    (array([1.]), 0.01)
    """
    require.from_zero("patience", patience)
    if factor >= 1:
        raise BadInput(f"factor is {factor}: give a number between 0 and 1.")
    copied = np.array(require.real_array("theta", theta))  # the caller's may change in place
    if state is None:
        if not math.isfinite(loss):
            raise BadInput(f"the first loss is {loss}: there is no best to go back to.")
        return theta, lr, Plateau(float(loss), copied, 0)
    if loss < state.loss * (1 - PROGRESS) and math.isfinite(loss):
        return theta, lr, Plateau(float(loss), copied, 0)
    waited = state.waited + 1
    if waited <= patience and math.isfinite(loss):
        return theta, lr, state._replace(waited=waited)
    return state.theta.copy(), lr * factor, state._replace(waited=0)
