"""Timelines: of simulated ranks, that compute, send, receive and wait, and of a GPU's engines."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from gpulearn import require
from gpulearn.display import Picture, show
from gpulearn.errors import BadInput
from gpulearn.perf.schedule import Timeline
from gpulearn.plot import engines
from gpulearn.plot.style import figure

if TYPE_CHECKING:
    from gpulearn.parallel.simulate.simulation import Simulation

__all__ = ["timeline"]

MOST_RANKS = 16
# of each rank's row: where the bar lies (0 is the top, 1 the bottom), how high it is, and its look
LOOKS: dict[str, tuple[float, float, dict[str, Any]]] = {
    "compute": (0.10, 0.36, {"facecolor": "C0", "hatch": ""}),
    "wait": (0.10, 0.36, {"facecolor": "white", "hatch": "....", "edgecolor": "0.55"}),
    "send": (0.48, 0.20, {"facecolor": "C1", "hatch": "////"}),
    "receive": (0.70, 0.20, {"facecolor": "C2", "hatch": "\\\\\\\\"}),
}
UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (0.0, "ns"))
SCALES = {"s": 1.0, "ms": 1e3, "µs": 1e6, "ns": 1e9}


def timeline(
    runs: Simulation[Any] | Timeline | Mapping[str, Simulation[Any]] | Mapping[str, Timeline],
) -> Picture:
    """Draw what each rank, or each engine of a GPU, did when.

    Several runs stand below one another on one time axis.

    Args:
        runs: what `gl.simulate` or `gl.perf.timeline` returned, or several of one kind with a
            name for each.

    Raises:
        BadInput: there is no run, or a run has more than 16 ranks.

    >>> import gpulearn as gl
    >>> run = gl.simulate(lambda: gl.parallel.compute(2e-6), 2)
    >>> timeline(run).alt
    'Timeline of 2 ranks over 2 µs, modelled: on average a rank computes for 100 % of the time, ...'
    """
    named: Mapping[str, Any] = runs if isinstance(runs, Mapping) else {"": runs}
    if named and all(isinstance(run, Timeline) for run in named.values()):
        return _of_engines(named)
    _need(named)
    longest = max(run.seconds for run in named.values())
    unit = next(name for least, name in UNITS if longest >= least)
    rows = [len(run.clocks) for run in named.values()]
    grid: dict[str, Any] = {"sharex": True, "squeeze": False, "height_ratios": rows}
    with figure(9.0, 1.3 * len(rows) + 0.38 * sum(rows), len(rows), **grid) as (made, axes):
        drawn = axes[:, 0]
        for each, (name, run) in zip(drawn, named.items(), strict=True):
            _draw(each, run, SCALES[unit])
            title = f"{name}: " if name else ""
            each.set_title(f"{title}{run.link}", loc="left", fontsize=10)
        drawn[-1].set_xlabel(f"time ({unit}), modelled")
        drawn[-1].set_xlim(0, max(longest * SCALES[unit], 1e-12))
        _legend(made, named)
        # while the style is in force: the bars look their colours up when they are drawn
        return show(made, " ".join(_said(name, run, unit) for name, run in named.items()))


def _of_engines(named: Mapping[str, Timeline]) -> Picture:
    longest = max(run.makespan for run in named.values())
    unit = next(name for least, name in UNITS if longest >= least)
    scale = SCALES[unit]
    with figure(9.0, 0.5 + 1.75 * len(named), len(named), sharex=True, squeeze=False) as (
        made,
        axes,
    ):
        drawn = axes[:, 0]
        for each, (name, run) in zip(drawn, named.items(), strict=True):
            engines.draw(each, run, scale, longest)
            each.set_title(name, loc="left", fontsize=10)
        kinds = {run.provenance.kind for run in named.values()}
        drawn[-1].set_xlabel(f"time ({unit}), {' and '.join(sorted(kinds))}")
        drawn[-1].set_xlim(0, max(longest * scale, 1e-12))
        _patches(made, engines.labels(named))
        return show(
            made,
            " ".join(
                engines.said(name, run, f"{run.makespan * scale:.3g} {unit}")
                for name, run in named.items()
            ),
        )


def _need(named: Mapping[str, Any]) -> None:
    if not named:
        raise BadInput("runs is empty: give at least one run of gl.simulate.")
    require.each(named, "timeline", "what gl.simulate returns", "runs holds")
    for run in named.values():
        if len(run.clocks) > MOST_RANKS:
            raise BadInput(
                f"the run has {len(run.clocks)} ranks: at most {MOST_RANKS} can be drawn."
            )


def _draw(axes: Any, run: Simulation[Any], scale: float) -> None:
    for kind, (top, height, look) in LOOKS.items():
        style = {"edgecolor": "white", "linewidth": 0.6, **look}
        for rank in range(len(run.clocks)):
            bars = [
                (i.start * scale, (i.end - i.start) * scale)
                for i in run.timeline
                if i.rank == rank and i.kind == kind
            ]
            axes.broken_barh(bars, (rank + top, height), **style)
    count = len(run.clocks)
    axes.set_ylim(count, 0)
    axes.set_yticks([rank + 0.5 for rank in range(count)])
    axes.set_yticklabels([f"rank {rank}" for rank in range(count)])
    axes.grid(visible=False, axis="y")
    axes.set_axisbelow(True)


def _legend(made: Any, named: Mapping[str, Simulation[Any]]) -> None:
    there = {i.kind for run in named.values() for i in run.timeline}
    _patches(made, {kind: look for kind, (_, _, look) in LOOKS.items() if kind in there})


def _patches(made: Any, looks: Mapping[str, Mapping[str, Any]]) -> None:
    from matplotlib.patches import Patch

    patches = [Patch(**{"edgecolor": "white", **look}, label=name) for name, look in looks.items()]
    if patches:
        made.legend(handles=patches, loc="outside upper right", ncols=len(patches))


def _said(name: str, run: Simulation[Any], unit: str) -> str:
    parts = {kind: f"{100 * run.share(kind):.0f} %" for kind in LOOKS}
    what = f"Timeline of {name}, " if name else "Timeline of "
    computes, hidden = "", ""
    if any(i.kind == "compute" for i in run.timeline):
        computes = f"computes for {parts['compute']} of the time, "
        hidden = (
            f"; {100 * run.overlap:.0f} % of the time with messages under way is hidden behind "
            f"computing"
        )
    return (
        f"{what}{len(run.clocks)} rank{'s' if len(run.clocks) > 1 else ''} over "
        f"{run.seconds * SCALES[unit]:.3g} {unit}, modelled: on average a rank {computes}"
        f"sends for {parts['send']}{'' if computes else ' of the time'}, receives for "
        f"{parts['receive']} and waits for {parts['wait']}{hidden}."
    )
