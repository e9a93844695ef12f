"""Stale gradients: what a server does with one, and how large a rate they bear on a quadratic."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from gpulearn import require
from gpulearn.errors import BadInput
from gpulearn.require import shown

Array = np.ndarray[Any, Any]


def apply_stale_gradient(
    weights: Any, gradient: Any, lr: float, version: int, computed_at: int
) -> int:
    """Apply a gradient with a rate that falls with its staleness; returns the new version.

    The staleness τ is the number of updates between the weights that the gradient was computed
    at and those that it is applied to, and the rate is lr / (1 + τ): θ ← θ − lr/(1 + τ) · g.

    Args:
        weights: the server's, of shape (n,); changed in place.
        gradient: of the same shape.
        lr: learning rate of a gradient that is not stale.
        version: how many updates the weights have had.
        computed_at: how many they had had when the worker got them.

    >>> weights = np.array([1.0, 2.0])
    >>> apply_stale_gradient(weights, np.array([1.0, 0.0]), 0.5, version=7, computed_at=3)
    8
    >>> weights
    array([0.9, 2. ])
    """
    staleness = version - computed_at
    weights -= lr / (1 + staleness) * gradient
    return version + 1


def bounded_staleness(
    clocks: Sequence[int], waiting: Collection[int], bound: float = math.inf
) -> list[int]:
    """Which of the waiting workers may go on: those at most `bound` steps ahead of the slowest.

    Bound 0 is synchronous training, since nobody goes on until all have done as many steps; an
    infinite bound is asynchronous training. Between them lies the stale-synchronous server of Ho
    et al., "More effective distributed ML via a stale synchronous parallel parameter server",
    NIPS 2013.

    Args:
        clocks: steps done by each worker.
        waiting: the workers that have sent their gradient and wait for weights.
        bound: how many steps a worker may be ahead.

    Returns:
        The workers that get the weights now, in ascending order.

    >>> bounded_staleness([3, 2, 1], waiting={0, 1}, bound=1)
    [1]
    """
    slowest = min(clocks)
    return sorted(worker for worker in waiting if clocks[worker] - slowest <= bound)


def largest_stable_rate(curvature: float, delay: int) -> float:
    """The rate below which descent with gradients that are `delay` updates old converges.

    On J(θ) = λθ²/2, `curvature` λ, it is θ_{t+1} = θ_t − ηλ·θ_{t−τ}. A solution zᵗ needs z^{τ+1} =
    z^τ − ηλ, and the descent converges iff all such z lie inside of the unit circle. They do for
    small ηλ > 0, and leave it where z = e^{iφ}: then ηλ = z^τ(1 − z) = 2 sin(φ/2) ·
    e^{i(τφ + φ/2 − π/2)} is real and positive, so that φ(τ + 1/2) = π/2 (modulo 2π), and the first
    to leave has the least such ηλ. With φ = π/(2τ + 1)

        η < (2/λ) · sin(π / (2(2τ + 1)))

    which is 2/λ without delay, and about π/(2λτ) for a long one.

    >>> [round(largest_stable_rate(1.0, delay), 3) for delay in (0, 1, 2, 10)]
    [2.0, 1.0, 0.618, 0.149]
    """
    require.above_zero("curvature", curvature)
    return 2 / curvature * math.sin(math.pi / (2 * (2 * require.from_zero("delay", delay) + 1)))


def growth_with_delay(step: float, delay: int) -> float:
    """By how much a descent with stale gradients grows or shrinks per update, in the long run.

    The largest |z| among the roots of z^{τ+1} − z^τ + ηλ, with `step` ηλ and `delay` τ; it
    converges below 1.

    >>> round(growth_with_delay(0.5, 0), 3), round(growth_with_delay(1.0, 1), 3)
    (0.5, 1.0)
    """
    require.above_zero("step", step)
    coefficients = np.zeros(require.from_zero("delay", delay) + 2)
    coefficients[:2] = 1.0, -1.0
    coefficients[-1] += step
    return float(np.abs(np.roots(coefficients)).max())


def delayed_descent(
    rate: float, delay: int, *, curvature: float = 1.0, steps: int = 100, start: float = 1.0
) -> Array:
    """Distances from the minimum of λθ²/2, update by update, with gradients `delay` updates old.

    Before the first update all weights are `start`, so the first gradients are computed there.
    Returns |θ|, of shape (steps + 1,), for `rate` η and `curvature` λ.

    >>> delayed_descent(0.5, 1, steps=4)
    array([1.  , 0.5 , 0.  , 0.25, 0.25])
    """
    for name, value in (("rate", rate), ("curvature", curvature)):
        require.above_zero(name, value)
    delay, steps = require.from_zero("delay", delay), require.whole("steps", steps)
    if not isinstance(start, int | float) or not math.isfinite(start):
        raise BadInput(f"start is {shown(start)}: give a number.")
    thetas = [float(start)] * (delay + 1)
    for _ in range(steps):
        thetas.append(thetas[-1] - rate * curvature * thetas[-1 - delay])
    return np.asarray(np.abs(thetas[delay:]))
