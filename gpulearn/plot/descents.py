"""The figures of notebook 10: paths over contours, losses over steps, descents in a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gpulearn import require
from gpulearn.display import Picture, show
from gpulearn.errors import BadInput
from gpulearn.optim.landscapes import Landscape, Surface
from gpulearn.optim.trajectories import Trajectory
from gpulearn.plot.lines import plot_curves
from gpulearn.plot.style import LINES, figure
from gpulearn.require import shown
from gpulearn.tables import Table, table

__all__ = [
    "compare_descents",
    "contour_levels",
    "draw_paths",
    "plot_descent",
    "plot_losses",
    "settled",
]

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
    for (label, path), look in zip(paths.items(), LINES, strict=False):
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


def _need(paths: object, most: int = len(LINES)) -> None:
    if not isinstance(paths, Mapping) or not 0 < len(paths) <= most:
        raise BadInput(f'paths is {shown(paths)}: give {{"name": path, …}}, one to {most} of them.')
    for name, path in paths.items():
        if not isinstance(path, Trajectory):
            raise BadInput(
                f"{name} is {shown(path)}: give the path that gl.optim.descend returned."
            )


def plot_descent(
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
    _need(paths)
    for name, path in paths.items():
        if path.points.shape[1:] != (2,):
            raise BadInput(f"{name} has points {path.points.shape}: contours need two parameters.")
    with figure(7.8, 4.6) as (made, drawn):
        seen = window or window_of(landscape, list(paths.values()))
        draw_paths(drawn, landscape, paths, seen, minima)
        drawn.set_xlabel(axes[0])
        drawn.set_ylabel(axes[1])
        drawn.legend(fontsize=9, loc="center left", bbox_to_anchor=(1.01, 0.5))
    named = f"the {landscape.name} surface" if isinstance(landscape, Surface) else "the loss"
    return show(made, f"Paths over the contours of {named}. {_said(paths)}")


def _said(paths: Mapping[str, Trajectory]) -> str:
    return " ".join(f"{name}: {path.outcome}" for name, path in paths.items())


def plot_losses(
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
    _need(paths)
    # what is nearer to the lowest than rounding can tell is left out, and so is zero, which has
    # no place on a logarithmic axis
    nothing = 32 * np.finfo(float).eps * abs(least)
    curves = {
        name: np.where(path.values - least > nothing, path.values - least, np.nan)
        for name, path in paths.items()
    }
    label = "loss J" if least == 0 else "loss above the lowest, J − J*"
    return plot_curves(
        f"The loss over the steps. {_said(paths)}", curves, "step", label, log="y", marks=marks
    )


def settled(path: Trajectory, goal: float) -> int | None:
    """The step from which the loss stays at the goal or below it, or None.

    The first time is no measure: a ball on its way through the bottom is low for a moment.
    """
    too_high = np.flatnonzero(~(path.values <= goal))
    first = int(too_high[-1]) + 1 if too_high.size else 0
    return None if path.diverged or first > path.steps else first


def compare_descents(
    paths: Mapping[str, Trajectory], goal: float | None = None, caption: str = ""
) -> Table:
    """A table of descents: how many steps, from which loss to which, and how it ended.

    Args:
        paths: label → what `descend` returned.
        goal: a loss; the table then says after how many steps it was not exceeded any more.
        caption: a sentence below the table.

    Raises:
        BadInput: there are no paths.
    """
    _need(paths, most=100)
    if goal is not None:
        require.above_zero("goal", goal)
    rows = []
    for name, path in paths.items():
        row = {"descent": name, "steps": f"{path.steps:,}", "J at the start": _g(path.values[0])}
        row["J at the end"] = _g(path.values[-1])
        if goal is not None:
            since = settled(path, goal)
            row[f"J ≤ {goal:g} from step"] = "–" if since is None else f"{since:,}"
        rows.append(row | {"": "diverged" if path.diverged else ""})
    return table(rows, caption)


def _g(value: float) -> str:
    return f"{value:.3g}"
