"""Timelines: of simulated ranks, that compute, send, receive and wait, and of a GPU's engines."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from gpulearn import require
from gpulearn.display import Picture, show
from gpulearn.errors import BadInput
from gpulearn.perf.schedule import Timeline
from gpulearn.plot import engines
from gpulearn.plot.style import counted, figure, key, rows

if TYPE_CHECKING:
    from gpulearn.parallel.simulate.simulation import Simulation

MAX_RANKS = 16
# of each rank's row: where the bar lies (0 is the top, 1 the bottom), how high it is, and its look
LOOKS: dict[str, tuple[float, float, dict[str, Any]]] = {
    "compute": (0.10, 0.36, {"facecolor": "C0", "hatch": ""}),
    "wait": (0.10, 0.36, {"facecolor": "white", "hatch": "....", "edgecolor": "0.55"}),
    "send": (0.48, 0.20, {"facecolor": "C1", "hatch": "////"}),
    "receive": (0.70, 0.20, {"facecolor": "C2", "hatch": "\\\\\\\\"}),
}
UNITS = ((1.0, "s", 1.0), (1e-3, "ms", 1e3), (1e-6, "µs", 1e6), (0.0, "ns", 1e9))


def timeline(
    runs: Simulation[Any] | Timeline | Mapping[str, Simulation[Any]] | Mapping[str, Timeline],
) -> Picture:
    """Draw what each rank, or each engine of a GPU, did when.

    Several runs stand below one another on one time axis.

    Args:
        runs: what `gl.simulate` or `gl.perf.timeline` returned, or several of one kind with a
            name for each.

    >>> import gpulearn as gl
    >>> run = gl.simulate(lambda: gl.parallel.compute(2e-6), 2)
    >>> timeline(run).alt
    'Timeline of 2 ranks over 2 µs, modeled: on average a rank computes for 100 % of the time, ...'
    """
    named: Mapping[str, Any] = runs if isinstance(runs, Mapping) else {"": runs}
    of_engines = all(isinstance(run, Timeline) for run in named.values())
    if not named:
        raise BadInput("runs is empty: give at least one run of gl.simulate.")
    if not of_engines:
        require.each(named, "timeline", "what gl.simulate returns", "runs holds")
        for count in (len(run.clocks) for run in named.values()):
            if count > MAX_RANKS:
                raise BadInput(f"the run has {count} ranks: at most {MAX_RANKS} can be drawn.")
    seconds = [run.makespan if of_engines else run.seconds for run in named.values()]
    longest = max(seconds)
    unit, scale = next((unit, scale) for least, unit, scale in UNITS if longest >= least)
    grid: dict[str, Any] = {"sharex": True, "squeeze": False}
    height = 0.5 + 1.75 * len(named)
    if not of_engines:
        ranks = [len(run.clocks) for run in named.values()]
        grid["height_ratios"] = ranks
        height = 1.3 * len(ranks) + 0.38 * sum(ranks)
    with figure(9.0, height, len(named), **grid) as (fig, panels):
        sentences = []
        for axes, (name, run), duration in zip(panels[:, 0], named.items(), seconds, strict=True):
            time, title = f"{duration * scale:.3g} {unit}", name
            if of_engines:
                engines.draw(axes, run, scale, longest)
                sentences.append(engines.sentence(name, run, time))
            else:
                _draw(axes, run, scale)
                sentences.append(_sentence(name, run, time))
                title = f"{name}: {run.link}" if name else str(run.link)
            axes.set_title(title, loc="left", fontsize=10)
        kinds = {run.provenance.kind if of_engines else "modeled" for run in named.values()}
        panels[-1, 0].set_xlabel(f"time ({unit}), {' and '.join(sorted(kinds))}")
        panels[-1, 0].set_xlim(0, max(longest * scale, 1e-12))
        if of_engines:
            shown = engines.labels(named)
        else:
            present = {interval.kind for run in named.values() for interval in run.timeline}
            shown = {kind: look for kind, (_, _, look) in LOOKS.items() if kind in present}
        if shown:
            looks = {name: {"edgecolor": "white", **look} for name, look in shown.items()}
            key(fig, looks, loc="outside upper right", fontsize=11)
        return show(fig, " ".join(sentences))


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
    rows(axes, [f"rank {rank}" for rank in range(len(run.clocks))])
    axes.grid(visible=False, axis="y")
    axes.set_axisbelow(True)


def _sentence(name: str, run: Simulation[Any], time: str) -> str:
    parts = {kind: f"{100 * run.share(kind):.0f} %" for kind in LOOKS}
    computes, hidden = "", ""
    if any(interval.kind == "compute" for interval in run.timeline):
        computes = f"computes for {parts['compute']} of the time, "
        hidden = (
            f"; {100 * run.overlap:.0f} % of the time with messages under way is hidden behind "
            f"computing"
        )
    return (
        f"Timeline of {f'{name}, ' if name else ''}{counted(len(run.clocks), 'rank')} over {time}, "
        f"modeled: on average a rank {computes}sends for {parts['send']}"
        f"{'' if computes else ' of the time'}, receives for {parts['receive']} and waits for "
        f"{parts['wait']}{hidden}."
    )
