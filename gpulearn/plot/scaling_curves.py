"""Speed-up and efficiency over the number of ranks, measured or modelled."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from gpulearn.display import Picture, show
from gpulearn.errors import BadInput
from gpulearn.plot.style import LINES, figure
from gpulearn.require import shown

if TYPE_CHECKING:
    from gpulearn.scaling.laws import Scaling

__all__ = ["plot_scaling"]

MOST = 6  # runs; the last two looks are the ideal's and the law's
IDEAL = {"color": "0.45", "linestyle": ":", "linewidth": 1.5}


def plot_scaling(runs: Scaling | Mapping[str, Scaling]) -> Picture:
    """Draw speed-up and efficiency over ranks: medians, and bars from least to most.

    The dotted line is ideal scaling. A measured strong scaling also gets Amdahl's law, fitted
    to the ranks that have a core each, and a vertical line where the cores end: ranks beyond it
    share cores.

    Args:
        runs: what `gl.scaling.measure_scaling` or `gl.scaling.modelled_scaling` returned, or
            several with a name for each.

    Raises:
        BadInput: there is no run, there are more than six, or something is none.

    >>> import gpulearn as gl
    >>> plot_scaling({"100 Gbit": gl.scaling.modelled_scaling(0.1, 1e8, "100 Gbit")}).alt
    'Speed-up and efficiency over ranks: 100 Gbit, weak scaling, modelled: 755 times as fast ...'
    """
    named = runs if isinstance(runs, Mapping) else {"": runs}
    if not 0 < len(named) <= MOST:
        raise BadInput(f"runs is {shown(runs)}: give one run, or a name for each of up to {MOST}.")
    for run in named.values():
        if not hasattr(run, "efficiency"):
            raise BadInput(
                f"runs holds {shown(run)}: give what gl.scaling.measure_scaling returns."
            )
    every = sorted({count for run in named.values() for count in run.ranks})
    with figure(9.2, 4.4) as (made, first):
        first.remove()
        speed, share = made.subplots(1, 2)
        speed.plot(every, every, label="ideal", **IDEAL)
        share.axhline(100, **IDEAL)
        for number, (name, run) in enumerate(named.items()):
            look = dict(LINES[number], color=f"C{number}", capsize=4, markersize=6, elinewidth=1.2)
            # side by side where there are bars, so that none hides another or the cores' line
            shift = 1.05 ** (number - (len(named) - 1) / 2) if run.source == "measured" else 1.0
            label = f"{name or run.kind}, {run.source}{' here' * (run.source == 'measured')}"
            _bars(
                speed, run, [run.speedup(n) for n in run.ranks], 1, shift, {**look, "label": label}
            )
            _bars(share, run, [run.efficiency(n) for n in run.ranks], 100, shift, look)
            if _has_law(run):
                law, fine = run.law, np.geomspace(1, every[-1], 80)
                fitted = 1 / (law.serial + (1 - law.serial) / fine)
                drawn = {"color": f"C{number}", "linestyle": (0, (1, 1)), "linewidth": 1.2}
                points = " and ".join(str(count) for count in run.fitted[-2:])
                points = ", ".join([*map(str, run.fitted[:-2]), points])
                label = f"Amdahl's law, s = {law.serial:.2f}, from {points} ranks"
                speed.plot(fine, fitted, label=label, **drawn)
                share.plot(fine, 100 * fitted / fine, **drawn)
        _mark_cores(speed, share, named, every[-1])
        _axes(speed, every, "speed-up (times one rank)")
        _axes(share, every, "efficiency (%)")
        speed.set_yscale("log", base=2)
        speed.yaxis.set_major_formatter(
            lambda speed, _: f"{speed:,.0f}" if speed >= 1 else f"{speed:g}"
        )
        share.set_ylim(bottom=0)
        made.legend(*speed.get_legend_handles_labels(), loc="outside lower center", ncols=3,
                    fontsize=9)  # fmt: skip
        # while the style is in force: its colours are looked up when the lines are drawn
        said = "; ".join(_said(name, run) for name, run in named.items())
        return show(made, f"Speed-up and efficiency over ranks: {said}.")


def _has_law(run: Scaling) -> bool:
    return run.kind == "strong" and run.source == "measured" and len(run.fitted) > 1


def _bars(
    axes: Any, run: Scaling, found: Any, scale: float, shift: float, look: dict[str, Any]
) -> None:
    middle = [scale * one.median for one in found]
    below = [scale * (one.median - one.low) for one in found]
    above = [scale * (one.high - one.median) for one in found]
    places = [count * shift for count in run.ranks]
    axes.errorbar(places, middle, yerr=[below, above] if any(below + above) else None, **look)


def _mark_cores(speed: Any, share: Any, named: Mapping[str, Scaling], last: int) -> None:
    for count, words in sorted({(run.cores, run.places) for run in named.values() if run.cores}):
        if count <= last:
            for axes in (speed, share):
                axes.axvline(count, color="0.3", linestyle="--", linewidth=1, zorder=1)
            share.annotate(
                f"{words} here", (count, 2), xytext=(4, 2), fontsize=9,
                textcoords="offset points",
            )  # fmt: skip


def _axes(axes: Any, every: list[int], label: str) -> None:
    axes.set_xscale("log", base=2)
    ticks = every if len(every) <= 6 else every[::2]
    axes.set_xticks(ticks, [f"{count:,}" for count in ticks])
    axes.minorticks_off()
    axes.set_xlabel("ranks")
    axes.set_ylabel(label)


def _said(name: str, run: Scaling) -> str:
    where = f"measured here on {run.places}" if run.source == "measured" else run.source
    counts = run.ranks[1:] if len(run.ranks) <= 5 else run.ranks[-1:]
    parts = []
    for count in counts:
        speed, share = run.speedup(count), run.efficiency(count)
        span = f" ({share.low:.0%} to {share.high:.0%})" if share.low < share.high else ""
        parts.append(f"{speed.median:.3g} times as fast with {count:,} ranks, "
                     f"efficiency {share.median:.0%}{span}")  # fmt: skip
    law = f"; Amdahl's law with s = {run.law.serial:.2f}" if _has_law(run) else ""
    title = (
        f"{name}, {run.kind} scaling"
        if name and run.kind not in name
        else f"{name or run.kind} scaling"
    )
    return f"{title}, {where}: {', '.join(parts)}{law}"
