"""Losses to walk down: what a descent needs of one, and surfaces of two parameters.

All work on many points at once: an array of shape (…, 2) has values of shape (…), gradients
(…, 2) and Hessians (…, 2, 2).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from gpulearn import require
from gpulearn.errors import BadInput
from gpulearn.optim.numerical import largest_stable_step
from gpulearn.optim.step_checks import Array


class Landscape(Protocol):
    """What a descent needs: a `Surface`, or anything else with a value and a gradient."""

    def value(self, points: Any) -> Any:
        """The loss at a point."""

    def gradient(self, points: Any) -> Any:
        """The gradient at a point, of the point's shape."""


@dataclass(frozen=True)
class Surface:
    """A loss whose gradient, curvature and minima are known."""

    name: str  # such as "ravine"
    formula: str  # how the value is computed, for a title
    heights: Callable[[Array], Array]  # points (…, n) -> values (…)
    slopes: Callable[[Array], Array]  # points (…, n) -> gradients (…, n)
    curvatures: Callable[[Array], Array]  # points (…, n) -> Hessians (…, n, n)
    # the points where the value is least, (k, n); the first stands for all
    minima: tuple[tuple[float, ...], ...]
    start: tuple[float, ...]  # a point from which a descent is worth watching, (n,)
    # (left, right, bottom, top) of a picture that shows start and minima
    window: tuple[float, float, float, float]

    def value(self, points: Any) -> Any:
        """Values of shape (…) at points of shape (…, n)."""
        return self.heights(self._points(points))[()]

    __call__ = value

    def gradient(self, points: Any) -> Array:
        """Gradients of shape (…, n) at points of shape (…, n)."""
        return self.slopes(self._points(points))

    def hessian(self, points: Any) -> Array:
        """Second derivatives of shape (…, n, n) at points of shape (…, n)."""
        return self.curvatures(self._points(points))

    @property
    def minimum(self) -> Array:
        """A point where the value is least, (n,)."""
        return np.array(self.minima[0])

    @property
    def hessian_at_minimum(self) -> Array:
        """The Hessian at `minimum`, (n, n)."""
        return self.hessian(self.minimum)

    @property
    def largest_stable_step(self) -> float:
        """The largest learning rate with which plain descent stays at `minimum`."""
        return largest_stable_step(self.hessian_at_minimum)

    def _points(self, points: Any) -> Array:
        array, size = require.real_array("points", points), len(self.start)
        if array.ndim == 0 or array.shape[-1] != size:
            raise BadInput(
                f"points has shape {array.shape}: the {self.name} takes points of shape "
                f"(…, {size})."
            )
        return array


class LineFit:
    """The mean squared error of a line θ₀ + θ₁·x through measurements, as a landscape of θ.

    Args:
        x: where was measured, (n,).
        y: what was measured there, (n,).

    >>> fit = LineFit([0.0, 1.0], [1.0, 3.0])
    >>> fit.value([1.0, 2.0]), fit.gradient([0.0, 0.0]), fit.minimum.round(6)
    (np.float64(0.0), array([-4., -3.]), array([1., 2.]))
    """

    def __init__(self, x: Any, y: Any) -> None:
        self.x, self.y = require.real_array("x", x), require.real_array("y", y)
        if self.x.ndim != 1 or self.x.shape != self.y.shape or not self.x.size:
            raise BadInput(
                f"x has shape {self.x.shape}, and y {self.y.shape}: give two lists of one length."
            )

    def errors(self, theta: Any) -> Array:
        """How far the line is off at each measurement, (n,), with parameters of shape (2,)."""
        return np.asarray(theta[0] + theta[1] * self.x - self.y)

    def value(self, theta: Any) -> Any:
        """The mean of the squared errors."""
        return np.mean(self.errors(theta) ** 2)

    def gradient(self, theta: Any) -> Array:
        """The slope of the loss along θ₀ and θ₁, (2,)."""
        errors = self.errors(theta)
        return 2 * np.array([np.mean(errors), np.mean(errors * self.x)])

    @property
    def hessian_at_minimum(self) -> Array:
        """The second derivatives, (2, 2): for this loss the same everywhere."""
        mean = np.mean(self.x)
        return 2 * np.array([[1.0, mean], [mean, np.mean(self.x**2)]])

    @property
    def minimum(self) -> Array:
        """The parameters of the best line, (2,)."""
        columns = np.stack([np.ones_like(self.x), self.x], axis=1)
        return np.asarray(np.linalg.lstsq(columns, self.y)[0])


def quadratic(*curvatures: float) -> Surface:
    """The loss ½·Σ cᵢ·xᵢ², of as many parameters as curvatures are given.

    Its Hessian is diagonal, with the curvatures as its eigenvalues.

    >>> ravine = quadratic(1.0, 25.0)
    >>> ravine.value([2.0, 1.0]), ravine.gradient([2.0, 1.0]), ravine.largest_stable_step
    (np.float64(14.5), array([ 2., 25.]), 0.08)
    """
    if not curvatures:
        raise BadInput("quadratic has no curvatures: give one for each parameter, above zero.")
    for curvature in curvatures:
        require.above_zero("a curvature", curvature)
    return _quadratic("quadratic", *curvatures)


