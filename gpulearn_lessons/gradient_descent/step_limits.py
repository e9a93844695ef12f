"""Curvature and the length of steps: a walk on a curve, each direction, rate and momentum."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from gpulearn import require
from gpulearn.display import Picture, show
from gpulearn.errors import BadInput
from gpulearn.optim.numerical import momentum_factor
from gpulearn.plot.controls import Explorer, choices
from gpulearn.plot.style import LINES, figure

__all__ = ["directions", "momentum_plane", "rate_explorer"]

Number = Callable[[float], float]
Array = np.ndarray[Any, Any]
STEPS = 12
# from 0.001 to 0.1, ten to a factor of ten
RATES = tuple(10 ** (tenth / 10) for tenth in range(-30, -9))
WINDOW = (-1.0, 4.0)


def walk_on(slope: Number, start: float, rate: float, window: tuple[float, float]) -> list[float]:
    """The places of a walk of 12 steps, as far as it stays within the window.

    >>> walk_on(lambda x: 2 * x, 1.0, 0.75, (-2, 2))[:3]
    [1.0, -0.5, 0.25]
    """
    places = [start]
    for _ in range(STEPS):
        there = places[-1] - rate * slope(places[-1])
        if not window[0] <= there <= window[1]:
            break
        places.append(there)
    return places


def draw_walk(
    loss: Number, slope: Number, start: float, rate: float, window: tuple[float, float]
) -> tuple[Picture, str]:
    """A walk on the curve of its loss, and its sentence; the explorer's whole logic."""
    places = walk_on(slope, start, rate, window)
    made = len(places) - 1
    if made < STEPS:
        there = places[-1] - rate * slope(places[-1])
        end = f"step {made + 1} leads to {there:.3g}, out of the picture."
    else:
        end = f"{STEPS} steps lead from {start:g} to {places[-1]:.4g}, where J is "
        end += f"{loss(places[-1]):.3g}."
    with figure(7.0, 3.4) as (figure_made, axes):
        x = np.linspace(*window, 201)
        axes.plot(x, [loss(one) for one in x], color="0.5")
        axes.plot(places, [loss(one) for one in places], **LINES[0], markersize=5, linewidth=1.4)
        axes.annotate(
            "S",
            (start, loss(start)),
            xytext=(-14, 4),
            textcoords="offset points",
            fontweight="bold",
        )
        axes.set(xlabel="θ", ylabel="loss J")
        sentence = f"Rate {rate:.3g}: {end}"
        return show(figure_made, f"A walk on the curve of its loss. {sentence}"), sentence


def rate_explorer(loss: Number, slope: Number, start: float = 0.0) -> Explorer:
    """Choose a learning rate, see twelve steps on the curve; the arrow keys move the slider.

    Args:
        loss: θ → J(θ).
        slope: θ → its derivative there.
        start: where the walk begins, from −1 to 4.
    """
    require.package("ipywidgets", "gradient_descent.rate_explorer")
    if not (callable(loss) and callable(slope)):
        raise BadInput(
            "gradient_descent.rate_explorer takes two functions of θ: the loss and its slope."
        )
    controls = {"rate": choices("rate", [(f"{one:.2g}", one) for one in RATES], RATES[7])}
    return Explorer(lambda rate: draw_walk(loss, slope, start, rate, WINDOW), controls)


def directions(hessian: Any) -> Picture:
    """Draw how strongly a surface of two parameters bends in each direction.

    On the left the lines of equal loss round the bottom, with the two eigenvectors as arrows; on
    the right the curvature dᵀHd along each direction d, with the eigenvalues as marks.

    Args:
        hessian: symmetric, (2, 2), with eigenvalues above zero.

    Raises:
        BadInput: it is none of that.
    """
    matrix = require.real_array("hessian", hessian)
    if matrix.shape != (2, 2) or not np.allclose(matrix, matrix.T):
        raise BadInput(f"hessian has shape {matrix.shape}: give a symmetric matrix, (2, 2).")
    curvatures, vectors = np.linalg.eigh(matrix)
    if curvatures[0] <= 0:
        raise BadInput(f"the curvature {curvatures[0]:.3g} is not above zero: there is no bottom.")
    vectors = vectors * np.where(vectors[1] < 0, -1, 1)  # both arrows point upwards
    angles = np.degrees(np.arctan2(vectors[1], vectors[0])) % 180
    with figure(10.0, 4.0, columns=2) as (made, (left, right)):
        _ellipses(left, matrix, curvatures, vectors)
        every = np.linspace(0, 180, 361)
        d = np.stack([np.cos(np.radians(every)), np.sin(np.radians(every))])
        right.plot(every, np.einsum("in,ij,jn->n", d, matrix, d), color="C0")
        for number, name in enumerate(("least", "most")):
            right.plot(angles[number], curvatures[number], "o^"[number], color=f"C{number + 1}")
            right.annotate(
                f"{name}: {curvatures[number]:.3g} at {angles[number]:.0f}°",
                (angles[number], curvatures[number]),
                xytext=((-40, -4), (0, 9))[number],
                textcoords="offset points",
                ha=("right", "center")[number],
                fontsize=9,
            )
        right.set(xlabel="direction, degrees from the axis of θ₀", ylabel="curvature")
        right.set_xticks(range(0, 181, 45))
        right.set_ylim(-0.06 * curvatures[1], 1.15 * curvatures[1])
        said = (
            f"The curvature over all directions is least, {curvatures[0]:.3g}, at "
            f"{angles[0]:.0f}°, and most, {curvatures[1]:.3g}, at {angles[1]:.0f}°; the two are "
            "at right angles."
        )
        return show(made, said)


