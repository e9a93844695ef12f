"""Studies of training on ranks: speed-up, batch sizes, drifting replicas, compressed gradients."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from gpulearn import require
from gpulearn.display import Picture, show
from gpulearn.errors import BadInput
from gpulearn.plot.style import LINES, doublings, figure, legend_beside, note
from gpulearn.require import shown

if TYPE_CHECKING:
    from gpulearn_lessons.scaling_out.batch_size_runs import BatchStudy
    from gpulearn_lessons.scaling_out.laws import Scaling, Spread
    from gpulearn_lessons.scaling_out.replica_drift import Drift

MAX_RUNS = 6
IDEAL = {"color": "0.45", "linestyle": ":", "linewidth": 1.5}
APART = 0.04  # of a doubling: so that the bars of two rules do not hide each other
SAME = "equal\nto the bit"


def scaling(runs: Mapping[str, Scaling]) -> Picture:
    """Draw speed-up and efficiency over ranks: medians, and bars from least to most.

    The dotted line is ideal scaling. A vertical line stands where the cores end: ranks beyond it
    share cores. Runs are label → what `measure_scaling` or `modeled_scaling` returned; up to six.

    >>> from gpulearn_lessons.scaling_out.modeled import modeled_scaling
    >>> scaling({"100 Gbit": modeled_scaling(0.1, 1e8, "100 Gbit")}).alt
    'Speed-up and efficiency over ranks: 100 Gbit, weak scaling, modeled: 755 times as fast ...'
    """
    named = require.named("runs", runs, '{"label": run, …}, one to six of them', MAX_RUNS)
    require.each(named, "efficiency", "what measure_scaling returns", "runs holds")
    every = sorted({count for run in named.values() for count in run.ranks})
    with figure(9.2, 4.4, columns=2) as (fig, (speed, share)):
        speed.plot(every, every, label="ideal", **IDEAL)
        share.axhline(100, **IDEAL)
        for number, (name, run) in enumerate(named.items()):
            look = dict(LINES[number], color=f"C{number}", capsize=4, markersize=6, elinewidth=1.2)
            # side by side where there are bars, so that none hides another or the cores' line
            shift = 1.05 ** (number - (len(named) - 1) / 2) if run.source == "measured" else 1.0
            label = f"{name}, {run.source}{' here' * (run.source == 'measured')}"
            places = [count * shift for count in run.ranks]
            speeds = [run.speedup(count) for count in run.ranks]
            shares = [run.efficiency(count) for count in run.ranks]
            spread = any(speedup.low < speedup.high for speedup in speeds)
            _bars(speed, places, speeds, 1, spread, label=label, **look)
            _bars(share, places, shares, 100, spread, **look)
        for cores, words in {(run.cores, run.places) for run in named.values() if run.cores}:
            if cores <= every[-1]:
                for axes in (speed, share):
                    axes.axvline(cores, color="0.3", linestyle="--", linewidth=1, zorder=1)
                note(share, f"{words} here", (cores, 2), (4, 2), fontsize=9)
        for axes, label in ((speed, "speed-up (times one rank)"), (share, "efficiency (%)")):
            doublings(axes, every if len(every) <= 6 else every[::2])
            axes.set(xlabel="ranks", ylabel=label)
        speed.set_yscale("log", base=2)
        speed.yaxis.set_major_formatter(
            lambda speed, _: f"{speed:,.0f}" if speed >= 1 else f"{speed:g}"
        )
        share.set_ylim(bottom=0)
        fig.legend(*speed.get_legend_handles_labels(), loc="outside lower center", ncols=3,
                   fontsize=9)  # fmt: skip
        # while the style is in force: its colors are looked up when the lines are drawn
        text = "; ".join(_scaling_text(name, run) for name, run in named.items())
        return show(fig, f"Speed-up and efficiency over ranks: {text}.")


def _bars(
    axes: Any, places: list[float], spreads: Sequence[Spread], scale: float, bars: bool, **look: Any
) -> None:
    """Medians, and bars from the least to the most where there are any."""
    below = [scale * (spread.median - spread.low) for spread in spreads]
    above = [scale * (spread.high - spread.median) for spread in spreads]
    middle = [scale * spread.median for spread in spreads]
    axes.errorbar(places, middle, yerr=[below, above] if bars else None, **look)


def _percent(share: float) -> str:
    """In whole percent; of less than one, its first digit."""
    return f"{share:.0%}" if share >= 0.01 else f"{100 * share:.1g}%"


def _scaling_text(name: str, run: Scaling) -> str:
    where = f"measured here on {run.places}" if run.source == "measured" else run.source
    parts = []
    for count in run.ranks[1:] if len(run.ranks) <= 5 else run.ranks[-1:]:
        speed, share = run.speedup(count), run.efficiency(count)
        low, high = _percent(share.low), _percent(share.high)
        span = f" ({low} to {high})" if share.low < share.high else ""
        parts.append(f"{speed.median:.3g} times as fast with {count:,} ranks, "
                     f"efficiency {_percent(share.median)}{span}")  # fmt: skip
    title = name if run.kind in name else f"{name}, {run.kind}"
    return f"{title} scaling, {where}: {', '.join(parts)}"


def batch_sizes(study: BatchStudy) -> Picture:
    """Draw the accuracy over the batch size, one line for each rule of what was studied.

    Points are medians over the seeds, bars go from the lowest to the highest.
    """
    if not hasattr(study, "accuracies"):
        raise BadInput(f"study is {shown(study)}: give what batch_size_study returns.")
    ends, seeds = [], len(next(iter(study.accuracies.values())))
    with figure(7.6, 4.2) as (fig, axes):
        for number, (rule, look) in enumerate(zip(study.rules, LINES, strict=False)):
            spreads = [study.accuracy(rule, batch) for batch in study.batches]
            shift = 2 ** (APART * (number - (len(study.rules) - 1) / 2))
            places = [batch * shift for batch in study.batches]
            _bars(axes, places, spreads, 100, True, label=rule, capsize=3, elinewidth=1.2, **look)
            ends.append(f"{rule} " + ", ".join(f"{spread.median:.0%}" for spread in spreads))
        doublings(axes, study.batches)
        axes.set(xlabel=f"batch size (images); {study.epochs} epochs each")
        axes.set(ylabel="held-out digits right (%)", ylim=(0, 102))
        axes.legend(title="learning rate", fontsize=9, title_fontsize=9)
        return show(
            fig,
            f"Held-out digits right after {study.epochs} epochs over batch sizes "
            f"{', '.join(map(str, study.batches))}, median of {seeds} seeds: "
            f"{'; '.join(ends)}.",
        )


def drift(drifts: Mapping[str, Drift]) -> Picture:
    """Draw how far replicas are apart after each step.

    The axis is logarithmic, which has no 0: replicas that are equal to the bit stand in a row
    of their own under it. Drifts are what `measure_drift` returned.

    >>> from gpulearn_lessons.scaling_out.replica_drift import measure_drift
    >>> drift(measure_drift(["gradients averaged"], steps=2)).alt
    'Distance between replicas over 2 steps, measured: gradients averaged equal to the bit ...'
    """
    expected = "what measure_drift returns"
    require.named("drifts", drifts, expected, len(LINES))
    require.each(drifts, "distances", expected, "drifts holds")
    # zeros are drawn at a power of ten, at least ten times below all other distances
    least = min((float(d) for run in drifts.values() for d in run.distances if d > 0), default=1.0)
    floor = 10.0 ** (math.floor(math.log10(least)) - 1)
    parts, steps = [], 0
    with figure(8.0, 4.4) as (fig, axes):
        for number, (name, run) in enumerate(drifts.items()):
            distances, apart = run.distances, run.distances > 0
            steps = max(steps, len(distances) - 1)
            every = max(1, len(distances) // 12)
            # beside the markers of a line that it lies on
            marks = number * every // len(drifts), every
            axes.plot(np.arange(len(distances)), np.where(apart, distances, floor), label=name,
                      markersize=5, markevery=marks, **LINES[number])  # fmt: skip
            if not apart.any():
                parts.append(f"{name} equal to the bit at every step")
                continue
            together = int(np.sum(~apart[1:]))
            again = f", but equal to the bit after {together} steps on the way" if together else ""
            end = f"{distances[-1]:.2g} apart" if apart[-1] else "equal to the bit"
            parts.append(f"{name} {end} at the end, at most {distances.max():.2g}{again}")
        axes.set_yscale("log")
        axes.set_xlabel("step")
        axes.set_ylabel("distance between replicas,\nrelative to their weights (logarithmic)")
        _mark_zeros(axes, max(float(run.distances.max()) for run in drifts.values()), floor)
        legend_beside(axes)
        return show(
            fig, f"Distance between replicas over {steps} steps, measured: {'; '.join(parts)}."
        )


def _mark_zeros(axes: Any, most: float, floor: float) -> None:
    highest = math.floor(math.log10(max(most, 10 * floor)))
    axes.set_ylim(floor / 2, max(most, 10.0**highest) * 2)
    powers = range(round(math.log10(floor)) + 1, highest + 1)
    powers = powers[:: max(1, math.ceil(len(powers) / 8))]
    subs = (1, 2, 5) if len(powers) < 3 else (1,)  # a single tick would say nothing of the scale
    ticks = [n * 10.0**p for p in powers for n in subs if n * 10.0**p <= axes.get_ylim()[1]]
    axes.set_yticks([floor, *ticks], [SAME, *(f"{tick:g}" for tick in ticks)])
    axes.minorticks_off()
    axes.axhline(floor * 3, color="0.3", linewidth=1)  # below it the axis is no longer one
