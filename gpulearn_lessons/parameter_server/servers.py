"""Parameter servers: how stale gradients are, and the learning rate that stays stable with them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np

from gpulearn import require
from gpulearn.display import Picture, show
from gpulearn.plot.controls import Explorer, choices, slider
from gpulearn.plot.style import LINES, figure
from gpulearn_lessons.parameter_server.server.staleness import (
    delayed_descent,
    largest_stable_rate,
)

MAX_RUNS = 4  # histograms side by side
STEPS = 60
# of the descent's ηλ; the limits for delays 0, 1, 2 and 3 lie between them
SIZES = (0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.9, 1.1, 1.5, 1.9, 2.1)


def staleness(runs: Mapping[str, Any]) -> Picture:
    """Draw how many gradients were how stale, a histogram for each run.

    Runs are label → what rank 0 of `train_with_server` returned; up to four.
    """
    named = require.named("runs", runs, '{"label": run, …}, one to four of them', MAX_RUNS)
    require.each(named, "staleness", "what train_with_server returns", "runs holds")
    top = max(max(run.staleness) for run in named.values())
    sentences = []
    with figure(8.6, 1.2 + 1.5 * len(named), rows=len(named), squeeze=False) as (fig, rows):
        for number, (label, run) in enumerate(named.items()):
            axes = rows[number][0]
            counts, total = Counter(run.staleness), len(run.staleness)
            common, times = counts.most_common(1)[0]
            sentences.append(
                f"{label}: mean {np.mean(run.staleness):.3g}, most often {common} ({times} of "
                f"{total}), at most {max(run.staleness)}."
            )
            axes.bar(list(counts), list(counts.values()), color=f"C{number}", width=0.8)
            axes.set_xlim(-0.7, top + 0.7)
            axes.set_ylabel("gradients")
            axes.set_title(label, loc="left", fontsize=11)
        rows[-1][0].set_xlabel("staleness: updates since the weights were sent")
        return show(fig, f"How stale gradients are. {' '.join(sentences)}")


def sentence(delay: int, size: float) -> str:
    """What a descent with stale gradients does in the long run.

    >>> print(sentence(1, 0.5))
    Gradients 1 update old, ηλ = 0.5, below the limit of 1.000: in the long run the
    distance shrinks.
    """
    limit = largest_stable_rate(delay)
    word, end = ("below", "shrinks") if size < limit else ("above", "grows")
    return (
        f"Gradients {delay} update{'' if delay == 1 else 's'} old, ηλ = {size:g}, {word} the limit "
        f"of {limit:.3f}: in the long run the distance {end}."
    )


def draw_staleness(delay: int, size: float) -> tuple[Picture, str]:
    """A descent with stale gradients, and its sentence; the explorer's whole logic."""
    distances, alt = delayed_descent(size, delay, STEPS), sentence(delay, size)
    with figure(7.2, 3.4) as (fig, axes):
        axes.plot(np.maximum(distances, 1e-9), **LINES[0], markevery=5, markersize=5)
        axes.set_yscale("log")
        axes.set_ylim(1e-6, 1e6)
        axes.set(xlabel="update", ylabel="distance from the minimum")
        return show(fig, alt), alt


def staleness_explorer() -> Explorer:
    """Choose how stale the gradients are and how long the steps; see whether they converge."""
    return Explorer(
        draw_staleness,
        {"delay": slider("staleness", 3, 0, 10), "size": choices("ηλ", SIZES, 0.4, "{:g}")},
    )
