"""Gradient descent and momentum: steps that treat all parameters alike.

θ: parameters, g: gradient of the loss there, η: `rate`, μ: `momentum`, v: velocity. Every
step function takes (theta, gradient, state) and returns the new (theta, state); `state=None`
begins a descent. None changes its input.
"""

from __future__ import annotations

from typing import Any

from gpulearn.optim.step_rules import Array, step_rule

__all__ = ["gradient_step", "momentum_step", "nesterov_step"]


@step_rule
def gradient_step(
    theta: Array, gradient: Array, state: Any = None, *, rate: float
) -> tuple[Array, Any]:
    """One step of gradient descent, straight downhill: θ ← θ − η·g.

    Cauchy, "Méthode générale pour la résolution des systèmes d'équations simultanées",
    Comptes rendus 25, 1847. Equals `torch.optim.SGD`.

    Args:
        theta: parameters, of any shape.
        gradient: the slope along each parameter, same shape.
        state: nothing is remembered between steps; it comes back as it is.
        rate: η, the learning rate.
        weight_decay: λ, adds λ·θ to the gradient.

    Raises:
        BadInput: shapes differ, or a number is below zero.

    >>> gradient_step(3.0, 6.0, rate=0.25)
    (1.5, None)
    """
    return theta - rate * gradient, state


@step_rule
def momentum_step(
    theta: Array, gradient: Array, state: Any = None, *, rate: float, momentum: float = 0.9
) -> tuple[Array, Array]:
    """One step of a heavy ball, which keeps a part of its velocity: v ← μ·v + g, θ ← θ − η·v.

    Polyak, "Some methods of speeding up the convergence of iteration methods", USSR
    Computational Mathematics and Mathematical Physics 4(5), 1964. Equals `torch.optim.SGD`
    with `momentum`: the gradient goes into v whole, without a factor (1 − μ).

    Args:
        theta: parameters, of any shape.
        gradient: the slope along each parameter, same shape.
        state: the velocity v that the last step returned; None before the first.
        rate: η, the learning rate.
        momentum: μ, the part of the velocity that is kept, 0 <= μ < 1.
        weight_decay: λ, adds λ·θ to the gradient.

    Raises:
        BadInput: shapes differ, or a number is out of its range.

    >>> theta, velocity = momentum_step(3.0, 6.0, rate=0.25, momentum=0.5)
    >>> momentum_step(theta, 3.0, velocity, rate=0.25, momentum=0.5)
    (0.0, 6.0)
    """
    velocity = 0.0 if state is None else state
    velocity = momentum * velocity + gradient
    return theta - rate * velocity, velocity


@step_rule
def nesterov_step(
    theta: Array, gradient: Array, state: Any = None, *, rate: float, momentum: float = 0.9
) -> tuple[Array, Array]:
    """One step with a look ahead: v ← μ·v + g, θ ← θ − η·(g + μ·v).

    Nesterov, "A method of solving a convex programming problem with convergence rate
    O(1/k²)", Soviet Mathematics Doklady 27, 1983, in the form of Sutskever et al., "On the
    importance of initialization and momentum in deep learning", ICML 2013, with θ standing
    for the point that the velocity already leads to. Equals `torch.optim.SGD` with
    `nesterov=True`.

    Args:
        theta: parameters, of any shape.
        gradient: the slope along each parameter, same shape.
        state: the velocity v that the last step returned; None before the first.
        rate: η, the learning rate.
        momentum: μ, the part of the velocity that is kept, 0 <= μ < 1.
        weight_decay: λ, adds λ·θ to the gradient.

    Raises:
        BadInput: shapes differ, or a number is out of its range.

    >>> nesterov_step(3.0, 6.0, rate=0.25, momentum=0.5)
    (0.75, 6.0)
    """
    velocity = 0.0 if state is None else state
    velocity = momentum * velocity + gradient
    return theta - rate * (gradient + momentum * velocity), velocity
