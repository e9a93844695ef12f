"""Schedules: the learning rate of a step, from the step's number, from 0.

`lambda step: cosine_rate(step, 0.1, steps=500)` fixes all but the step, for `descend(…, lr=…)`.
"""

import math
from typing import Any

from gpulearn import require
from gpulearn.errors import BadInput


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

    The rate grows from η, `lr`, that of the small batch, in equal parts, and reaches η · factor at
    step number `warm_up`. Goyal et al., "Accurate, large minibatch SGD: training ImageNet in 1
    hour", arXiv 1706.02677, 2017, sections 2.1 and 2.2.

    >>> [scaled_learning_rate(step, 0.5, factor=5, warm_up=4) for step in range(6)]
    [0.5, 1.0, 1.5, 2.0, 2.5, 2.5]
    """
    target = lr * factor
    if step >= warm_up:
        return target
    return lr + (target - lr) * step / warm_up
