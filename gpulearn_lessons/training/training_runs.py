"""Training runs: their curves, the live board, and an explorer."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from time import monotonic
from typing import TYPE_CHECKING, Any

from gpulearn import require
from gpulearn.display import Picture, show
from gpulearn.errors import BadInput, TrainingError
from gpulearn.plot.controls import Explorer, choices, dropdown
from gpulearn.plot.style import figure, note, plain_decades
from gpulearn.require import shown

if TYPE_CHECKING:
    from gpulearn.train.history import Epoch, Step

SMOOTHING = 20  # steps; less than an epoch of the digits
LOG_FROM = 30.0  # largest ÷ smallest value from which an axis is logarithmic
EVERY, SHARE = 0.4, 0.25  # seconds between two drawings at least, and their share of the time
RATES = (0.01, 0.03, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 2.0, 5.0)
# 0, since a list of choices shows None as no choice
CLIPS = {"none": 0.0, "at 3": 3.0, "at 1": 1.0, "at 0.3": 0.3}
SCHEDULES = ("constant", "cosine", "warm-up")


def smoothed(values: Sequence[float], window: int = SMOOTHING) -> list[float]:
    """The mean of each value and up to `window` − 1 values before it.

    >>> smoothed([4.0, 2.0, 0.0, 0.0], window=2)
    [4.0, 3.0, 1.0, 0.0]
    """
    parts = (values[max(0, end - window) : end] for end in range(1, len(values) + 1))
    return [
        math.fsum(part) / len(part) if all(map(math.isfinite, part)) else math.nan for part in parts
    ]


def summary(steps: Sequence[Step], epochs: Sequence[Epoch]) -> str:
    """One sentence on a run: where its loss went, what it got right, how large its gradients."""
    if not steps:
        return "No step has been taken yet."
    losses = smoothed([step.loss for step in steps])
    if not math.isfinite(losses[-1]):
        bad = next(step.step for step in steps if not math.isfinite(step.loss))
        return f"After {len(steps):,} steps: at step {bad:,} the loss was not finite."
    largest = max(filter(math.isfinite, (step.gradient_norm for step in steps)), default=math.inf)
    accuracy = (
        f"; {epochs[-1].test_accuracy:.1%} of the held-out digits are right" if epochs else ""
    )
    return (
        f"After {len(steps):,} steps the loss, a mean over up to {SMOOTHING} steps, went from "
        f"{steps[0].loss:.3g} to {losses[-1]:.3g}; the gradient's norm was at most {largest:.3g}"
        f"{accuracy}."
    )


def draw_run(
    steps: Sequence[Step], epochs: Sequence[Epoch], *, clip: float | None = None
) -> Picture:
    """Four panels of one run: loss, held-out accuracy, norm of the gradient, learning rate.

    `clip` is the norm at which gradients were clipped, drawn as a line.
    """
    with figure(9.5, 5.4, 2, 2, sharex=True) as (fig, ((loss, right), (norm, rate))):
        at, tested = [step.step for step in steps], [epoch.step for epoch in epochs]
        losses, ends = [step.loss for step in steps], [epoch.test_loss for epoch in epochs]
        loss.plot(at, losses, color="C0", alpha=0.35, linewidth=1, label="each batch")
        loss.plot(at, smoothed(losses), color="C0", label=f"mean of {SMOOTHING}")
        loss.plot(tested, ends, "s--", color="C1", markersize=5, label="held out")
        _axis(loss, "loss", losses + ends)
        loss.legend(loc="best", fontsize=9)
        shares = [100 * epoch.test_accuracy for epoch in epochs]
        right.plot(tested, shares, "s--", color="C1", markersize=5)
        right.set(ylabel="held-out digits right (%)", ylim=(0, 102))
        if shares:
            below = 20 if shares[-1] > 30 else -8
            note(right, f"{shares[-1]:.1f} %", (tested[-1], shares[-1]), (0, -below), ha="right")
        norms = [step.gradient_norm for step in steps]
        norm.plot(at, norms, color="C2", linewidth=1)
        _axis(norm, "norm of the gradient", norms)
        if clip is not None:
            norm.axhline(clip, color="0.3", linestyle=":", label=f"clipped to {clip:g}")
            norm.legend(loc="best", fontsize=9)
        rate.plot(at, [step.rate for step in steps], color="C3")
        rate.set_ylabel("learning rate")
        rate.set_ylim(bottom=0)
        for panel in (norm, rate):
            panel.set_xlabel("step")
    return show(fig, f"Four curves over the steps of a training run. {summary(steps, epochs)}")


def _axis(axes: Any, label: str, values: Sequence[float]) -> None:
    """Label an axis; make it logarithmic where the values lie far apart."""
    finite = [value for value in values if math.isfinite(value) and value > 0]
    if finite and max(finite) > LOG_FROM * min(finite):
        plain_decades(axes, (1, 3) if max(finite) / min(finite) < 10**3.5 else (1,))
        label += ", logarithmic"
    else:
        axes.set_ylim(bottom=0)
    axes.set_ylabel(label)


class TrainingBoard:
    """Loss, held-out accuracy, gradient norm and learning rate of a run in progress.

    Call it with each step and each epoch. In a notebook it redraws itself in one place under the
    cell, and once more as the last value of the cell. Elsewhere it only collects. An error in a
    drawing is raised where training called the board.
    """

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self.epochs: list[Epoch] = []
        self._place: Any = None  # where the live picture stands
        self._next = 0.0

    def __call__(self, record: Any) -> None:
        """Take note of a step or an epoch, and draw if enough time has passed."""
        if hasattr(record, "test_accuracy"):
            self.epochs.append(record)
        elif hasattr(record, "gradient_norm"):
            self.steps.append(record)
        else:
            raise BadInput(
                f"The board was given {shown(record)}: hand it to gl.fit as on_step and on_epoch."
            )
        if monotonic() >= self._next and (self._place or in_notebook()):
            self._draw()

    def picture(self) -> Picture:
        """The four curves as they stand now."""
        return draw_run(self.steps, self.epochs)

    def _repr_html_(self) -> str:
        text = escape(summary(self.steps, self.epochs))
        return f'<p role="status">{text}</p>{self.picture().image}'

    def __repr__(self) -> str:
        return f"[training board: {summary(self.steps, self.epochs)}]"

    def _draw(self) -> None:
        from IPython.display import display

        started = monotonic()
        content = {"text/html": self._repr_html_(), "text/plain": repr(self)}
        if self._place is None:
            self._place = display(content, raw=True, display_id=True)
        else:
            self._place.update(content, raw=True)
        # Drawing may take a while on a busy machine, and training is what the cell is for.
        now = monotonic()
        self._next = now + max(EVERY, (now - started) / SHARE)

    def _ipython_display_(self) -> None:
        """As a cell's last value: bring the picture that stands there already up to date."""
        self._draw()
        self._place = None  # shown again by another cell, it stands under that one


