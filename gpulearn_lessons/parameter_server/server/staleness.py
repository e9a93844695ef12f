"""Stale gradients: what a server does with one, and which rates are stable on a quadratic."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from gpulearn import require

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
    """Which of the waiting workers may continue: those at most `bound` steps ahead of the slowest.

    Bound 0 is synchronous training, since no worker continues until all have done as many steps;
    an infinite bound is asynchronous training. Between them lies the stale-synchronous server of Ho
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


def largest_stable_rate(delay: int) -> float:
    """The ηλ below which descent on λθ²/2 converges with gradients that are `delay` updates old.

    The descent is θ_{t+1} = θ_t − ηλ·θ_{t−τ}. Try θ_t = z^t with a complex number z. It is a
    solution if z^{τ+1} = z^τ − ηλ, and the descent converges if and only if |z| < 1 for all such z.
    That is so for small ηλ > 0. As ηλ grows, the first z reaches |z| = 1 at some z = e^{iφ}. There

        ηλ = z^τ(1 − z) = 2 sin(φ/2) · e^{i(τφ + φ/2 − π/2)}

    is a positive number, so τφ + φ/2 = π/2, and φ = π/(2τ + 1) gives the limit

        ηλ < 2 sin(π / (2(2τ + 1)))

    which is 2 without delay, and about π/(2τ) for a long one.

    >>> [round(largest_stable_rate(delay), 3) for delay in (0, 1, 2, 10)]
    [2.0, 1.0, 0.618, 0.149]
    """
    return 2 * math.sin(math.pi / (2 * (2 * require.from_zero("delay", delay) + 1)))


def delayed_descent(rate: float, delay: int, steps: int) -> Array:
    """|θ| after each update, with `rate` ηλ and gradients `delay` updates old; (steps + 1,).

    Before the first update all weights are 1.

    >>> delayed_descent(0.5, 1, 4)
    array([1.  , 0.5 , 0.  , 0.25, 0.25])
    """
    thetas = [1.0] * (delay + 1)
    for _ in range(steps):
        thetas.append(thetas[-1] - rate * thetas[-1 - delay])
    return np.asarray(np.abs(thetas[delay:]))
