"""Predictions about a descent, from a loss's values and curvatures."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gpulearn import require
from gpulearn.errors import BadInput
from gpulearn.optim.step_checks import Array
from gpulearn.require import shown


def _numbers_in_and_out(args: dict[str, Any]) -> None:
    """Check what `numerical_gradient` is given, and what the function to differentiate returns."""
    function = args["function"]
    if not callable(function):
        raise BadInput(
            f"function is {shown(function)}: give the function itself, without brackets."
        )

    def number(point: Array) -> float:
        value = function(point)
        if np.ndim(value) or np.asarray(value).dtype.kind not in "iuf":
            raise BadInput(f"the function returns {shown(value)}: it must return one number.")
        return float(value)

    args["function"], args["x"] = number, require.real_array("x", args["x"])


@require.together(_numbers_in_and_out)
def numerical_gradient(function: Callable[[Array], float], x: Array) -> Array:
    """The gradient of a function of an array, from its values: central differences.

    Entry i is (f(x + h·eᵢ) − f(x − h·eᵢ))/2h, with one more pair of values for each entry. The
    formula is off by h²·f‴/6 and rounding by about ε·|f|/h, so h is the cube root of ε (float64:
    6·10⁻⁶), times |xᵢ| where that is above one (Press et al., "Numerical recipes", section 5.7).

    The function takes an array like x and returns one number; the result has x's shape and dtype.

    >>> numerical_gradient(lambda x: (x**2).sum(), np.array([3.0, -1.0])).round(6)
    array([ 6., -2.])
    """
    gradient = np.zeros_like(x)
    for i in np.ndindex(x.shape):
        h = np.cbrt(np.finfo(x.dtype).eps) * max(1.0, abs(x[i]))
        ahead, behind = x.copy(), x.copy()
        ahead[i] += h
        behind[i] -= h
        gradient[i] = (function(ahead) - function(behind)) / (ahead[i] - behind[i])
    return gradient


def _symmetric(args: dict[str, Any]) -> None:
    """Check that a Hessian is one; a surface stands for its Hessian at the minimum."""
    hessian = getattr(args["hessian"], "hessian_at_minimum", args["hessian"])
    args["hessian"] = matrix = require.real_array("hessian", hessian)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or not matrix.size:
        raise BadInput(f"hessian has shape {matrix.shape}: it must be square, (n, n).")
    if not np.isfinite(matrix).all():
        raise BadInput("hessian has an entry that is no finite number.")
    if not np.allclose(matrix, matrix.T, rtol=1e-5, atol=1e-8 * np.abs(matrix).max()):
        raise BadInput(
            "hessian is not symmetric: entry (i, j) is the second derivative along i and j, in "
            "either order."
        )


@require.together(_symmetric)
def largest_stable_step(hessian: Array) -> float:
    """The learning rate above which gradient descent overshoots ever further: 2/λmax.

    Along an eigenvector of the Hessian with eigenvalue λ, a step multiplies the distance from
    the minimum of a quadratic by 1 − η·λ. That shrinks as long as η < 2/λ; the largest
    eigenvalue is the first to break it (Polyak, "Introduction to optimization", 1987, section
    1.4). Where no curvature is above zero, the limit is infinite. A surface stands for its Hessian
    at the minimum.

    >>> float(largest_stable_step(np.diag([1.0, 25.0])))
    0.08
    """
    steepest = np.linalg.eigvalsh(hessian).max()
    return 2 / steepest if steepest > 0 else np.inf


def steps_needed(curvatures: Array, lr: float, share: float) -> float:
    """The steps of gradient descent until each direction's distance is a share of what it was.

    On a parabola of curvature λ a step multiplies the distance from the bottom by 1 − η·λ: the
    smallest k with max|1 − η·λ|ᵏ ≤ share, between 0 and 1, or infinity. The curvatures are λ of
    each direction, the eigenvalues of the Hessian, (n,); η is `lr`.

    >>> steps_needed(np.array([1.0, 25.0]), lr=0.07, share=0.01)
    64
    >>> steps_needed(np.array([1.0, 25.0]), lr=0.09, share=0.01)
    inf
    """
    slowest = np.abs(1 - lr * curvatures).max()
    if slowest >= 1:
        return np.inf
    if slowest == 0:
        return 1
    steps = int(np.log(share) / np.log(slowest))  # rounded down: the logarithms are inexact
    while slowest**steps > share:
        steps += 1
    return steps


def momentum_factor(share: Any, momentum: Any) -> Any:
    """The factor for each step, after many, of the distance along a direction with momentum.

    With v ← μ·v + λ·d, d ← d − η·v the distances obey dₖ₊₁ = (1 + μ − η·λ)·dₖ − μ·dₖ₋₁: the
    larger root, in size, of z² − (1 + μ − η·λ)·z + μ decides. The share is η·λ, the momentum μ,
    0 <= μ < 1, numbers or arrays. Polyak, "Introduction to optimization", 1987, section 3.2.

    >>> momentum_factor(np.array([0.1, 1.0, 3.62]), 0.81).round(6)
    array([0.9, 0.9, 1. ])
    """
    middle = (1 + np.asarray(momentum) - np.asarray(share)) / 2
    inside = middle**2 - momentum
    factor = np.where(
        inside > 0,
        np.abs(middle) + np.sqrt(np.maximum(inside, 0)),
        np.sqrt(np.broadcast_to(momentum, np.shape(inside))),
    )
    return factor[()]


def escape_saddle(distance: float, curvature: float, lr: float, far: float) -> float:
    """The steps of gradient descent until a walk that starts beside a ridge is far away from it.

    Along a direction of curvature λ below zero a step multiplies the distance from the ridge by
    1 − η·λ, which is above one: the smallest k with distance·(1 − η·λ)ᵏ ≥ far, or infinity. λ is
    the curvature, the Hessian's least eigenvalue, η is `lr`, below 2/λ where λ is above zero.

    >>> escape_saddle(1e-6, -1.0, lr=0.1, far=0.5)
    138
    >>> escape_saddle(0.0, -1.0, lr=0.1, far=0.5)
    inf
    """
    if distance >= far:
        return 0
    if distance == 0 or curvature >= 0:
        return np.inf
    steps = int(np.log(far / distance) / np.log(1 - lr * curvature))
    while distance * (1 - lr * curvature) ** steps < far:  # a fraction of a step takes a whole one
        steps += 1
    return steps
