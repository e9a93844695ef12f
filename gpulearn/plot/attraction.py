"""Basins of attraction: every starting point coloured by the minimum that it leads to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from gpulearn.display import Picture, show
from gpulearn.errors import BadInput
from gpulearn.kernels.descent import ESCAPED, MINIMA, UNSETTLED, Window
from gpulearn.plot.style import figure
from gpulearn.require import shown

__all__ = ["basin_shares", "plot_basins", "said_of_basins"]

Basins = np.ndarray[tuple[int, int], Any]

# Escaped, unsettled, then the four minima; apart in lightness as well as in colour.
COLOURS = ("white", "#222222", "#3f90da", "#ffa90e", "#bd1f01", "#92dadd")
MOST = 4


def basin_shares(basin: Basins) -> dict[str, float]:
    """The share of starts with each end, from 0 to 1: "minimum 0" to 3, "unsettled", "escaped".

    >>> basin_shares(np.array([[0, 0], [3, -2]]))["minimum 0"]
    0.5
    """
    names = {f"minimum {m}": m for m in range(len(MINIMA))}
    names |= {"unsettled": UNSETTLED, "escaped": ESCAPED}
    return {name: float(np.mean(np.asarray(basin) == value)) for name, value in names.items()}


def said_of_basins(basin: Basins) -> str:
    """One clause with the share of starts that end each way, for what is not zero.

    >>> said_of_basins(np.array([[0, 0], [3, -2]]))
    'minimum 0 50 %, minimum 3 25 %, escaped 25 %'
    """
    shares = basin_shares(basin)
    return ", ".join(f"{name} {_percent(share)}" for name, share in shares.items() if share)


def _percent(share: float) -> str:
    """Such that neither a few nor all but a few are rounded away."""
    if 0 < share < 0.01:
        return "under 1 %"
    return "over 99 %" if 0.99 < share < 1 else f"{share:.0%}".replace("%", " %")


def plot_basins(basins: Mapping[str, Any], window: Window = (-6.0, 6.0, -6.0, 6.0)) -> Picture:
    """Draw basins side by side; crosses with numbers are the minima.

    Args:
        basins: title → what `descend_all` wrote, in shape (rows, columns): y grows with the
            row, x with the column.
        window: (left, right, bottom, top) of the starts.

    Raises:
        BadInput: there are no basins, more than four, or an array that is none.
    """
    if not isinstance(basins, Mapping) or not 0 < len(basins) <= MOST:
        raise BadInput(f'basins is {shown(basins)}: give {{"title": basin, …}}, one to {MOST}.')
    for title, basin in basins.items():
        if np.ndim(basin) != 2 or not np.isin(basin, range(ESCAPED, len(MINIMA))).all():
            raise BadInput(
                f"{title!r} is {shown(basin)}: give what the kernel wrote, in shape "
                f"(rows, columns), with numbers from {ESCAPED} to {len(MINIMA) - 1}."
            )
    width = min(4.2, 10.0 / len(basins))
    # below one panel there is room for two names in a row
    with figure(width * len(basins) + 0.2, width + 1.1) as (made, axes):
        axes.remove()
        for place, (title, basin) in enumerate(basins.items(), 1):
            _panel(made.add_subplot(1, len(basins), place), title, np.asarray(basin), window)
        made.legend(
            handles=_keys(basins),
            loc="outside lower center",
            ncols=2 if len(basins) == 1 else 6,
            fontsize=9,
        )
    said = "; ".join(f"{title}: {said_of_basins(basin)}" for title, basin in basins.items())
    return show(made, f"Where each starting point of a square ends. {said}.")


def _panel(axes: Any, title: str, basin: Basins, window: Window) -> None:
    from matplotlib.colors import ListedColormap

    axes.imshow(
        basin,
        origin="lower",
        extent=window,
        cmap=ListedColormap(COLOURS),
        vmin=ESCAPED - 0.5,
        vmax=len(MINIMA) - 0.5,
        interpolation="nearest",
    )
    left, right, bottom, top = window
    inside = [(n, x, y) for n, (x, y) in enumerate(MINIMA) if left < x < right and bottom < y < top]
    for number, x, y in inside:
        axes.plot([x], [y], "x", color="black", markersize=6, markeredgewidth=2)
        axes.annotate(
            str(number),
            (x, y),
            xytext=(5, 4),
            textcoords="offset points",
            fontweight="bold",
            bbox={"boxstyle": "round,pad=0.1", "facecolor": "white", "edgecolor": "none"},
        )
    axes.set_title(title)
    axes.set_xlabel("x at the start")
    axes.set_ylabel("y at the start")
    axes.grid(visible=False)


def _keys(basins: Mapping[str, Any]) -> list[Any]:
    from matplotlib.patches import Patch

    found = np.unique(np.concatenate([np.ravel(basin) for basin in basins.values()]))
    names = {ESCAPED: "escaped", UNSETTLED: "unsettled"}
    return [
        Patch(
            facecolor=COLOURS[value - ESCAPED],
            edgecolor="grey",
            label=names.get(value, f"minimum {value}"),
        )
        for value in found.tolist()
    ]
