"""The interactive figure of notebook 12: change the rate, and the network is trained anew."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpulearn import require
from gpulearn.display import Picture
from gpulearn.errors import TrainingError
from gpulearn.plot.explorer import Explorer
from gpulearn.plot.training_curves import draw_run, finding

if TYPE_CHECKING:
    from gpulearn.train.history import Epoch, Step

__all__ = ["draw_training", "training_explorer"]

RATES = (0.01, 0.03, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 2.0, 5.0)
# 0, since a list of choices shows a None as nothing chosen
CLIPS = {"none": 0.0, "at 3": 3.0, "at 1": 1.0, "at 0.3": 0.3}
SCHEDULES = ("constant", "cosine", "warm-up")


def draw_training(
    data: Any, epochs: int, *, rate: float, clip: float, schedule: str
) -> tuple[Picture, str]:
    """Train a LeNet with momentum, draw its curves, and say how it went; clip 0 is none."""
    from gpulearn.train.fit import fit
    from gpulearn.train.models import LeNet

    steps: list[Step] = []
    ends: list[Epoch] = []
    stopped = ""
    try:
        fit(
            LeNet(seed=0),
            data,
            epochs=epochs,
            rate=rate,
            optimizer="momentum",
            schedule=schedule,
            clip=clip or None,
            progress=False,
            on_step=steps.append,
            on_epoch=ends.append,
        )
    except TrainingError as error:  # an answer like any other: this rate is too high
        stopped = f" {error}"
    said = f"Rate {rate:g}, clip {clip or 'none'}, {schedule}. {finding(steps, ends)}{stopped}"
    return draw_run(steps, ends, clip=clip or None), said


def training_explorer(data: Any, epochs: int = 4) -> Explorer:
    """Choose rate, clipping and schedule; a LeNet is trained with momentum at each change.

    Args:
        data: `gl.digits()`, or what else `gl.fit` takes.
        epochs: passes over the data, so that a change takes less than a second.

    Raises:
        BadInput: the data are none, or epochs is no whole number above zero.
    """
    widgets = require.package("ipywidgets", "gl.plot.training_explorer")
    epochs = require.whole("epochs", epochs)
    controls = {
        "rate": widgets.SelectionSlider(
            options=[(f"{rate:g}", rate) for rate in RATES],
            value=1.0,
            description="rate",
            continuous_update=False,
            readout=False,  # could be typed into; the sentence below says it
        ),
        "clip": widgets.Dropdown(options=list(CLIPS.items()), value=0.0, description="clip"),
        "schedule": widgets.Dropdown(options=SCHEDULES, description="schedule"),
    }
    return Explorer(lambda **values: draw_training(data, epochs, **values), controls)
