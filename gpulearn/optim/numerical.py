"""What can be learned of a loss from its values and curvatures alone."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from gpulearn import require
from gpulearn.errors import BadInput
from gpulearn.optim.step_checks import Array
from gpulearn.require import shown

__all__ = ["largest_stable_step", "numerical_gradient"]


def _numbers_in_and_out(function: Callable[..., Array]) -> Callable[..., Any]:
    """Check what `numerical_gradient` is given, and what the function to differentiate returns."""

    @functools.wraps(function)
    def checked(function_of_x: Callable[[Array], Any], x: Any) -> Any:
        if not callable(function_of_x):
            raise BadInput(
                f"function is {shown(function_of_x)}: give the function itself, without brackets."
            )

        def number(point: Array) -> float:
            value = function_of_x(point)
            if np.ndim(value) or np.asarray(value).dtype.kind not in "iuf":
                raise BadInput(f"the function returns {shown(value)}: it must return one number.")
            return float(value)

        gradient = function(number, require.real_array("x", x))
        return float(gradient) if np.ndim(x) == 0 else gradient

    return checked


@_numbers_in_and_out
def numerical_gradient(function: Callable[[Array], float], x: Array) -> Array:
    """The gradient of a function of an array, from its values: central differences.

    Entry i is (f(x + h·eᵢ) − f(x − h·eᵢ))/2h, with one more pair of values for each entry. The
    formula is off by h²·f‴/6 and rounding by about ε·|f|/h, so h is the cube root of ε (float64:
    6·10⁻⁶), times |xᵢ| where that is above one (Press et al., "Numerical recipes", section 5.7).

    Args:
        function: takes an array like x, returns one number.
        x: where to take the gradient, an array of any shape.

    Returns:
        An array of the shape and dtype of x.

    Raises:
        BadInput: x holds no real numbers, or the function returns no number.

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


def _symmetric(function: Callable[[Array], float]) -> Callable[[Any], float]:
    """Check that a Hessian is one; a surface stands for its Hessian at the minimum."""

    @functools.wraps(function)
    def checked(hessian: Any) -> float:
        hessian = getattr(hessian, "hessian_at_minimum", hessian)
        matrix = require.real_array("hessian", hessian)
        if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or not matrix.size:
            raise BadInput(f"hessian has shape {matrix.shape}: it must be square, (n, n).")
        if not np.isfinite(matrix).all():
            raise BadInput("hessian has an entry that is no finite number.")
        if not np.allclose(matrix, matrix.T, rtol=1e-5, atol=1e-8 * np.abs(matrix).max()):
            raise BadInput(
                "hessian is not symmetric: entry (i, j) is the second derivative along i and j, "
                "in either order."
            )
        return float(function(matrix))

    return checked


@_symmetric
def largest_stable_step(hessian: Array) -> float:
    """The learning rate above which gradient descent overshoots ever further: 2/λmax.

    Along an eigenvector of the Hessian with eigenvalue λ, a step multiplies the distance from
    the minimum of a quadratic by 1 − η·λ. That shrinks as long as η < 2/λ; the largest
    eigenvalue is the first to break it (Polyak, "Introduction to optimization", 1987, section
    1.4). Where no curvature is above zero, nothing is overshot: the limit is infinite.

    Args:
        hessian: the symmetric matrix of second derivatives, (n, n); or a surface, for its
            Hessian at the minimum.

    Raises:
        BadInput: the matrix is not square, or not symmetric.

    >>> largest_stable_step(np.diag([1.0, 25.0]))
    0.08
    """
    steepest = np.linalg.eigvalsh(hessian).max()
    return 2 / steepest if steepest > 0 else np.inf
