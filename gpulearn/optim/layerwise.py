"""Layer-wise rates by LARS: how far a layer moves is measured by its own weights."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpulearn.optim.step_checks import Array, step_rule


@step_rule
def lars_step(
    theta: Array,
    gradient: Array,
    state: Any = None,
    *,
    lr: float,
    momentum: float = 0.9,
    trust: float = 0.001,
) -> tuple[Array, Array]:
    """One step of LARS for one layer: r = trust·‖θ‖/‖g‖, v ← μ·v + r·g, θ ← θ − η·v.

    Without momentum a step is η·trust times as long as θ, however long the gradient is. Where θ or
    g is all zeros, r is 1, as in NVIDIA's apex (`apex/parallel/LARC.py`). You, Gitman, Ginsburg,
    "Large batch training of convolutional networks", arXiv 1708.03888, 2017, algorithm 1, which
    has η in v: the same while η stays.

    Theta, of any shape, has one layer's weights, or its biases; the state is the velocity v, None
    before the first step. η is `lr`, μ `momentum`; weight_decay adds λ·θ to the gradient.

    >>> theta, velocity = lars_step(np.array([3.0, 4.0]), np.array([0.0, 0.01]), lr=1.0, trust=0.1)
    >>> theta.round(6), velocity.round(6)
    (array([3. , 3.5]), array([0. , 0.5]))
    """
    length, slope = np.linalg.norm(theta), np.linalg.norm(gradient)
    ratio = trust * length / slope if length > 0 and slope > 0 else 1.0
    velocity = 0.0 if state is None else state
    velocity = momentum * velocity + ratio * gradient
    return theta - lr * velocity, velocity
