"""How trainings with larger batches end, by the rule that their learning rate followed."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from gpulearn import require
from gpulearn.display import Picture, show
from gpulearn.errors import BadInput
from gpulearn.plot.style import LINES, figure
from gpulearn.require import shown

if TYPE_CHECKING:
    from gpulearn.scaling.batch_sizes import BatchStudy

__all__ = ["plot_batch_sizes"]

CURVES = {
    "accuracy": ("held-out digits right (%)", 100.0),
    "loss": ("loss on the training digits (logarithmic)", 1.0),
}
APART = 0.04  # of a doubling: so that the bars of two rules do not hide each other


def plot_batch_sizes(study: BatchStudy, curve: str = "accuracy") -> Picture:
    """Draw accuracy or loss over the batch size, one line for each rule.

    Points are medians over the seeds, bars go from the lowest to the highest.

    Args:
        study: what `gl.scaling.batch_size_study` returned.
        curve: "accuracy" or "loss".

    Raises:
        BadInput: this is no study, or there is no such curve.
    """
    require.choice("curve", curve, CURVES)
    if not hasattr(study, "accuracies"):
        raise BadInput(f"study is {shown(study)}: give what gl.scaling.batch_size_study returns.")
    label, scale = CURVES[curve]
    with figure(7.6, 4.2) as (made, axes):
        for number, (rule, look) in enumerate(zip(study.rules, LINES, strict=False)):
            found = [getattr(study, curve)(rule, batch) for batch in study.batches]
            shift = 2 ** (APART * (number - (len(study.rules) - 1) / 2))
            middle = [scale * one.median for one in found]
            below = [_length(one.median, one.low, scale) for one in found]
            above = [_length(one.high, one.median, scale) for one in found]
            axes.errorbar(
                [batch * shift for batch in study.batches],
                middle,
                yerr=[below, above],
                label=rule,
                capsize=3,
                elinewidth=1.2,
                **look,
            )
        axes.set_xscale("log", base=2)
        axes.set_xticks(study.batches, [f"{batch:,}" for batch in study.batches])
        axes.minorticks_off()
        axes.set_xlabel(f"batch size (images); {study.epochs} epochs each")
        axes.set_ylabel(label)
        _scale(axes, curve)
        axes.legend(title="learning rate", fontsize=9, title_fontsize=9)
        return show(made, _said(study, curve))


def _length(high: float, low: float, scale: float) -> float:
    """Of a bar; none where the loss was no finite number."""
    return scale * (high - low) if math.isfinite(high) and math.isfinite(low) else 0.0


def _scale(axes: Any, curve: str) -> None:
    from matplotlib.ticker import LogLocator, NullLocator

    if curve == "accuracy":
        axes.set_ylim(0, 102)
    else:
        axes.set_yscale("log")
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.yaxis.set_minor_locator(NullLocator())
        axes.yaxis.set_major_formatter("{x:g}")


def _said(study: BatchStudy, curve: str) -> str:
    ends = []
    for rule in study.rules:
        values = [getattr(study, curve)(rule, batch).median for batch in study.batches]
        form = "{:.0%}" if curve == "accuracy" else "{:.2g}"
        ends.append(f"{rule} " + ", ".join(form.format(value) for value in values))
    what = "Held-out digits right" if curve == "accuracy" else "Loss on the training digits"
    sizes = ", ".join(str(batch) for batch in study.batches)
    return (
        f"{what} after {study.epochs} epochs over batch sizes {sizes}, median of "
        f"{len(study.seeds)} seeds: {'; '.join(ends)}."
    )
