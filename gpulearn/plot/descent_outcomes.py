"""How descents end: basins of attraction, and steps to a goal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from gpulearn import require
from gpulearn.display import Picture, show
from gpulearn.errors import BadInput
from gpulearn.kernels.descent import ESCAPED, MINIMA, UNSETTLED
from gpulearn.optim.trajectories import Trajectory
from gpulearn.plot.style import figure, key, note, percent
from gpulearn.require import shown

Basins = np.ndarray[tuple[int, int], Any]

# Escaped, unsettled, then the four minima; apart in lightness as well as in color.
COLORS = ("white", "#222222", "#3f90da", "#ffa90e", "#bd1f01", "#92dadd")
ENDS = {f"minimum {m}": m for m in range(len(MINIMA))} | {
    "unsettled": UNSETTLED,
    "escaped": ESCAPED,
}
MAX_PANELS = 4
WINDOW = (-6.0, 6.0, -6.0, 6.0)  # left, right, bottom, top


def basin_shares(basin: Basins) -> str:
    """One clause with the share of starts that end each way, for what is not zero.

    Neither a few nor all but a few are rounded away.

    >>> basin_shares(np.array([[0, 0], [3, -2]]))
    'minimum 0 50 %, minimum 3 25 %, escaped 25 %'
    """
    clauses = []
    for name, value in ENDS.items():
        share = float(np.mean(np.asarray(basin) == value))
        if 0 < share < 0.01:
            clauses.append(f"{name} under 1 %")
        elif 0.99 < share < 1:
            clauses.append(f"{name} over 99 %")
        elif share:
            clauses.append(f"{name} {percent(share)}")
    return ", ".join(clauses)


def basins(basins: Mapping[str, Any]) -> Picture:
    """Draw up to four basins side by side; crosses with numbers are the minima.

    `basins` maps titles to what `descend_all` wrote for the starts in `WINDOW`, in shape (rows,
    columns): y grows with the row, x with the column.
    """
    require.named("basins", basins, f'{{"title": basin, …}}, one to {MAX_PANELS}', MAX_PANELS)
    for title, basin in basins.items():
        if np.ndim(basin) != 2 or not np.isin(basin, range(ESCAPED, len(MINIMA))).all():
            raise BadInput(
                f"{title!r} is {shown(basin)}: give what the kernel wrote, in shape "
                f"(rows, columns), with numbers from {ESCAPED} to {len(MINIMA) - 1}."
            )
    width = min(4.2, 10.0 / len(basins))
    with figure(width * len(basins) + 0.2, width + 1.1) as (fig, axes):
        axes.remove()
        for place, (title, basin) in enumerate(basins.items(), 1):
            _panel(fig.add_subplot(1, len(basins), place), title, np.asarray(basin))
        values = np.unique(np.concatenate([np.ravel(basin) for basin in basins.values()]))
        names = {value: name for name, value in ENDS.items()}
        looks = {
            names[value]: {"facecolor": COLORS[value - ESCAPED], "edgecolor": "gray"}
            for value in values.tolist()
        }
        # below one panel there is room for two names in a row
        key(fig, looks, ncols=2 if len(basins) == 1 else 6, fontsize=9)
    text = "; ".join(f"{title}: {basin_shares(basin)}" for title, basin in basins.items())
    return show(fig, f"Where each starting point of a square ends. {text}.")


def _panel(axes: Any, title: str, basin: Basins) -> None:
    from matplotlib.colors import ListedColormap

    axes.imshow(basin, origin="lower", extent=WINDOW, cmap=ListedColormap(COLORS),
                vmin=ESCAPED - 0.5, vmax=len(MINIMA) - 0.5, interpolation="nearest")  # fmt: skip
    ground = {"boxstyle": "round,pad=0.1", "facecolor": "white", "edgecolor": "none"}
    for number, (x, y) in enumerate(MINIMA):
        axes.plot([x], [y], "x", color="black", markersize=6, markeredgewidth=2)
        note(axes, str(number), (x, y), (5, 4), fontweight="bold", bbox=ground)
    axes.set_title(title)
    axes.set(xlabel="x at the start", ylabel="y at the start")
    axes.grid(visible=False)


def settled(path: Trajectory, goal: float) -> int | None:
    """The step from which the loss stays at the goal or below it, or None.

    The first time is no measure: a ball on its way through the bottom is low for a moment.
    """
    too_high = np.flatnonzero(~(path.values <= goal))
    first = int(too_high[-1]) + 1 if too_high.size else 0
    return None if path.diverged or first > path.steps else first
