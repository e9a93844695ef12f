"""The board that shows a training run while it goes on, and stays as its last picture."""

from __future__ import annotations

from html import escape
from time import monotonic
from typing import TYPE_CHECKING, Any

from gpulearn import require
from gpulearn.display import Picture
from gpulearn.errors import BadInput
from gpulearn.plot.training_curves import draw_run, finding
from gpulearn.require import shown

if TYPE_CHECKING:
    from gpulearn.train.history import Epoch, Step

__all__ = ["TrainingBoard", "training_board"]

SHARE = 0.25  # of the time may go into drawing


class TrainingBoard:
    """Loss, held-out accuracy, gradient norm and learning rate of a run that goes on.

    Call it with each step and each epoch. In a notebook it draws itself anew in one place
    under the cell; as the last value of the cell it draws what came last. Elsewhere it only
    collects. Whatever goes wrong in a drawing is raised where training called the board.
    """

    def __init__(self, *, clip: float | None = None, every: float = 0.4) -> None:
        self.steps: list[Step] = []
        self.epochs: list[Epoch] = []
        self._clip, self._every = clip, every
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
        return draw_run(self.steps, self.epochs, clip=self._clip)

    def _repr_html_(self) -> str:
        said = escape(finding(self.steps, self.epochs))
        return f'<p role="status">{said}</p>{self.picture()._repr_html_()}'

    def __repr__(self) -> str:
        return f"[training board: {finding(self.steps, self.epochs)}]"

    def _draw(self) -> None:
        from IPython.display import display

        started = monotonic()
        shown_now = {"text/html": self._repr_html_(), "text/plain": repr(self)}
        if self._place is None:
            self._place = display(shown_now, raw=True, display_id=True)
        else:
            self._place.update(shown_now, raw=True)
        # Drawing may take a while on a busy machine, and training is what the cell is for.
        took = monotonic() - started
        self._next = monotonic() + max(self._every, took / SHARE)

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


def training_board(*, clip: float | None = None, every: float = 0.4) -> TrainingBoard:
    """Make a board that shows a training run while it goes on.

    Hand it to `gl.fit` as `on_step` and as `on_epoch`, and end the cell with it.

    Args:
        clip: the norm at which gradients are clipped, drawn as a line.
        every: least seconds between two drawings; drawing never takes more than a quarter of
            the time.

    Raises:
        BadInput: a number is not above zero.

    >>> training_board()
    [training board: No step has been taken yet.]
    """
    require.package("matplotlib", "gl.plot.training_board")
    require.above_zero("every", every)
    if clip is not None:
        require.above_zero("clip", clip)
    return TrainingBoard(clip=clip, every=every)
