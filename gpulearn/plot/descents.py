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
from gpulearn.plot.style import LINES, figure, legend_beside, looks

__all__ = ["METHODS", "descent", "descent_explorer", "losses", "need_paths"]

Window = tuple[float, float, float, float]
LEVELS = 12
ACROSS, UP = 121, 91  # points of the grid whose heights make the contours
FINER = 3  # times as many where all heights come at once: Rosenbrock's ravine falls apart else


def contour_levels(heights: np.ndarray[Any, Any], count: int = LEVELS) -> np.ndarray[Any, Any]:
    """Levels that grow by the same factor above the lowest height, so that the bottom shows.

    Args:
        heights: of any shape, not all equal.
        count: how many levels.

    >>> contour_levels(np.array([0.0, 1.0, 1000.0]), 3).round(2).tolist()
    [0.1, 10.0, 1000.0]
    """
    finite = heights[np.isfinite(heights)]
    least, most = finite.min(), finite.max()
    made: np.ndarray[Any, Any] = least + np.geomspace(1e-4, 1, count) * (most - least)
    return made


def heights_over(landscape: Landscape, window: Window) -> tuple[Any, Any, Any]:
    """The grid's x (m,) and y (n,), and the heights over them, (n, m)."""
    left, right, bottom, top = window
    at_once = isinstance(landscape, Surface)
    times = FINER if at_once else 1
    x, y = np.linspace(left, right, times * ACROSS), np.linspace(bottom, top, times * UP)
    points = np.stack(np.meshgrid(x, y), axis=-1)
    if at_once:
        return x, y, landscape.value(points)
    return x, y, np.array([[landscape.value(point) for point in row] for row in points])


def window_of(landscape: Landscape, paths: Sequence[Trajectory]) -> Window:
    """The window that a surface names, or one with room around all points of the paths."""
    if isinstance(landscape, Surface):
        return landscape.window
    points = np.concatenate([path.points for path in paths])
    low, high = points.min(axis=0), points.max(axis=0)
    room = 0.15 * np.where(high > low, high - low, 1.0)
    (left, bottom), (right, top) = low - room, high + room
    return float(left), float(right), float(bottom), float(top)


