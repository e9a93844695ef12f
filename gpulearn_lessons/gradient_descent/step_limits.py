"""Figures on curvature and learning rates: one parameter, two directions, momentum."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from gpulearn import require
from gpulearn.display import Picture, show
from gpulearn.errors import BadInput
from gpulearn.optim.numerical import momentum_factor
from gpulearn.plot.controls import Explorer, choices
from gpulearn.plot.style import LINES, figure, note

Number = Callable[[float], float]
Array = np.ndarray[Any, Any]
STEPS = 12
# from 0.001 to 0.1, ten per factor of ten, rounded as the slider shows them
RATES = tuple(float(f"{10 ** (tenth / 10):.2g}") for tenth in range(-30, -9))
WINDOW = (-1.0, 4.0)


def draw_walk(loss: Number, slope: Number, start: float, rate: float) -> tuple[Picture, str]:
    """Draw 12 steps of gradient descent on the loss curve, as long as they stay in the picture."""
    places = [start]
    for step in range(1, STEPS + 1):
        there = places[-1] - rate * slope(places[-1])
        if not WINDOW[0] <= there <= WINDOW[1]:
            end = f"step {step} leads to {there:.3g}, outside the picture."
            break
        places.append(there)
    else:
        end = f"{STEPS} steps lead from {start:g} to {there:.4g}, where J is {loss(there):.3g}."
    text = f"Rate {rate:.3g}: {end}"
    with figure(7.0, 3.4) as (fig, axes):
        x = np.linspace(*WINDOW, 201)
        axes.plot(x, [loss(theta) for theta in x], color="0.5")
        axes.plot(places, [loss(theta) for theta in places], **LINES[0], markersize=5,
                  linewidth=1.4)  # fmt: skip
        note(axes, "S", (start, loss(start)), (-14, 4), fontweight="bold")
        axes.set(xlabel="θ", ylabel="loss J")
        return show(fig, f"Gradient descent on the loss curve. {text}"), text


def rate_explorer(loss: Number, slope: Number) -> Explorer:
    """Choose a learning rate and see twelve steps of gradient descent on the loss curve, from 0.

    `loss` is θ → J(θ), `slope` its derivative.
    """
    if not (callable(loss) and callable(slope)):
        raise BadInput(
            "gradient_descent.rate_explorer takes two functions of θ: the loss and its slope."
        )
    controls = {"rate": choices("rate", RATES, RATES[7], "{:.2g}")}
    return Explorer(lambda rate: draw_walk(loss, slope, 0.0, rate), controls)


def directions(hessian: Any) -> Picture:
    """Draw the curvature of a surface of two parameters in each direction.

    On the left, lines of equal loss around the minimum, with the two eigenvectors as arrows; on the
    right, the curvature dᵀHd along each direction d, with the eigenvalues marked. `hessian` is
    symmetric, (2, 2), with positive eigenvalues.
    """
    matrix = require.real_array("hessian", hessian)
    if matrix.shape != (2, 2) or not np.allclose(matrix, matrix.T):
        raise BadInput(f"hessian has shape {matrix.shape}: give a symmetric matrix, (2, 2).")
    curvatures, vectors = np.linalg.eigh(matrix)
    if curvatures[0] <= 0:
        raise BadInput(
            f"hessian has the eigenvalue {curvatures[0]:.3g}: give one with positive eigenvalues."
        )
    vectors = vectors * np.where(vectors[1] < 0, -1, 1)  # both arrows point upwards
    angles = np.degrees(np.arctan2(vectors[1], vectors[0])) % 180
    with figure(10.0, 4.0, columns=2) as (fig, (left, right)):
        _ellipses(left, matrix, curvatures, vectors)
        every = np.linspace(0, 180, 361)
        d = np.stack([np.cos(np.radians(every)), np.sin(np.radians(every))])
        right.plot(every, np.einsum("in,ij,jn->n", d, matrix, d), color="C0")
        for number, name in enumerate(("lowest", "highest")):
            right.plot(angles[number], curvatures[number], "o^"[number], color=f"C{number + 1}")
            note(right, f"{name}: {curvatures[number]:.3g} at {angles[number]:.0f}°",
                 (angles[number], curvatures[number]), ((-40, -4), (0, 9))[number],
                 ha=("right", "center")[number], fontsize=9)  # fmt: skip
        right.set(xlabel="direction, in degrees from the θ₀ axis", ylabel="curvature")
        right.set_xticks(range(0, 181, 45))
        right.set_ylim(-0.06 * curvatures[1], 1.15 * curvatures[1])
        return show(
            fig,
            f"Over all directions, the curvature is lowest, {curvatures[0]:.3g}, at "
            f"{angles[0]:.0f}° and highest, {curvatures[1]:.3g}, at {angles[1]:.0f}°; the two are "
            "at right angles.",
        )


def _ellipses(axes: Any, matrix: Array, curvatures: Array, vectors: Array) -> None:
    """Lines of equal loss around the minimum, and the eigenvectors, which reach the outermost."""
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
        note(axes, f"λ = {curvatures[number]:.3g}", (x_end, y_end), (4, 4), fontsize=9)
    axes.plot(0, 0, "*", color="black", markersize=10)
    axes.set_aspect("equal")
    axes.set(xlabel="θ₀ from the minimum", ylabel="θ₁ from the minimum")


def momentum_plane(curvatures: Any, settings: Mapping[str, tuple[float, float]]) -> Picture:
    """Draw the factor per step over rate × curvature and momentum, with settings as bars.

    Each setting is a bar from the flattest to the steepest direction; the slower of its two ends
    decides. Right of the solid line a direction diverges; between the dashed line and (1 + √μ)²
    the factor is √μ, whatever the curvature.

    `curvatures` are positive, and only the lowest and the highest count; `settings` maps a label
    to (learning rate, momentum).
    """
    require.named("settings", settings, '{"label": (rate, momentum), …}')
    values = require.real_array("curvatures", curvatures)
    if not values.size or values.min() <= 0:
        raise BadInput(f"curvatures is {require.shown(curvatures)}: give positive numbers.")
    ends = np.array([values.min(), values.max()])
    shares, momenta = np.geomspace(3e-3, 6, 301), np.linspace(0, 0.99, 199)
    factors = momentum_factor(shares[None, :], momenta[:, None])
    clauses = []
    with figure(8.6, 4.4) as (fig, axes):
        levels = (0, 0.5, 0.7, 0.8, 0.85, 0.9, 0.95, 0.99, 1.0)
        areas = axes.contourf(shares, momenta, np.minimum(factors, 1.0), levels, cmap="Blues_r")
        fig.colorbar(areas, ax=axes, label="factor per step", format="%g")
        axes.contourf(shares, momenta, factors, (1.0, np.inf), colors=["0.75"])
        axes.plot(2 * (1 + momenta), momenta, color="black", label="limit, 2(1 + μ)")
        creeps = (1 - np.sqrt(momenta)) ** 2
        visible = creeps >= shares[0]
        axes.plot(
            creeps[visible], momenta[visible], color="black", linestyle="--", label="(1 − √μ)²"
        )
        for number, (label, (rate, momentum)) in enumerate(settings.items()):
            if not (rate > 0 and 0 <= momentum < 1):
                raise BadInput(f"{label!r} is ({rate}, {momentum}): give a rate and a momentum.")
            look = {**LINES[number % len(LINES)], "linestyle": "-", "color": f"C{number + 1}"}
            axes.plot(rate * ends, [momentum, momentum], label=label, linewidth=3, **look)
            slower = float(np.max(momentum_factor(rate * ends, momentum)))
            clauses.append(f"{label}: {slower:.3f} per step")
        axes.set_xscale("log")
        axes.set(xlabel="rate × curvature, ηλ", ylabel="momentum μ")
        axes.set_xlim(shares[0], shares[-1])
        axes.set_ylim(-0.02, 0.99)
        axes.grid(visible=False)
        axes.legend(fontsize=8, loc="upper left", bbox_to_anchor=(0, -0.15), ncols=3)
        kappa = ends[1] / ends[0]
        return show(fig, f"κ = {kappa:.3g}. Factor at the slower end: {'; '.join(clauses)}.")
