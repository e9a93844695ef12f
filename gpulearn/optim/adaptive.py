"""Steps that scale each parameter by the size of its own past gradients.

θ: parameters, g: gradient of the loss there, η: `rate`, ε: `epsilon`, a small number against
division by zero. g², √ and / work element by element. The step functions have the signature
of those in `optimizers`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gpulearn.optim.step_rules import Array, step_rule

__all__ = ["adagrad_step", "adam_step", "adamw_step", "rmsprop_step"]


@step_rule
def adagrad_step(
    theta: Array, gradient: Array, state: Any = None, *, rate: float, epsilon: float = 1e-10
) -> tuple[Array, Array]:
    """One step of Adagrad, which divides by all past gradients: s ← s + g², θ ← θ − η·g/(√s + ε).

    Duchi, Hazan, Singer, "Adaptive subgradient methods for online learning and stochastic
    optimization", JMLR 12, 2011. Equals `torch.optim.Adagrad`.

    Args:
        theta: parameters, of any shape.
        gradient: the slope along each parameter, same shape.
        state: the sum s that the last step returned; None before the first.
        rate: η, the learning rate.
        epsilon: ε, added outside the root.
        weight_decay: λ, adds λ·θ to the gradient.

    Raises:
        BadInput: shapes differ, or a number is out of its range.

    >>> theta, squares = adagrad_step(np.array([1.0, 1.0]), np.array([3.0, 0.01]), rate=0.5)
    >>> theta.round(6), squares.tolist()
    (array([0.5, 0.5]), [9.0, 0.0001])
    """
    squares = 0.0 if state is None else state
    squares = squares + gradient**2
    return theta - rate * gradient / (np.sqrt(squares) + epsilon), squares


@step_rule
def rmsprop_step(
    theta: Array,
    gradient: Array,
    state: Any = None,
    *,
    rate: float,
    alpha: float = 0.99,
    epsilon: float = 1e-8,
) -> tuple[Array, Array]:
    """One step of RMSProp, which divides by recent gradients.

    s ← α·s + (1 − α)·g², θ ← θ − η·g/(√s + ε).

    Tieleman, Hinton, lecture 6.5 of "Neural networks for machine learning", Coursera, 2012.
    Equals `torch.optim.RMSprop`.

    Args:
        theta: parameters, of any shape.
        gradient: the slope along each parameter, same shape.
        state: the mean s of the squares that the last step returned; None before the first.
        rate: η, the learning rate.
        alpha: α, the part of the mean that is kept, 0 <= α < 1.
        epsilon: ε, added outside the root.
        weight_decay: λ, adds λ·θ to the gradient.

    Raises:
        BadInput: shapes differ, or a number is out of its range.

    >>> theta, squares = rmsprop_step(np.array([1.0]), np.array([3.0]), rate=0.5, alpha=0.75)
    >>> theta.round(6), squares
    (array([0.]), array([2.25]))
    """
    squares = 0.0 if state is None else state
    squares = alpha * squares + (1 - alpha) * gradient**2
    return theta - rate * gradient / (np.sqrt(squares) + epsilon), squares


@step_rule
def adam_step(
    theta: Array,
    gradient: Array,
    state: Any = None,
    *,
    rate: float,
    beta1: float = 0.9,
    beta2: float = 0.999,
    epsilon: float = 1e-8,
) -> tuple[Array, tuple[int, Array, Array]]:
    """One step of Adam: momentum, divided by the size of recent gradients.

    t ← t + 1, m ← β₁·m + (1 − β₁)·g, v ← β₂·v + (1 − β₂)·g²,
    θ ← θ − η·m̂/(√v̂ + ε) with m̂ = m/(1 − β₁ᵗ) and v̂ = v/(1 − β₂ᵗ).

    m and v begin at zero, and so are too small at first: m̂ and v̂ correct that.

    Kingma, Ba, "Adam: a method for stochastic optimization", arXiv 1412.6980, 2014. Equals
    `torch.optim.Adam`.

    Args:
        theta: parameters, of any shape.
        gradient: the slope along each parameter, same shape.
        state: (t, m, v) as the last step returned it; None before the first.
        rate: η, the learning rate.
        beta1: β₁, the part of m that is kept, 0 <= β₁ < 1.
        beta2: β₂, the part of v that is kept, 0 <= β₂ < 1.
        epsilon: ε, added outside the root.
        weight_decay: λ, adds λ·θ to the gradient.

    Raises:
        BadInput: shapes differ, or a number is out of its range.

    >>> theta, (t, m, v) = adam_step(np.array([1.0, 1.0]), np.array([3.0, -0.01]), rate=0.5)
    >>> theta.round(6), t
    (array([0.5, 1.5]), 1)
    """
    t, m, v = (0, 0.0, 0.0) if state is None else state
    t = t + 1
    m = beta1 * m + (1 - beta1) * gradient
    v = beta2 * v + (1 - beta2) * gradient**2
    m_hat = m / (1 - beta1**t)
    v_hat = v / (1 - beta2**t)
    return theta - rate * m_hat / (np.sqrt(v_hat) + epsilon), (t, m, v)


@step_rule
def adamw_step(
    theta: Array,
    gradient: Array,
    state: Any = None,
    *,
    rate: float,
    beta1: float = 0.9,
    beta2: float = 0.999,
    epsilon: float = 1e-8,
    weight_decay: float = 0.01,
) -> tuple[Array, tuple[int, Array, Array]]:
    """One step of AdamW: Adam, with a weight decay that Adam does not divide.

    θ ← θ − η·λ·θ, then θ ← θ − η·m̂/(√v̂ + ε) as in `adam_step`. The decay is decoupled: it
    goes to the parameters directly, and not through m and v.

    Loshchilov, Hutter, "Decoupled weight decay regularization", arXiv 1711.05101, 2017.
    Equals `torch.optim.AdamW`.

    Args:
        theta: parameters, of any shape.
        gradient: the slope along each parameter, same shape.
        state: (t, m, v) as the last step returned it; None before the first.
        rate: η, the learning rate.
        beta1: β₁, the part of m that is kept, 0 <= β₁ < 1.
        beta2: β₂, the part of v that is kept, 0 <= β₂ < 1.
        epsilon: ε, added outside the root.
        weight_decay: λ, the decay of the parameters themselves.

    Raises:
        BadInput: shapes differ, or a number is out of its range.

    >>> theta, state = adamw_step(np.array([1.0]), np.array([0.0]), rate=0.5, weight_decay=0.5)
    >>> theta
    array([0.75])
    """
    t, m, v = (0, 0.0, 0.0) if state is None else state
    t = t + 1
    m = beta1 * m + (1 - beta1) * gradient
    v = beta2 * v + (1 - beta2) * gradient**2
    m_hat = m / (1 - beta1**t)
    v_hat = v / (1 - beta2**t)
    theta = theta - rate * weight_decay * theta
    return theta - rate * m_hat / (np.sqrt(v_hat) + epsilon), (t, m, v)