def _ellipses(axes: Any, matrix: Array, curvatures: Array, vectors: Array) -> None:
    """Lines of equal loss round the bottom, and the eigenvectors, as long as the outermost."""
    reach = 1 / np.sqrt(curvatures)
    size = 1.15 * reach[0]
    x = np.linspace(-size, size, 401)
    grid = np.stack(np.meshgrid(x, x))
    height = np.einsum("iab,ij,jab->ab", grid, matrix, grid)
    axes.contour(x, x, height, levels=(0.1, 0.4, 1.0), colors="0.6", linewidths=1)
    for number in range(2):
        x_end, y_end = vectors[:, number] * max(reach[number], 0.25 * reach[0])
        arrow = {"arrowstyle": "->", "color": f"C{number + 1}", "linewidth": 2}
        axes.annotate("", (x_end, y_end), (0, 0), arrowprops=arrow)
        axes.annotate(
            f"λ = {curvatures[number]:.3g}", (x_end, y_end), xytext=(4, 4),
            textcoords="offset points", fontsize=9,
        )  # fmt: skip
    axes.plot(0, 0, "*", color="black", markersize=10)
    axes.set_aspect("equal")
    axes.set(xlabel="θ₀ from the bottom", ylabel="θ₁ from the bottom")


def momentum_plane(curvatures: Any, settings: Mapping[str, tuple[float, float]]) -> Picture:
    """Draw the factor of each step over rate × curvature and momentum, with settings as bars.

    Each setting is a bar from the flattest to the steepest direction; the slower of its two ends
    decides. Left of the dashed line a direction creeps, and right of the full one it explodes;
    between the dashed line and (1 + √μ)² the factor is √μ, whatever the curvature.

    Args:
        curvatures: of all directions, above zero; the least and the most of them count.
        settings: label → (learning rate, momentum).

    Raises:
        BadInput: there is no setting, or a number is out of its range.
    """
    require.named("settings", settings, '{"label": (rate, momentum), …}')
    found = require.real_array("curvatures", curvatures)
    if not found.size or found.min() <= 0:
        raise BadInput("curvatures must be above zero: elsewhere there is no bottom.")
    ends = np.array([found.min(), found.max()])
    shares, momenta = np.geomspace(3e-3, 6, 301), np.linspace(0, 0.99, 199)
    factors = momentum_factor(shares[None, :], momenta[:, None])
    said = []
    with figure(8.6, 4.4) as (made, axes):
        levels = (0, 0.5, 0.7, 0.8, 0.85, 0.9, 0.95, 0.99, 1.0)
        drawn = axes.contourf(shares, momenta, np.minimum(factors, 1.0), levels, cmap="Blues_r")
        made.colorbar(drawn, ax=axes, label="factor of each step", format="%g")
        axes.contourf(shares, momenta, factors, (1.0, np.inf), colors=["0.75"])
        axes.plot(2 * (1 + momenta), momenta, color="black", label="limit, 2(1 + μ)")
        creeps = (1 - np.sqrt(momenta)) ** 2
        seen = creeps >= shares[0]
        axes.plot(creeps[seen], momenta[seen], color="black", linestyle="--", label="(1 − √μ)²")
        for number, (label, (rate, momentum)) in enumerate(settings.items()):
            if not (rate > 0 and 0 <= momentum < 1):
                raise BadInput(f"{label!r} is ({rate}, {momentum}): give a rate and a momentum.")
            look = {**LINES[number % len(LINES)], "linestyle": "-", "color": f"C{number + 1}"}
            axes.plot(rate * ends, [momentum, momentum], label=label, linewidth=3, **look)
            slower = float(np.max(momentum_factor(rate * ends, momentum)))
            said.append(f"{label}: {slower:.3f} for each step")
        axes.set_xscale("log")
        axes.set(xlabel="rate × curvature, ηλ", ylabel="momentum μ")
        axes.set_xlim(shares[0], shares[-1])
        axes.set_ylim(-0.02, 0.99)
        axes.grid(visible=False)
        axes.legend(fontsize=8, loc="upper left", bbox_to_anchor=(0, -0.15), ncols=3)
        kappa = ends[1] / ends[0]
        return show(made, f"κ = {kappa:.3g}. Factor of the slower end: {'; '.join(said)}.")
