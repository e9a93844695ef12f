"""What can be walked down: a loss whose gradient and curvature are known."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from gpulearn import require
from gpulearn.errors import BadInput
from gpulearn.optim.numerical import largest_stable_step
from gpulearn.optim.step_rules import Array

__all__ = ["Landscape", "Surface", "quadratic"]


class Landscape(Protocol):
    """What a descent needs: a `Surface`, or anything else with a value and a gradient."""

    def value(self, points: Any) -> Any:
        """The loss at a point."""

    def gradient(self, points: Any) -> Any:
        """The gradient at a point, of the point's shape."""


@dataclass(frozen=True)
class Surface:
    """A loss whose gradient, curvature and minima are known.

    Attributes:
        name: such as "ravine".
        formula: how the value is computed, for a title.
        heights: points (…, n) -> values (…).
        slopes: points (…, n) -> gradients (…, n).
        curvatures: points (…, n) -> Hessians (…, n, n).
        minima: the points where the value is least, (k, n); the first stands for all.
        start: a point from which a descent is worth watching, (n,).
        window: (left, right, bottom, top) of a picture that shows start and minima.
    """

    name: str
    formula: str
    heights: Callable[[Array], Array]
    slopes: Callable[[Array], Array]
    curvatures: Callable[[Array], Array]
    minima: tuple[tuple[float, ...], ...]
    start: tuple[float, ...]
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
        found = require.real_array("points", points)
        size = len(self.start)
        if found.ndim == 0 or found.shape[-1] != size:
            raise BadInput(
                f"points has shape {found.shape}: the {self.name} takes points of shape "
                f"(…, {size})."
            )
        return found


def quadratic(*curvatures: float) -> Surface:
    """The loss ½·Σ cᵢ·xᵢ², of as many parameters as curvatures are given.

    Its Hessian is diagonal, with the curvatures as its eigenvalues.

    Raises:
        BadInput: no curvature is given, or one is not above zero.

    >>> ravine = quadratic(1.0, 25.0)
    >>> ravine.value([2.0, 1.0]), ravine.gradient([2.0, 1.0]), ravine.largest_stable_step
    (np.float64(14.5), array([ 2., 25.]), 0.08)
    """
    if not curvatures:
        raise BadInput("quadratic has no curvatures: give one for each parameter, above zero.")
    for curvature in curvatures:
        require.above_zero("a curvature", curvature)
    return named_quadratic("quadratic", *curvatures)


def named_quadratic(name: str, *curvatures: float) -> Surface:
    """A `quadratic` with a name of its own."""

    def row(x: Array) -> Array:
        return np.array(curvatures, dtype=x.dtype)

    terms = (f"{c:g}·{axis}²" for c, axis in zip(curvatures, _axes(len(curvatures)), strict=True))
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


def _axes(count: int) -> tuple[str, ...]:
    return (
        ("x", "y") if count == 2 else ("x",) if count == 1 else tuple(f"x{i}" for i in range(count))
    )