def _quadratic(name: str, *curvatures: float) -> Surface:
    def row(x: Array) -> Array:
        return np.array(curvatures, dtype=x.dtype)

    count = len(curvatures)
    axes = ("x", "y")[:count] if count <= 2 else [f"x{i}" for i in range(count)]
    terms = (f"{c:g}·{axis}²" for c, axis in zip(curvatures, axes, strict=True))
    return Surface(
        name,
        f"½·({' + '.join(terms)})".replace("(1·", "(").replace(" 1·", " "),
        lambda x: (row(x) * x**2).sum(-1) / 2,
        lambda x: row(x) * x,
        lambda x: np.broadcast_to(np.diag(row(x)), (*x.shape, x.shape[-1])).copy(),
        minima=((0.0,) * len(curvatures),),
        start=(-4.0, *(1.0 for _ in curvatures[1:])),
        window=(-5.0, 5.0, -2.5, 2.5),
    )


def _stack(*rows: tuple[Array, ...]) -> Array:
    """A matrix of entries that are each of shape (…), as (…, rows, columns)."""
    return np.stack([np.stack(np.broadcast_arrays(*row), axis=-1) for row in rows], axis=-2)


def _rosenbrock_slopes(p: Array) -> Array:
    x, y = p[..., 0], p[..., 1]
    return np.stack([-2 * (1 - x) - 400 * x * (y - x**2), 200 * (y - x**2)], axis=-1)


def _rosenbrock_curvatures(p: Array) -> Array:
    x, y = p[..., 0], p[..., 1]
    return _stack((2 - 400 * (y - 3 * x**2), -400 * x), (-400 * x, np.full_like(x, 200.0)))


def _saddle_curvatures(p: Array) -> Array:
    x, y = p[..., 0], p[..., 1]
    return _stack((np.ones_like(x), np.zeros_like(x)), (np.zeros_like(x), 3 * y**2 - 1))


BEALE = ((1, 1.5), (2, 2.25), (3, 2.625))  # Σ (c − x·(1 − yⁱ))², for these i, c


def _beale_heights(p: Array) -> Array:
    x, y = p[..., 0], p[..., 1]
    return np.sum([(c - x * (1 - y**i)) ** 2 for i, c in BEALE], axis=0, dtype=p.dtype)


def _beale_slopes(p: Array) -> Array:
    x, y = p[..., 0], p[..., 1]
    along_x = sum(-2 * (c - x * (1 - y**i)) * (1 - y**i) for i, c in BEALE)
    along_y = sum(2 * (c - x * (1 - y**i)) * i * x * y ** (i - 1) for i, c in BEALE)
    return np.stack([along_x, along_y], axis=-1)


def _beale_curvatures(p: Array) -> Array:
    x, y = p[..., 0], p[..., 1]
    xx = xy = yy = np.zeros_like(x)
    for i, c in BEALE:
        rest, rx, ry = c - x * (1 - y**i), y**i - 1, i * x * y ** (i - 1)
        xx = xx + 2 * rx**2
        xy = xy + 2 * (rx * ry + rest * i * y ** (i - 1))
        yy = yy + 2 * (ry**2 + rest * i * (i - 1) * x * y ** max(i - 2, 0))
    return _stack((xx, xy), (xy, yy))


SURFACES = {
    "bowl": _quadratic("bowl", 1.0, 1.0),
    "ravine": _quadratic("ravine", 1.0, 25.0),
    # Rosenbrock, "An automatic method for finding the greatest or least value of a function",
    # The Computer Journal 3(3), 1960
    "Rosenbrock": Surface(
        "Rosenbrock",
        "(1 − x)² + 100·(y − x²)²",
        lambda p: (1 - p[..., 0]) ** 2 + 100 * (p[..., 1] - p[..., 0] ** 2) ** 2,
        _rosenbrock_slopes,
        _rosenbrock_curvatures,
        minima=((1.0, 1.0),),
        start=(-1.2, 1.0),
        window=(-2.0, 2.0, -1.0, 3.0),
    ),
    # Nesterov, "Introductory lectures on convex optimization", 2004, section 1.2: the origin is
    # no minimum, and every descent that begins with y = 0 ends there
    "saddle": Surface(
        "saddle",
        "½·x² + ¼·y⁴ − ½·y²",
        lambda p: p[..., 0] ** 2 / 2 + p[..., 1] ** 4 / 4 - p[..., 1] ** 2 / 2,
        lambda p: np.stack([p[..., 0], p[..., 1] ** 3 - p[..., 1]], axis=-1),
        _saddle_curvatures,
        minima=((0.0, 1.0), (0.0, -1.0)),
        start=(-1.5, 0.0),
        window=(-2.0, 2.0, -1.6, 1.6),
    ),
    # Beale, "On an iterative method for finding a local minimum of a function of more than one
    # variable", Princeton, 1958
    "Beale": Surface(
        "Beale",
        "(1.5 − x + x·y)² + (2.25 − x + x·y²)² + (2.625 − x + x·y³)²",
        _beale_heights,
        _beale_slopes,
        _beale_curvatures,
        minima=((3.0, 0.5),),
        start=(1.0, 1.0),
        window=(-1.0, 4.5, -2.0, 2.0),
    ),
}


def surface(name: str) -> Surface:
    """One of the surfaces "bowl", "ravine", "Rosenbrock", "saddle" and "Beale".

    >>> surface("Rosenbrock").minimum
    array([1., 1.])
    """
    return SURFACES[require.choice("surface", name, SURFACES)]
