"""Reduce on plateau: where the loss stops falling, go back to the best place with smaller steps."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from gpulearn import require
from gpulearn.errors import BadInput
from gpulearn.optim.step_rules import Array

__all__ = ["Plateau", "plateau_step"]


class Plateau(NamedTuple):
    """What is remembered from one look at the loss to the next.

    Attributes:
        loss: the lowest loss so far.
        theta: the parameters that had it.
        waited: how many looks in a row brought nothing better.
    """

    loss: float
    theta: Array
    waited: int


@require.positive("rate", or_zero=("threshold", "lowest"))
def plateau_step(
    theta: Any,
    loss: float,
    rate: float,
    state: Plateau | None = None,
    *,
    patience: int = 10,
    factor: float = 0.1,
    threshold: float = 1e-4,
    lowest: float = 0.0,
) -> tuple[Any, float, Plateau]:
    """Look at the loss once; after more than `patience` looks without progress, roll back.

    A loss is progress if it is below best·(1 − threshold). Without progress for more than
    `patience` looks, the best parameters so far come back, and the rate is multiplied by
    `factor`, not below `lowest`. A loss that is no finite number does so at once. The rates are
    those of `torch.optim.lr_scheduler.ReduceLROnPlateau`, which leaves the parameters alone.

    After a roll-back (the rate that comes back is smaller) begin with a new optimizer state:
    the old velocity belongs to the place that was left.

    Args:
        theta: the parameters, of any shape.
        loss: their loss.
        rate: the learning rate so far.
        state: what the last look returned; None for the first.
        patience: looks without progress that are forgiven, 0 or more.
        factor: what the rate is multiplied by, between 0 and 1.
        threshold: the least relative progress.
        lowest: the rate is not reduced below.

    Returns:
        The parameters to go on from, the rate to go on with, and the state for the next look.

    Raises:
        BadInput: a number is out of its range, or the first loss is not finite.

    >>> theta, rate, state = plateau_step(np.array([1.0]), 0.5, rate=0.1)
    >>> theta, rate, state = plateau_step(np.array([9.0]), 40.5, rate, state, patience=0)
    >>> theta, round(rate, 3)
    (array([1.]), 0.01)
    """
    _check(patience, factor)
    found = np.array(require.real_array("theta", theta))  # a copy: the caller's may change in place
    if state is None:
        if not math.isfinite(loss):
            raise BadInput(f"the first loss is {loss}: there is no best to go back to.")
        return theta, rate, Plateau(float(loss), found, 0)
    if loss < state.loss * (1 - threshold) and math.isfinite(loss):
        return theta, rate, Plateau(float(loss), found, 0)
    waited = state.waited + 1
    if waited <= patience and math.isfinite(loss):
        return theta, rate, state._replace(waited=waited)
    return state.theta.copy(), max(rate * factor, min(lowest, rate)), state._replace(waited=0)


def _check(patience: object, factor: object) -> None:
    if patience != 0 or isinstance(patience, bool):
        require.whole("patience", patience)
    require.above_zero("factor", factor)
    if not isinstance(factor, int | float) or factor >= 1:
        raise BadInput(f"factor is {factor}: give a number between 0 and 1.")
