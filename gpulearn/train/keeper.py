"""When a run saves a checkpoint, and which one is good when it fails."""

from __future__ import annotations

from pathlib import Path

from gpulearn.train.checkpoint import previous_checkpoint, save_checkpoint
from gpulearn.train.history import Epoch, Step
from gpulearn.train.run import Run

__all__ = ["Keeper"]


class Keeper:
    """Saves a run's checkpoints and remembers at which step.

    Args:
        path: file to save to, or None.
        every: steps between two checkpoints; None is the end of every epoch.
        resume: the checkpoint that the run goes on from, or None.
        steps: how many steps were done in it.
    """

    def __init__(
        self, path: str | Path | None, every: int | None, resume: str | Path | None, steps: int
    ) -> None:
        self.path, self.every = path, every
        self.last, self.at = resume, steps
        self.before = None if resume is None else previous_checkpoint(resume)

    def save_if_due(self, record: Step | Epoch, run: Run) -> None:
        """Write a checkpoint where one is to be written; the end of a run always has one."""
        if self.path is None or not self._is_due(record, run.settings.epochs):
            return
        save_checkpoint(self.path, run.state())
        # the file's last content is the one before it, if that was of this run
        mine = self.last is not None and Path(self.last) == Path(self.path)
        self.before = previous_checkpoint(self.path) if mine else None
        self.last, self.at = self.path, len(run.steps)

    def advice(self, done: int, by_data: bool) -> str:
        """Where to go on after a step that failed: what is good has had a good step since.

        Args:
            done: the steps before it.
            by_data: whether its batch is the cause, and not the weights.
        """
        remedy = "resume from it, with a smaller rate or with `clip`."
        if self.last is None:
            return "There is no checkpoint yet to go back to."
        if by_data or self.at < done:
            return f"The last good checkpoint is {self.last}: {remedy}"
        failed = f"The weights in {self.last} are those that failed"
        if self.before is None or not self.before.exists():
            return f"{failed}, and there is no checkpoint before it: start again."
        return f"{failed}; the last good checkpoint is {self.before}: {remedy}"

    def _is_due(self, record: Step | Epoch, epochs: int) -> bool:
        if isinstance(record, Epoch):
            return self.every is None or record.epoch == epochs
        return self.every is not None and record.step % self.every == 0
