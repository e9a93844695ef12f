"""Descents: paths over contours, losses over steps, and both for a chosen surface and method."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gpulearn import require
from gpulearn.display import Picture, show
from gpulearn.errors import BadInput
from gpulearn.optim.landscapes import SURFACES, Landscape, Surface, surface
from gpulearn.optim.optimizers import OPTIMIZERS
from gpulearn.optim.trajectories import Trajectory, descend
from gpulearn.plot.controls import Explorer, choices, dropdown
from gpulearn.plot.line_charts import curves
from gpulearn.plot.style import LINES, figure, legend_beside, looks, note

Window = tuple[float, float, float, float]
LEVELS = 12
ACROSS, UP = 121, 91  # points of the grid whose heights make the contours
FINER = 3  # times as many where all heights come at once: Rosenbrock's ravine falls apart else
STEPS = 200
METHODS = {method.title: method for method in OPTIMIZERS.values() if method.explored}
# ten rates to a factor of ten, from 0.0001 to 1
RATES = tuple(10 ** (tenth / 10) for tenth in range(-40, 1))
MOMENTA = (0.0, 0.2, 0.4, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 0.98)


def draw_paths(
    axes: Any,
    landscape: Landscape,
    paths: Mapping[str, Trajectory],
    window: Window,
    minima: Sequence[Any] = (),
) -> None:
    """Draw contours and paths into given axes; S marks the start, a star each minimum.

    Levels grow by the same factor above the lowest height, so that the bottom shows.
    """
    left, right, bottom, top = window
    at_once = isinstance(landscape, Surface)
    times = FINER if at_once else 1
    x, y = np.linspace(left, right, times * ACROSS), np.linspace(bottom, top, times * UP)
    points = np.stack(np.meshgrid(x, y), axis=-1)
    heights = np.asarray(
        landscape.value(points)
        if at_once
        else [[landscape.value(point) for point in row] for row in points]
    )
    finite = heights[np.isfinite(heights)]
    levels = finite.min() + np.geomspace(1e-4, 1, LEVELS) * (finite.max() - finite.min())
    axes.contour(x, y, heights, levels=levels, cmap="Grays_r", linewidths=0.8, alpha=0.8)
    for (label, path), look in zip(paths.items(), looks(list(paths)), strict=True):
        every = max(1, path.steps // 25)
        axes.plot(
            *path.points.T, label=label, markersize=4.5, markevery=every, linewidth=1.6, **look
        )
    starts = np.array([path.points[0] for path in paths.values()])
    # starts that cannot be told apart in the picture get one letter
    cells = np.round((starts - (left, bottom)) / (right - left, top - bottom), 2)
    for number in np.unique(cells, axis=0, return_index=True)[1]:
        note(axes, "S", tuple(starts[number]), (-13, 5), fontweight="bold")
    for point in minima or getattr(landscape, "minima", ()):
        axes.plot(*([number] for number in point), "*", color="black", markersize=13, zorder=5)
    axes.set(xlim=(left, right), ylim=(bottom, top))
    axes.grid(visible=False)


def _check_paths(paths: Mapping[str, Any]) -> None:
    expected = f'{{"name": path, …}}, one to {len(LINES)} of them'
    require.named("paths", paths, expected, len(LINES))
    require.each(paths, Trajectory, "the path that gl.optim.descend returned")


def descent(
    landscape: Landscape,
    paths: Mapping[str, Trajectory],
    *,
    window: Window | None = None,
    axes: tuple[str, str] = ("x", "y"),
    minima: Sequence[Any] = (),
) -> Picture:
    """Draw the paths of descents over the contours of the loss.

    Args:
        landscape: a `Surface`, or anything else with a value and a gradient, of two parameters.
        paths: label → what `descend` returned, with two parameters; up to eight.
        window: (left, right, bottom, top); that of the surface, or one that holds all paths.
        axes: what the two parameters are.
        minima: points to mark with a star; those of a surface are known.
    """
    _check_paths(paths)
    for name, path in paths.items():
        if path.points.shape[1:] != (2,):
            raise BadInput(f"{name} has points {path.points.shape}: contours need two parameters.")
    named = "the loss"
    if isinstance(landscape, Surface):
        window, named = window or landscape.window, f"the {landscape.name} surface"
    if window is None:
        points = np.concatenate([path.points for path in paths.values()])
        low, high = points.min(axis=0), points.max(axis=0)
        room = 0.15 * np.where(high > low, high - low, 1.0)
        (left, bottom), (right, top) = low - room, high + room
        window = float(left), float(right), float(bottom), float(top)
    with figure(7.8, 4.6) as (fig, panel):
        draw_paths(panel, landscape, paths, window, minima)
        panel.set(xlabel=axes[0], ylabel=axes[1])
        legend_beside(panel)
    outcomes = " ".join(f"{name}: {path.outcome}" for name, path in paths.items())
    return show(fig, f"Paths over the contours of {named}. {outcomes}")


def losses(paths: Mapping[str, Trajectory], *, least: float = 0.0) -> Picture:
    """Draw the loss over the steps of descents, on a logarithmic axis.

    Args:
        paths: label → what `descend` returned; up to eight.
        least: the lowest loss that there is; the axis shows how far above it the loss is.
    """
    _check_paths(paths)
    # what is nearer to the lowest than rounding can tell is left out, and so is zero, which has
    # no place on a logarithmic axis
    nothing = 32 * np.finfo(float).eps * abs(least)
    above = {
        name: np.where(path.values - least > nothing, path.values - least, np.nan)
        for name, path in paths.items()
    }
    label = "loss J" if least == 0 else "loss above the lowest, J − J*"
    return curves(above, "step", label, log="y")


def draw_descent(name: str, method: str, rate: float, momentum: float) -> tuple[Picture, str]:
    """The path and the losses of one descent of 200 steps; the explorer's whole logic."""
    ground, chosen = surface(name), METHODS[method]
    option, lowest = chosen.memory_option, float(ground.value(ground.minimum))
    options = {option: momentum} if option else {}
    path = descend(ground, ground.start, chosen.step, lr=rate, steps=STEPS, **options)
    steepest = 2 / ground.largest_stable_step
    clause = "Its steps are scaled, so that 2/λmax is no limit for them."
    if chosen.stable_limit is not None:
        limit = chosen.stable_limit(steepest, momentum)
        clause = (
            f"At the minimum λmax is {steepest:.3g}; the rate is {rate / limit:.2f} times the "
            f"limit {limit:.3g}, {'below' if rate < limit else 'above'} it."
        )
    # a path that rests on a saddle has lost all its slope, and is not down
    high = f" The lowest loss is {lowest:.3g}." if lowest else ""
    setting = f", {option} {momentum:g}" if option else ""
    text = f"{name}, {method}, rate {rate:.3g}{setting}: {path.outcome}{high} {clause}"
    with figure(10.0, 4.2, columns=2) as (fig, (left, right)):
        draw_paths(left, ground, {method: path}, ground.window)
        left.set_title(f"{name}: J = {ground.formula}", fontsize=9)
        left.set(xlabel="x", ylabel="y")
        above = path.values - lowest
        right.plot(np.where(above > 0, above, np.nan))
        right.set(yscale="log", xlim=(0, STEPS))
        right.set(xlabel="step", ylabel="loss above the lowest, J − J*")
    x, y = path.points[-1]
    return show(fig, f"The path over the contours ends at ({x:.3g}, {y:.3g}). {text}"), text


def descent_explorer() -> Explorer:
    """Choose a surface, a method, its rate and its momentum; see the path and the losses."""
    controls = {
        "name": dropdown("surface", list(SURFACES), "ravine"),
        "method": dropdown("method", list(METHODS), "gradient descent"),
        "rate": choices("rate", RATES, RATES[28], "{:.3g}"),
        "momentum": choices("momentum", MOMENTA, 0.9, "{:.3g}"),
    }
    return Explorer(draw_descent, controls)
