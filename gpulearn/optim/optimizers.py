"""Optimizers: one step function each, and the registry of all of them.

θ: parameters, g: gradient of the loss there, η: `lr`, μ: `momentum`, u: velocity, v: mean of
squared gradients, δ: `weight_decay`, ε: `epsilon`, a small number against division by zero. g², √
and / work element by element.

Every step function takes theta and gradient, of one shape, and the state that its last step
returned, None before the first. It returns the new theta and the new state, and changes nothing
that it is given. Where nothing else is said, `weight_decay` adds δ·θ to the gradient. What is kept
of the past (`momentum`, `alpha`, `beta1`, `beta2`) is from 0 to below 1.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gpulearn.optim.step_checks import Array, StepRule, step_rule


@step_rule
def gradient_step(
    theta: Array, gradient: Array, state: Any = None, *, lr: float
) -> tuple[Array, Any]:
    """One step of gradient descent, straight downhill: θ ← θ − η·g.

    Cauchy, "Méthode générale pour la résolution des systèmes d'équations simultanées",
    Comptes rendus 25, 1847. Equals `torch.optim.SGD`.

    >>> gradient_step(3.0, 6.0, lr=0.25)
    (1.5, None)
    """
    return theta - lr * gradient, state


@step_rule
def momentum_step(
    theta: Array, gradient: Array, state: Any = None, *, lr: float, momentum: float = 0.9
) -> tuple[Array, Array]:
    """One step of a heavy ball, which keeps a part of its velocity: u ← μ·u + g, θ ← θ − η·u.

    Polyak, "Some methods of speeding up the convergence of iteration methods", USSR
    Computational Mathematics and Mathematical Physics 4(5), 1964. Equals `torch.optim.SGD`
    with `momentum`: the gradient goes into u whole, without a factor (1 − μ).

    The state is the velocity u.

    >>> theta, velocity = momentum_step(3.0, 6.0, lr=0.25, momentum=0.5)
    >>> momentum_step(theta, 3.0, velocity, lr=0.25, momentum=0.5)
    (0.0, 6.0)
    """
    velocity = 0.0 if state is None else state
    velocity = momentum * velocity + gradient
    return theta - lr * velocity, velocity


@step_rule
def nesterov_step(
    theta: Array, gradient: Array, state: Any = None, *, lr: float, momentum: float = 0.9
) -> tuple[Array, Array]:
    """One step with a look ahead: u ← μ·u + g, θ ← θ − η·(g + μ·u).

    Nesterov, "A method of solving a convex programming problem with convergence rate
    O(1/k²)", Soviet Mathematics Doklady 27, 1983, in the form of Sutskever et al., "On the
    importance of initialization and momentum in deep learning", ICML 2013, with θ standing
    for the point that the velocity already leads to. Equals `torch.optim.SGD` with
    `nesterov=True`.

    The state is the velocity u.

    >>> nesterov_step(3.0, 6.0, lr=0.25, momentum=0.5)
    (0.75, 6.0)
    """
    velocity = 0.0 if state is None else state
    velocity = momentum * velocity + gradient
    return theta - lr * (gradient + momentum * velocity), velocity


@step_rule
def adagrad_step(
    theta: Array, gradient: Array, state: Any = None, *, lr: float, epsilon: float = 1e-10
) -> tuple[Array, Array]:
    """One step of Adagrad, which divides by all past gradients: s ← s + g², θ ← θ − η·g/(√s + ε).

    Duchi, Hazan, Singer, "Adaptive subgradient methods for online learning and stochastic
    optimization", JMLR 12, 2011. Equals `torch.optim.Adagrad`.

    The state is the sum s.

    >>> theta, squares = adagrad_step(np.array([1.0, 1.0]), np.array([3.0, 0.01]), lr=0.5)
    >>> theta.round(6), squares.tolist()
    (array([0.5, 0.5]), [9.0, 0.0001])
    """
    squares = 0.0 if state is None else state
    squares = squares + gradient**2
    return theta - lr * gradient / (np.sqrt(squares) + epsilon), squares


@step_rule
def rmsprop_step(
    theta: Array,
    gradient: Array,
    state: Any = None,
    *,
    lr: float,
    alpha: float = 0.99,
    epsilon: float = 1e-8,
) -> tuple[Array, Array]:
    """One step of RMSProp, which divides by recent gradients.

    v ← α·v + (1 − α)·g², θ ← θ − η·g/(√v + ε).

    Tieleman, Hinton, lecture 6.5 of "Neural networks for machine learning", Coursera, 2012.
    Equals `torch.optim.RMSprop`.

    The state is the mean v.

    >>> theta, squares = rmsprop_step(np.array([1.0]), np.array([3.0]), lr=0.5, alpha=0.75)
    >>> theta.round(6), squares
    (array([0.]), array([2.25]))
    """
    squares = 0.0 if state is None else state
    squares = alpha * squares + (1 - alpha) * gradient**2
    return theta - lr * gradient / (np.sqrt(squares) + epsilon), squares


@step_rule
def adam_step(
    theta: Array,
    gradient: Array,
    state: Any = None,
    *,
    lr: float,
    beta1: float = 0.9,
    beta2: float = 0.999,
    epsilon: float = 1e-8,
) -> tuple[Array, tuple[int, Array, Array]]:
    """One step of Adam: momentum, divided by the size of recent gradients.

    t ← t + 1, m ← β₁·m + (1 − β₁)·g, v ← β₂·v + (1 − β₂)·g²,
    θ ← θ − η·m̂/(√v̂ + ε) with m̂ = m/(1 − β₁ᵗ) and v̂ = v/(1 − β₂ᵗ).

    m and v begin at zero, and so are too small at first: m̂ and v̂ correct that. The state is
    (t, m, v).

    Kingma, Ba, "Adam: a method for stochastic optimization", arXiv 1412.6980, 2014. Equals
    `torch.optim.Adam`.

    >>> theta, (t, m, v) = adam_step(np.array([1.0, 1.0]), np.array([3.0, -0.01]), lr=0.5)
    >>> theta.round(6), t
    (array([0.5, 1.5]), 1)
    """
    t, m, v = (0, 0.0, 0.0) if state is None else state
    t = t + 1
    m = beta1 * m + (1 - beta1) * gradient
    v = beta2 * v + (1 - beta2) * gradient**2
    m_hat = m / (1 - beta1**t)
    v_hat = v / (1 - beta2**t)
    return theta - lr * m_hat / (np.sqrt(v_hat) + epsilon), (t, m, v)


@step_rule
def adamw_step(
    theta: Array,
    gradient: Array,
    state: Any = None,
    *,
    lr: float,
    beta1: float = 0.9,
    beta2: float = 0.999,
    epsilon: float = 1e-8,
    weight_decay: float = 0.01,
) -> tuple[Array, tuple[int, Array, Array]]:
    """One step of AdamW: Adam, with a weight decay that Adam does not divide.

    θ ← θ − η·δ·θ, then θ ← θ − η·m̂/(√v̂ + ε) as in `adam_step`. The decay is decoupled: it
    goes to the parameters directly, and not through m and v. The state is (t, m, v).

    Loshchilov, Hutter, "Decoupled weight decay regularization", arXiv 1711.05101, 2017.
    Equals `torch.optim.AdamW`.

    >>> theta, state = adamw_step(np.array([1.0]), np.array([0.0]), lr=0.5, weight_decay=0.5)
    >>> theta
    array([0.75])
    """
    t, m, v = (0, 0.0, 0.0) if state is None else state
    t = t + 1
    m = beta1 * m + (1 - beta1) * gradient
    v = beta2 * v + (1 - beta2) * gradient**2
    m_hat = m / (1 - beta1**t)
    v_hat = v / (1 - beta2**t)
    theta = theta - lr * weight_decay * theta
    return theta - lr * m_hat / (np.sqrt(v_hat) + epsilon), (t, m, v)


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

    Where θ or g is all zeros, r is 1, as in NVIDIA's apex (`apex/parallel/LARC.py`). You, Gitman,
    Ginsburg, "Large batch training of convolutional networks", arXiv 1708.03888, 2017, algorithm 1,
    which has η in v: the same while η stays.

    Theta has one layer's weights, or its biases; the state is the velocity v.

    >>> theta, velocity = lars_step(np.array([3.0, 4.0]), np.array([0.0, 0.01]), lr=1.0, trust=0.1)
    >>> theta.round(6), velocity.round(6)
    (array([3. , 3.5]), array([0. , 0.5]))
    """
    length, slope = np.linalg.norm(theta), np.linalg.norm(gradient)
    ratio = trust * length / slope if length > 0 and slope > 0 else 1.0
    velocity = 0.0 if state is None else state
    velocity = momentum * velocity + ratio * gradient
    return theta - lr * velocity, velocity