def draw_paths(
    axes: Any,
    landscape: Landscape,
    paths: Mapping[str, Trajectory],
    window: Window,
    minima: Sequence[Any] = (),
) -> None:
    """Draw contours and paths into given axes; S marks the start, a star each minimum."""
    x, y, heights = heights_over(landscape, window)
    levels = contour_levels(heights)
    axes.contour(x, y, heights, levels=levels, cmap="Greys_r", linewidths=0.8, alpha=0.8)
    for (label, path), look in zip(paths.items(), looks(list(paths)), strict=True):
        every = max(1, path.steps // 25)
        axes.plot(
            *path.points.T, label=label, markersize=4.5, markevery=every, linewidth=1.6, **look
        )
    left, right, bottom, top = window
    starts = np.array([path.points[0] for path in paths.values()])
    # starts that cannot be told apart in the picture get one letter
    cells = np.round((starts - (left, bottom)) / (right - left, top - bottom), 2)
    for number in np.unique(cells, axis=0, return_index=True)[1]:
        where = tuple(starts[number])
        axes.annotate("S", where, xytext=(-13, 5), textcoords="offset points", fontweight="bold")
    for point in minima or getattr(landscape, "minima", ()):
        axes.plot(*([number] for number in point), "*", color="black", markersize=13, zorder=5)
    axes.set_xlim(left, right)
    axes.set_ylim(bottom, top)
    axes.grid(visible=False)


def need_paths(paths: Mapping[str, Any], most: int = len(LINES)) -> None:
    """Check that these are named paths, as many as can be shown.

    Raises:
        BadInput: they are not.
    """
    require.named("paths", paths, f'{{"name": path, …}}, one to {most} of them', most)
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

    Each contour is higher above the lowest point of the window by the same factor than the one
    inside it.

    Args:
        landscape: a `Surface`, or anything else with a value and a gradient, of two parameters.
        paths: label → what `descend` returned, with two parameters.
        window: (left, right, bottom, top); that of the surface, or one that holds all paths.
        axes: what the two parameters are.
        minima: points to mark with a star; those of a surface are known.

    Raises:
        BadInput: there are no paths or more than eight, or one is not of two parameters.
    """
    need_paths(paths)
    for name, path in paths.items():
        if path.points.shape[1:] != (2,):
            raise BadInput(f"{name} has points {path.points.shape}: contours need two parameters.")
    with figure(7.8, 4.6) as (made, drawn):
        seen = window or window_of(landscape, list(paths.values()))
        draw_paths(drawn, landscape, paths, seen, minima)
        drawn.set(xlabel=axes[0], ylabel=axes[1])
        legend_beside(drawn)
    named = f"the {landscape.name} surface" if isinstance(landscape, Surface) else "the loss"
    return show(made, f"Paths over the contours of {named}. {_said(paths)}")


def _said(paths: Mapping[str, Trajectory]) -> str:
    return " ".join(f"{name}: {path.outcome}" for name, path in paths.items())


def losses(
    paths: Mapping[str, Trajectory], *, least: float = 0.0, marks: Mapping[str, float] | None = None
) -> Picture:
    """Draw the loss over the steps of descents, on a logarithmic axis.

    Args:
        paths: label → what `descend` returned.
        least: the lowest loss that there is; the axis shows how far above it the loss is.
        marks: label → a step, drawn as a vertical line.

    Raises:
        BadInput: there are no paths, or more than eight.
    """
    need_paths(paths)
    # what is nearer to the lowest than rounding can tell is left out, and so is zero, which has
    # no place on a logarithmic axis
    nothing = 32 * np.finfo(float).eps * abs(least)
    above = {
        name: np.where(path.values - least > nothing, path.values - least, np.nan)
        for name, path in paths.items()
    }
    label = "loss J" if least == 0 else "loss above the lowest, J − J*"
    return curves(above, "step", label, log="y", marks=marks)


STEPS = 200
METHODS = {one.title: one for one in OPTIMIZERS.values() if one.explored}
# ten rates to a factor of ten, from 0.0001 to 1
RATES = tuple(10 ** (tenth / 10) for tenth in range(-40, 1))
MOMENTA = (0.0, 0.2, 0.4, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 0.98)


def walk(ground: Surface, method: str, rate: float, momentum: float) -> Trajectory:
    """One descent of 200 steps from the surface's start."""
    one = METHODS[method]
    options = {one.memory_option: momentum} if one.memory_option else {}
    return descend(ground, ground.start, one.step, lr=rate, steps=STEPS, **options)


def lowest(ground: Surface) -> float:
    """The loss at the minimum."""
    return float(ground.value(ground.minimum))


def said_of_walk(
    ground: Surface, method: str, rate: float, momentum: float, path: Trajectory
) -> str:
    """What was chosen, how the descent ended, and the rate against the limit."""
    share = METHODS[method].memory_option
    with_what = f", {share} {momentum:g}" if share else ""
    steepest = 2 / ground.largest_stable_step
    formula = METHODS[method].stable_limit
    if formula is None:
        clause = "Its steps are scaled, so that 2/λmax is no limit for them."
    else:
        limit = formula(steepest, momentum)
        side = "below" if rate < limit else "above"
        clause = (
            f"At the minimum λmax is {steepest:.3g}; the rate is {rate / limit:.2f} times the "
            f"limit {limit:.3g}, {side} it."
        )
    # a path that rests on a saddle has lost all its slope, and is not down
    high = "" if lowest(ground) == 0 else f" The lowest loss is {lowest(ground):.3g}."
    return f"{ground.name}, {method}, rate {rate:.3g}{with_what}: {path.outcome}{high} {clause}"


def draw_descent(name: str, method: str, rate: float, momentum: float) -> tuple[Picture, str]:
    """The path and the losses of one descent, and their sentence; the explorer's whole logic."""
    ground = surface(name)
    path = walk(ground, method, rate, momentum)
    sentence = said_of_walk(ground, method, rate, momentum, path)
    with figure(10.0, 4.2, columns=2) as (made, (left, right)):
        draw_paths(left, ground, {method: path}, ground.window)
        left.set_title(f"{ground.name}: J = {ground.formula}", fontsize=9)
        left.set(xlabel="x", ylabel="y")
        above = path.values - lowest(ground)
        right.plot(np.where(above > 0, above, np.nan))
        right.set_yscale("log")
        right.set_xlim(0, STEPS)
        right.set(xlabel="step", ylabel="loss above the lowest, J − J*")
    x, y = path.points[-1]
    alt = f"The path over the contours ends at ({x:.3g}, {y:.3g}). {sentence}"
    return show(made, alt), sentence


def descent_explorer() -> Explorer:
    """Choose a surface, a method, its rate and its momentum; see the path and the losses.

    The lists open with Space, the sliders move with the arrow keys.
    """
    require.package("ipywidgets", "gl.plot.descent_explorer")
    controls = {
        "name": dropdown("surface", list(SURFACES), "ravine"),
        "method": dropdown("method", list(METHODS), "gradient descent"),
        "rate": choices("rate", [(f"{one:.3g}", one) for one in RATES], RATES[28]),
        "momentum": choices("momentum", [(f"{one:.3g}", one) for one in MOMENTA], 0.9),
    }
    return Explorer(draw_descent, controls)
