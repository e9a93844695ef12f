"""Curves of training runs: the four panels of one run, and one curve of several runs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from gpulearn import require
from gpulearn.display import Picture, show
from gpulearn.errors import BadInput
from gpulearn.perf.timing import format_seconds
from gpulearn.plot.style import LINES, figure
from gpulearn.require import shown
from gpulearn.tables import Table, table

if TYPE_CHECKING:
    from gpulearn.train.history import Epoch, History, Step

__all__ = ["compare_runs", "draw_run", "finding", "runs_table", "smoothed"]

SMOOTHING = 20  # steps; less than an epoch of the digits
LOG_FROM = 30.0  # largest ÷ smallest value from which an axis is logarithmic
# what compare_runs can draw -> the axis, and how a last value is said
CURVES = {
    "loss": ("loss of the batch", "{:.3g}"),
    "gradient_norm": ("norm of the gradient", "{:.3g}"),
    "rate": ("learning rate", "{:.3g}"),
    "test_loss": ("loss, held-out digits", "{:.3g}"),
    "test_accuracy": ("right, held-out digits (%)", "{:.1f} %"),
}


def smoothed(values: Sequence[float], window: int = SMOOTHING) -> list[float]:
    """The mean of each value and up to `window` − 1 values before it.

    >>> smoothed([4.0, 2.0, 0.0, 0.0], window=2)
    [4.0, 3.0, 1.0, 0.0]
    """
    parts = (values[max(0, end - window) : end] for end in range(1, len(values) + 1))
    return [
        math.fsum(part) / len(part) if all(map(math.isfinite, part)) else math.nan for part in parts
    ]


def finding(steps: Sequence[Step], epochs: Sequence[Epoch]) -> str:
    """One sentence on a run: where its loss went, what it got right, how large its gradients."""
    if not steps:
        return "No step has been taken yet."
    losses = smoothed([step.loss for step in steps])
    if not math.isfinite(losses[-1]):
        bad = next(step.step for step in steps if not math.isfinite(step.loss))
        return f"After {len(steps):,} steps: at step {bad:,} the loss was no finite number."
    largest = max(filter(math.isfinite, (step.gradient_norm for step in steps)), default=math.inf)
    said = (
        f"After {len(steps):,} steps the loss, a mean over up to {SMOOTHING} steps, went from "
        f"{steps[0].loss:.3g} to {losses[-1]:.3g}; the gradient's norm was at most {largest:.3g}"
    )
    if not epochs:
        return f"{said}."
    return f"{said}; {epochs[-1].test_accuracy:.1%} of the held-out digits are right."


def draw_run(
    steps: Sequence[Step], epochs: Sequence[Epoch], *, clip: float | None = None
) -> Picture:
    """Four panels of one run: loss, held-out accuracy, norm of the gradient, learning rate.

    Args:
        steps: one entry for each step, as in `History.steps`.
        epochs: one entry for each evaluation, as in `History.epochs`.
        clip: the norm at which gradients were clipped, drawn as a line.
    """
    with figure(9.5, 5.4) as (made, first):
        blue, orange, red, grey = _colours()[:4]
        first.remove()
        (loss, right), (norm, rate) = made.subplots(2, 2, sharex=True)
        at = [step.step for step in steps]
        tested = [epoch.step for epoch in epochs]
        ends = [epoch.test_loss for epoch in epochs]
        losses = [step.loss for step in steps]
        loss.plot(at, losses, color=blue, alpha=0.35, linewidth=1, label="each batch")
        loss.plot(at, smoothed(losses), color=blue, label=f"mean of {SMOOTHING}")
        loss.plot(tested, ends, "s--", color=orange, markersize=5, label="held out")
        _axis(loss, "loss", losses + ends)
        loss.legend(loc="best", fontsize=9)
        shares = [100 * epoch.test_accuracy for epoch in epochs]
        right.plot(tested, shares, "s--", color=orange, markersize=5)
        right.set_ylabel("held-out digits right (%)")
        right.set_ylim(0, 102)
        if shares:
            below = 20 if shares[-1] > 30 else -8
            right.annotate(
                f"{shares[-1]:.1f} %",
                (tested[-1], shares[-1]),
                ha="right",
                xytext=(0, -below),
                textcoords="offset points",
            )
        norms = [step.gradient_norm for step in steps]
        norm.plot(at, norms, color=red, linewidth=1)
        _axis(norm, "norm of the gradient", norms)
        if clip is not None:
            norm.axhline(clip, color="0.3", linestyle=":", label=f"clipped to {clip:g}")
            norm.legend(loc="best", fontsize=9)
        rate.plot(at, [step.rate for step in steps], color=grey)
        rate.set_ylabel("learning rate")
        rate.set_ylim(bottom=0)
        for panel in (norm, rate):
            panel.set_xlabel("step")
    return show(made, f"Four curves over the steps of a training run. {finding(steps, epochs)}")


def compare_runs(runs: Mapping[str, History], curve: str = "loss") -> Picture:
    """One curve of several training runs in one figure.

    Args:
        runs: what each run is called → what `gl.fit` returned.
        curve: "loss" (a mean over 20 steps), "gradient_norm", "rate", "test_loss" or
            "test_accuracy".

    Raises:
        BadInput: there is no run, something is none, or there is no such curve.
    """
    require.choice("curve", curve, CURVES)
    _check_runs(runs)
    label, form = CURVES[curve]
    ends, every = [], []
    with figure() as (made, axes):
        for (name, run), line in zip(runs.items(), LINES, strict=False):
            at, values = _points(run, curve)
            axes.plot(at, values, label=name, markevery=max(1, len(at) // 8), **line)
            every += values
            ends.append(f"{name} {form.format(values[-1])}")
        axes.set_xlabel("step")
        _axis(axes, label, every)
        if curve == "test_accuracy":
            axes.set_ylim(0, 102)
        axes.legend()
    return show(made, f"{label[0].upper()}{label[1:]} over steps; at the end: {', '.join(ends)}.")


def runs_table(runs: Mapping[str, History]) -> Table:
    """How several training runs ended: one row a run.

    Args:
        runs: what each run is called → what `gl.fit` returned.

    Raises:
        BadInput: there is no run, or something is none.
    """
    _check_runs(runs)
    return table([_row(name, run) for name, run in runs.items()], "Time measured here.")


def _row(name: str, run: History) -> dict[str, str]:
    last = run.epochs[-1]
    return {
        "run": name,
        "largest gradient": f"{max(step.gradient_norm for step in run.steps):.3g}",
        "training loss": f"{last.train_loss:.3g}",
        "held-out loss": f"{last.test_loss:.3g}",
        "held out, right": f"{last.test_accuracy:.1%}",
        "time": format_seconds(run.seconds),
    }


def _check_runs(runs: Mapping[str, History]) -> None:
    if not isinstance(runs, Mapping) or not runs:
        raise BadInput(f'runs is {shown(runs)}: give {{"name": what gl.fit returned, …}}.')
    for name, run in runs.items():
        if not getattr(run, "steps", None) or not getattr(run, "epochs", None):
            raise BadInput(f"{name} is {shown(run)}: give what gl.fit returned.")


def _points(run: History, curve: str) -> tuple[list[int], list[float]]:
    records: Sequence[Any] = run.epochs if curve.startswith("test_") else run.steps
    values = [getattr(record, curve) for record in records]
    if curve == "loss":
        values = smoothed(values)
    if curve == "test_accuracy":
        values = [100 * value for value in values]
    return [record.step for record in records], values


def _colours() -> list[str]:
    """The style's colours: names such as "C0" would be looked up when it is no longer set."""
    from matplotlib import rcParams

    return list(rcParams["axes.prop_cycle"].by_key()["color"])


def _axis(axes: Any, label: str, values: Sequence[float]) -> None:
    """Label an axis; make it logarithmic where the values lie far apart."""
    finite = [value for value in values if math.isfinite(value) and value > 0]
    if finite and max(finite) > LOG_FROM * min(finite):
        _logarithmic(axes, max(finite) / min(finite))
        label += ", logarithmic"
    else:
        axes.set_ylim(bottom=0)
    axes.set_ylabel(label)


def _logarithmic(axes: Any, spread: float) -> None:
    """A logarithmic axis whose ticks are plain numbers: 1, 10, …, and 3, 30, … if few."""
    from matplotlib.ticker import LogLocator, NullLocator, StrMethodFormatter

    axes.set_yscale("log")
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 3) if spread < 10**3.5 else (1,)))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