def in_notebook() -> bool:
    """Whether a picture can be drawn anew in its place: in a kernel, not in a terminal."""
    try:
        from IPython.core.getipython import get_ipython
    except ModuleNotFoundError:
        return False
    return hasattr(get_ipython(), "kernel")


def training_board() -> TrainingBoard:
    """Make a board that shows a training run while it runs.

    Hand it to `gl.fit` as `on_step` and as `on_epoch`, and end the cell with it.

    >>> training_board()
    [training board: No step has been taken yet.]
    """
    require.package("matplotlib", "training.training_board")
    return TrainingBoard()


def draw_training(
    data: Any, epochs: int, *, rate: float, clip: float, schedule: str
) -> tuple[Picture, str]:
    """Train a LeNet with momentum, draw its curves, and say how it went; a clip of 0 is none."""
    from gpulearn.train.fit import fit
    from gpulearn.train.models import LeNet

    steps: list[Step] = []
    ends: list[Epoch] = []
    stopped = ""
    records: dict[str, Any] = {"on_step": steps.append, "on_epoch": ends.append}
    method: dict[str, Any] = {"lr": rate, "schedule": schedule, "clip": clip or None}
    try:
        fit(LeNet(seed=0), data, epochs=epochs, optimizer="momentum", progress=False, **method,
            **records)  # fmt: skip
    except TrainingError as error:  # an answer like any other: this rate is too high
        stopped = f" {error}"
    text = f"Rate {rate:g}, clip {clip or 'none'}, {schedule}. {summary(steps, ends)}{stopped}"
    return draw_run(steps, ends, clip=clip or None), text


def training_explorer(data: Any, epochs: int = 4) -> Explorer:
    """Choose rate, clipping and schedule; each change trains a LeNet with momentum.

    `data` is `gl.digits()`, or anything else that `gl.fit` takes; `epochs` are passes over it.
    """
    epochs = require.whole("epochs", epochs)
    controls = {
        "rate": choices("rate", RATES, 1.0, "{:g}"),
        "clip": dropdown("clip", list(CLIPS.items()), 0.0),
        "schedule": dropdown("schedule", SCHEDULES, SCHEDULES[0]),
    }
    return Explorer(lambda **values: draw_training(data, epochs, **values), controls)