@dataclass(frozen=True)
class Optimizer:
    """What the package knows of an optimizer."""

    name: str  # what `gl.fit` calls it
    title: str  # what figures call it
    step: StepRule
    torch_class: str  # the name of its class in `torch.optim`
    # what that class is given besides the parameters and the learning rate
    torch_options: Mapping[str, Any] = field(default_factory=dict)
    numbers_kept: int = 0  # for each parameter
    memory_option: str | None = None  # which option says how much of the past is kept
    # the largest stable rate on a quadratic, given its largest curvature λ and that option's value;
    # None where the steps are scaled, so that λ sets no limit
    stable_limit: Callable[[float, float], float] | None = None
    explored: bool = True  # whether the explorer of descents offers it


# the limits: where −1 becomes a root of the recurrence that the distances from the minimum obey
# (Polyak, "Introduction to optimization", 1987, section 3.2, for momentum)
OPTIMIZERS: Mapping[str, Optimizer] = {
    one.name: one
    for one in (
        Optimizer(
            "sgd", "gradient descent", gradient_step, "SGD",
            stable_limit=lambda steepest, _: 2 / steepest,
        ),
        Optimizer(
            "momentum", "momentum", momentum_step, "SGD", {"momentum": 0.9}, 1, "momentum",
            lambda steepest, momentum: 2 * (1 + momentum) / steepest,
        ),
        Optimizer(
            "nesterov", "Nesterov", nesterov_step, "SGD", {"momentum": 0.9, "nesterov": True}, 1,
            "momentum",
            lambda steepest, momentum: 2 * (1 + momentum) / ((1 + 2 * momentum) * steepest),
        ),
        Optimizer("adagrad", "Adagrad", adagrad_step, "Adagrad", {}, 1),
        Optimizer("rmsprop", "RMSProp", rmsprop_step, "RMSprop", {}, 1),
        Optimizer("adam", "Adam", adam_step, "Adam", {}, 2, "beta1"),
        # on a surface without weights that grow, it is Adam
        Optimizer("adamw", "AdamW", adamw_step, "AdamW", {}, 2, "beta1", explored=False),
    )
}  # fmt: skip
