"""Losses to walk down: what a descent needs of one, and surfaces of two parameters.

A surface works on many points at once: an array of shape (…, 2) has values of shape (…) and
gradients (…, 2).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpulearn import require
from gpulearn.errors import BadInput
from gpulearn.optim.numerical import largest_stable_step
from gpulearn.optim.step_checks import Array

# what a descent needs: a `Surface`, or anything else whose methods `value` and `gradient` give the
# loss at a point, and its gradient, of the point's shape
Landscape = Any


@dataclass(frozen=True)
class Surface:
    """A loss of two parameters whose gradient and minima are known."""

    name: str  # such as "ravine"
    formula: str  # how the value is computed, for a title
    heights: Callable[[Array, Array], Array]  # of x and y
    slopes: Callable[[Array, Array], tuple[Array, Array]]  # along x and along y
    # the points where the value is least; the first stands for all
    minima: tuple[tuple[float, float], ...]
    curvatures: tuple[tuple[float, float], tuple[float, float]]  # the Hessian there
    start: tuple[float, float]  # a point from which a descent is worth watching
    # (left, right, bottom, top) of a picture that shows start and minima
    window: tuple[float, float, float, float]

    def value(self, points: Any) -> Any:
        """Values of shape (…) at points of shape (…, 2)."""
        return self.heights(*self._coordinates(points))[()]

    def gradient(self, points: Any) -> Array:
        """Gradients of shape (…, 2) at points of shape (…, 2)."""
        return np.stack(self.slopes(*self._coordinates(points)), axis=-1)

    @property
    def minimum(self) -> Array:
        """A point where the value is least, (2,)."""
        return np.array(self.minima[0])

    @property
    def hessian_at_minimum(self) -> Array:
        """The second derivatives at `minimum`, (2, 2)."""
        return np.array(self.curvatures)

    @property
    def largest_stable_step(self) -> float:
        """The largest learning rate with which plain descent stays at `minimum`."""
        return largest_stable_step(self.hessian_at_minimum)

    def _coordinates(self, points: Any) -> tuple[Array, Array]:
        array = require.real_array("points", points)
        if array.ndim == 0 or array.shape[-1] != 2:
            raise BadInput(
                f"points has shape {array.shape}: the {self.name} takes points of shape (…, 2)."
            )
        return array[..., 0], array[..., 1]


class LineFit:
    """The mean squared error of a line θ₀ + θ₁·x through measurements (x, y), as a landscape of θ.

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


BEALE = ((1, 1.5), (2, 2.25), (3, 2.625))  # Σ (c − x·(1 − yⁱ))², for these i, c


def _beale_heights(x: Array, y: Array) -> Array:
    return sum(((c - x * (1 - y**i)) ** 2 for i, c in BEALE), start=np.zeros(()))


def _beale_slopes(x: Array, y: Array) -> tuple[Any, Any]:
    along_x = sum(-2 * (c - x * (1 - y**i)) * (1 - y**i) for i, c in BEALE)
    along_y = sum(2 * (c - x * (1 - y**i)) * i * x * y ** (i - 1) for i, c in BEALE)
    return along_x, along_y


SURFACES = {
    "bowl": Surface(
        "bowl",
        "½·(x² + y²)",
        lambda x, y: (x**2 + y**2) / 2,
        lambda x, y: (x, y),
        minima=((0.0, 0.0),),
        curvatures=((1.0, 0.0), (0.0, 1.0)),
        start=(-4.0, 1.0),
        window=(-5.0, 5.0, -2.5, 2.5),
    ),
    "ravine": Surface(
        "ravine",
        "½·(x² + 25·y²)",
        lambda x, y: (x**2 + 25 * y**2) / 2,
        lambda x, y: (x, 25 * y),
        minima=((0.0, 0.0),),
        curvatures=((1.0, 0.0), (0.0, 25.0)),
        start=(-4.0, 1.0),
        window=(-5.0, 5.0, -2.5, 2.5),
    ),
    # Rosenbrock, "An automatic method for finding the greatest or least value of a function",
    # The Computer Journal 3(3), 1960
    "Rosenbrock": Surface(
        "Rosenbrock",
        "(1 − x)² + 100·(y − x²)²",
        lambda x, y: (1 - x) ** 2 + 100 * (y - x**2) ** 2,
        lambda x, y: (-2 * (1 - x) - 400 * x * (y - x**2), 200 * (y - x**2)),
        minima=((1.0, 1.0),),
        curvatures=((802.0, -400.0), (-400.0, 200.0)),
        start=(-1.2, 1.0),
        window=(-2.0, 2.0, -1.0, 3.0),
    ),
    # Nesterov, "Introductory lectures on convex optimization", 2004, section 1.2: the origin is
    # no minimum, and every descent that begins with y = 0 ends there
    "saddle": Surface(
        "saddle",
        "½·x² + ¼·y⁴ − ½·y²",
        lambda x, y: x**2 / 2 + y**4 / 4 - y**2 / 2,
        lambda x, y: (x, y**3 - y),
        minima=((0.0, 1.0), (0.0, -1.0)),
        curvatures=((1.0, 0.0), (0.0, 2.0)),
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
        minima=((3.0, 0.5),),
        curvatures=((3.15625, -11.4375), (-11.4375, 46.125)),
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
