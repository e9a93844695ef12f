"""How descents end: basins of attraction, steps to a goal, a race of methods."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gpulearn import require
from gpulearn.display import Picture, show
from gpulearn.errors import BadInput
from gpulearn.kernels.descent import ESCAPED, MINIMA, UNSETTLED, Window
from gpulearn.optim.landscapes import Landscape
from gpulearn.optim.step_checks import StepRule
from gpulearn.optim.trajectories import Trajectory, descend
from gpulearn.plot.descents import METHODS, need_paths
from gpulearn.plot.style import figure
from gpulearn.require import shown
from gpulearn.tables import Table, table

__all__ = ["basins", "compare_descents", "race_methods", "settled"]

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


def basins(basins: Mapping[str, Any], window: Window = (-6.0, 6.0, -6.0, 6.0)) -> Picture:
    """Draw basins side by side; crosses with numbers are the minima.

    Args:
        basins: title → what `descend_all` wrote, in shape (rows, columns): y grows with the
            row, x with the column.
        window: (left, right, bottom, top) of the starts.

    Raises:
        BadInput: there are no basins, more than four, or an array that is none.
    """
    require.named("basins", basins, f'{{"title": basin, …}}, one to {MOST}', MOST)
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
    axes.set(xlabel="x at the start", ylabel="y at the start")
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
    need_paths(paths, most=100)
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


# three to a factor of ten, from 0.001 to 1
RATES = tuple(float(rate) for rate in np.geomspace(0.001, 1, 10))
STEPS = 1000


def settling_rates(
    landscape: Landscape,
    start: Any,
    goal: float,
    step: StepRule,
    rates: Sequence[float] = RATES,
    steps: int = STEPS,
) -> list[tuple[int, float]]:
    """For each rate with which a method gets to a goal and stays: (from which step, the rate).

    Args:
        landscape: has a value and a gradient.
        start: the first point.
        goal: a loss; from the step that is returned the loss stays at it or below.
        step: the method's step function.
        rates: the rates to try.
        steps: how many steps each gets.

    >>> from gpulearn.optim.optimizers import gradient_step
    >>> from gpulearn.optim.landscapes import surface
    >>> settling_rates(surface("bowl"), [1.0, 0.0], 1e-3, gradient_step, [0.5, 3.0])
    [(5, 0.5)]
    """
    found = []
    for rate in rates:
        since = settled(descend(landscape, start, step, lr=rate, steps=steps), goal)
        if since is not None:
            found.append((since, rate))
    return found


def race_methods(grounds: Mapping[str, tuple[Landscape, Any, float]]) -> Table:
    """A table of methods: each one's fewest steps to a goal over ten rates, on each ground.

    A cell holds the step from which the loss stays at the goal or below, the rate with which
    that was so, and with how many of the ten rates, from 0.001 to 1, it was reached within 1000
    steps. Momentum is 0.9, and so is Adam's β₁.

    Args:
        grounds: name → (landscape, start, goal).

    Raises:
        BadInput: there is no ground, or one is no triple.
    """
    require.named("grounds", grounds, '{"name": (loss, start, goal), …}')
    for name, ground in grounds.items():
        if not isinstance(ground, tuple) or len(ground) != 3:
            raise BadInput(f"{name} is {shown(ground)}: give (loss, start, goal).")
        if not isinstance(ground[2], int | float):  # np.float64 is a float too
            raise BadInput(f"the goal of {name} is {shown(ground[2])}: give a loss.")
    rows = []
    for method, one in METHODS.items():
        row = {"method": method}
        for name, ground in grounds.items():
            row[name] = _cell(settling_rates(*ground, one.step))
        rows.append(row)
    return table(rows, caption=f"Fewest steps over {len(RATES)} rates from 0.001 to 1.")


def _cell(found: Sequence[tuple[int, float]]) -> str:
    if not found:
        return f"over {STEPS}"
    since, rate = min(found)
    return f"{since} at rate {rate:.2g}; {len(found)} of {len(RATES)} rates"
