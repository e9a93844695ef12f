"""Replicas drifting apart: the distance between them over the steps, on a logarithmic axis."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from gpulearn.display import Picture, show
from gpulearn.errors import BadInput
from gpulearn.plot.style import LINES, figure
from gpulearn.require import shown

if TYPE_CHECKING:
    from gpulearn.scaling.drift import Drift

__all__ = ["plot_drift"]

SAME = "equal\nto the bit"


def plot_drift(drifts: Mapping[str, Drift]) -> Picture:
    """Draw how far replicas are apart after each step.

    The axis is logarithmic, which has no 0: replicas that are equal to the bit stand in a row
    of their own under it.

    Args:
        drifts: what `gl.scaling.measure_drift` returned.

    Raises:
        BadInput: there is nothing to draw, or something is none.

    >>> import gpulearn as gl
    >>> plot_drift(gl.scaling.measure_drift(["gradients averaged"], steps=2)).alt
    'Distance between replicas over 2 steps, measured: gradients averaged equal to the bit ...'
    """
    if not isinstance(drifts, Mapping) or not 0 < len(drifts) <= len(LINES):
        raise BadInput(f"drifts is {shown(drifts)}: give what gl.scaling.measure_drift returns.")
    for one in drifts.values():
        if not hasattr(one, "distances"):
            raise BadInput(
                f"drifts holds {shown(one)}: give what gl.scaling.measure_drift returns."
            )
    floor = row_of_zeros(drifts)
    with figure(8.0, 4.4) as (made, axes):
        for number, (name, one) in enumerate(drifts.items()):
            steps = np.arange(len(one.distances))
            every = max(1, len(steps) // 12)
            # markers of two lines that lie on each other stand side by side
            marks = (number * every // len(drifts), every)
            line = {**LINES[number], "markersize": 5, "markevery": marks}
            axes.plot(steps, np.where(one.distances > 0, one.distances, floor), label=name, **line)
        axes.set_yscale("log")
        axes.set_xlabel("step")
        axes.set_ylabel("distance between replicas,\nrelative to their weights (logarithmic)")
        _mark_zeros(axes, drifts, floor)
        axes.legend(fontsize=9, loc="center left", bbox_to_anchor=(1.01, 0.5))
        return show(made, _said(drifts))


def row_of_zeros(drifts: Mapping[str, Drift]) -> float:
    """Where zeros are drawn: a power of ten, at least ten times below all other distances."""
    least = min((float(d) for one in drifts.values() for d in one.distances if d > 0), default=1.0)
    return float(10.0 ** (math.floor(math.log10(least)) - 1))


def _mark_zeros(axes: Any, drifts: Mapping[str, Drift], floor: float) -> None:
    most = max(float(one.distances.max()) for one in drifts.values())
    highest = math.floor(math.log10(max(most, 10 * floor)))
    axes.set_ylim(floor / 2, max(most, 10.0**highest) * 2)
    powers = range(round(math.log10(floor)) + 1, highest + 1)
    powers = powers[:: max(1, math.ceil(len(powers) / 8))]
    axes.set_yticks(
        [floor, *(10.0**power for power in powers)], [SAME, *(f"{10.0**p:g}" for p in powers)]
    )
    axes.minorticks_off()
    axes.axhline(floor * 3, color="0.3", linewidth=1)  # below it the axis is no longer one


def _said(drifts: Mapping[str, Drift]) -> str:
    parts = []
    for name, one in drifts.items():
        apart = one.distances > 0
        if not apart.any():
            parts.append(f"{name} equal to the bit all the way")
            continue
        together = int(np.sum(~apart[1:]))
        again = f", but equal to the bit after {together} steps on the way" if together else ""
        end = f"{one.distances[-1]:.2g} apart" if apart[-1] else "equal to the bit"
        parts.append(f"{name} {end} at the end, at most {one.distances.max():.2g}{again}")
    steps = max(len(one.distances) for one in drifts.values()) - 1
    return f"Distance between replicas over {steps} steps, measured: {'; '.join(parts)}."
