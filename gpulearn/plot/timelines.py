"""Timelines: of simulated ranks, that compute, send, receive and wait, and of a GPU's engines."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from gpulearn import require
from gpulearn.display import Picture, show
from gpulearn.errors import BadInput
from gpulearn.perf.schedule import Timeline
from gpulearn.plot import engines
from gpulearn.plot.style import figure, key, rows
from gpulearn.require import counted

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

    `runs` is what `gl.simulate` or `gl.perf.timeline` returned, or several of one kind with a name
    for each, which stand below one another on one time axis.

    >>> import gpulearn as gl
    >>> run = gl.simulate(lambda: gl.parallel.compute(2e-6), 2)
    >>> timeline(run).alt
    'Timeline of 2 ranks over 2 µs, modeled: on average a rank computes for 100 % of the time, ...'
    """
    named: Mapping[str, Any] = runs if isinstance(runs, Mapping) else {"": runs}
    if not named:
        raise BadInput("runs is empty: give at least one run of gl.simulate.")
    of_engines = all(isinstance(run, Timeline) for run in named.values())
    if of_engines:
        durations = [run.makespan for run in named.values()]
        kinds = sorted({run.provenance.kind for run in named.values()})
        ratios = [1] * len(named)
        height = 0.5 + 1.75 * len(named)
        legend = engines.labels(named)
    else:
        require.each(named, "timeline", "what gl.simulate returns", "runs holds")
        durations, kinds = [run.seconds for run in named.values()], ["modeled"]
        ratios = [len(run.clocks) for run in named.values()]
        if max(ratios) > MAX_RANKS:
            raise BadInput(f"the run has {max(ratios)} ranks: at most {MAX_RANKS} can be drawn.")
        height = 1.3 * len(named) + 0.38 * sum(ratios)
        present = {interval.kind for run in named.values() for interval in run.timeline}
        legend = {kind: look for kind, (_, _, look) in LOOKS.items() if kind in present}
    longest = max(durations)
    unit, scale = next((unit, scale) for least, unit, scale in UNITS if longest >= least)
    grid: dict[str, Any] = {"sharex": True, "squeeze": False, "height_ratios": ratios}
    with figure(9.0, height, len(named), **grid) as (fig, panels):
        sentences = []
        for axes, (name, run), duration in zip(panels[:, 0], named.items(), durations, strict=True):
            time, title = f"{duration * scale:.3g} {unit}", name
            if of_engines:
                engines.draw(axes, run, scale, longest)
                sentences.append(engines.sentence(name, run, time))
            else:
                _draw(axes, run, scale)
                sentences.append(_sentence(name, run, time))
                title = f"{name}: {run.link}" if name else str(run.link)
            axes.set_title(title, loc="left", fontsize=10)
            axes.grid(visible=False, axis="y")
            axes.set_axisbelow(True)
        panels[-1, 0].set_xlabel(f"time ({unit}), {' and '.join(kinds)}")
        panels[-1, 0].set_xlim(0, max(longest * scale, 1e-12))
        if legend:
            looks = {name: {"edgecolor": "white", **look} for name, look in legend.items()}
            key(fig, looks, loc="outside upper right", fontsize=11)
        return show(fig, " ".join(sentences))


def _draw(axes: Any, run: Simulation[Any], scale: float) -> None:
    ranks = range(len(run.clocks))
    for kind, (top, height, look) in LOOKS.items():
        style = {"edgecolor": "white", "linewidth": 0.6, **look}
        for rank in ranks:
            mine = (i for i in run.timeline if (i.rank, i.kind) == (rank, kind))
            bars = [(i.start * scale, (i.end - i.start) * scale) for i in mine]
            axes.broken_barh(bars, (rank + top, height), **style)
    rows(axes, [f"rank {rank}" for rank in ranks])


def _sentence(name: str, run: Simulation[Any], time: str) -> str:
    compute, wait, send, receive = (f"{100 * run.share(kind):.0f} %" for kind in LOOKS)
    acts, hidden = f"sends for {send} of the time", ""
    if any(interval.kind == "compute" for interval in run.timeline):
        acts = f"computes for {compute} of the time, sends for {send}"
        hidden = (
            f"; {100 * run.overlap:.0f} % of the time with messages under way is hidden behind "
            f"computing"
        )
    return (
        f"Timeline of {f'{name}, ' if name else ''}{counted(len(run.clocks), 'rank')} over {time}, "
        f"modeled: on average a rank {acts}, receives for {receive} and waits for {wait}{hidden}."
    )
