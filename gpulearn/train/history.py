"""What happened in a training run: as plain data, in a log on disk, and as a progress bar."""

from __future__ import annotations

import contextlib
import csv
import dataclasses
import math
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any

from gpulearn import require
from gpulearn.errors import DataError

__all__ = ["Epoch", "History", "RunLog", "Step", "progress_bar", "read_log"]


@dataclass(frozen=True)
class Step:
    """One step of the optimiser.

    Attributes:
        step: its number, from 1.
        epoch: the number of its epoch, from 1.
        samples: how many images its batch held.
        loss: mean cross-entropy over the batch, before the step.
        rate: the learning rate of this step.
        gradient_norm: global norm of the gradient, before clipping.
        scale: what the loss was multiplied by (1 without loss scaling).
    """

    step: int
    epoch: int
    samples: int
    loss: float
    rate: float
    gradient_norm: float
    scale: float = 1.0

    @property
    def skipped(self) -> bool:
        """Whether scaled gradients overflowed in float16, so that no step was taken."""
        return not math.isfinite(self.gradient_norm)


@dataclass(frozen=True)
class Epoch:
    """One pass over the training data.

    Attributes:
        epoch: its number, from 1.
        step: the number of its last step.
        train_loss: mean of the batches' losses, weighted by their samples.
        test_loss: mean cross-entropy over the held-out data after the epoch.
        test_accuracy: share of the held-out data that is classified right, 0 to 1.
        seconds: how long it took, with evaluation and callbacks; two epochs are equal without it.
    """

    epoch: int
    step: int
    train_loss: float
    test_loss: float
    test_accuracy: float
    seconds: float = field(compare=False)


@dataclass(frozen=True)
class History:
    """All steps and all epochs of a run, those before a resume included."""

    steps: list[Step]
    epochs: list[Epoch]

    @property
    def accuracy(self) -> float:
        """Share of the held-out data that is classified right after the last epoch, 0 to 1."""
        return self.epochs[-1].test_accuracy

    @property
    def seconds(self) -> float:
        """How long all epochs took together."""
        return sum(epoch.seconds for epoch in self.epochs)

    def __repr__(self) -> str:
        done = f"{len(self.steps):,} steps in {len(self.epochs)} epochs"
        return f"{done}; accuracy on held-out data {self.accuracy:.1%}" if self.epochs else done


CSV_NAME = "steps.csv"
COLUMNS = tuple(field.name for field in dataclasses.fields(Step))
KINDS: dict[str, Any] = {"step": int, "epoch": int, "samples": int}  # the others are floats


class RunLog:
    """Writes one row a step; a row is on disk before the next step begins.

    Args:
        folder: made if need be; `steps.csv` and TensorBoard's event file go there.
        known: the steps before a resume. Rows after them, written by a run that was killed after
            its last checkpoint, are dropped, for they come again.

    Raises:
        MissingPackage: TensorBoard is not installed.
    """

    def __init__(self, folder: str | Path, known: list[Step]) -> None:
        require.package("tensorboard", "gl.fit(log=…)")
        from torch.utils.tensorboard import SummaryWriter

        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / CSV_NAME
        _write_rows(path, known)
        self._file = path.open("a", encoding="utf-8", newline="")
        self._rows = csv.writer(self._file, lineterminator="\n")
        # TensorBoard then hides what older event files in the folder say from here on
        self._events: Any = SummaryWriter(str(folder), purge_step=len(known) + 1)

    def write(self, record: Step | Epoch) -> None:
        """Write the row of a step, or an epoch's results at the number of its last step."""
        if isinstance(record, Step):
            self._rows.writerow(dataclasses.astuple(record))
            self._file.flush()
            self._add("step", record, "loss", "rate", "gradient_norm", "scale")
        else:
            self._add("epoch", record, "train_loss", "test_loss", "test_accuracy")
            self._events.flush()

    def _add(self, tag: str, record: Step | Epoch, *names: str) -> None:
        for name in names:
            self._events.add_scalar(f"{tag}/{name}", getattr(record, name), record.step)

    def __enter__(self) -> RunLog:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._file.close()
        self._events.close()


def read_log(folder: str | Path) -> list[Step]:
    """The steps that a run wrote to a folder; a last row cut short by a kill is left out.

    Raises:
        DataError: there is no log, or a row is none.
    """
    path = Path(folder) / CSV_NAME
    try:
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    except OSError:
        raise DataError(f"There is no {path}: give the folder that gl.fit(log=…) got.") from None
    whole = [line for line in lines if line.endswith("\n")]
    rows = csv.DictReader(whole)
    try:
        return [
            Step(**{name: KINDS.get(name, float)(row[name]) for name in COLUMNS}) for row in rows
        ]
    except (KeyError, TypeError, ValueError):
        raise DataError(
            f"{path} is not a log of gl.fit: line {rows.line_num} is no step."
        ) from None


def _write_rows(path: Path, known: list[Step]) -> None:
    """Start the file with what is known, beside it and renamed, so that a kill loses nothing."""
    unfinished = path.with_name(f"{path.name}.unfinished")
    with unfinished.open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(COLUMNS)
        rows.writerows(dataclasses.astuple(step) for step in known)
    unfinished.replace(path)


def progress_bar(
    show: bool,
    total: int | None,
    done: int = 0,
    doing: str = "training",
    unit: str = " steps",
    stays: bool = True,
) -> contextlib.AbstractContextManager[Any]:
    """A bar over `total` steps of which `done` are done; None without tqdm."""
    if not show or require.installed("tqdm") is None:
        return contextlib.nullcontext()
    tqdm = require.package("tqdm.auto", "A progress bar").tqdm
    # `disable=None`: no bar where the output is no terminal, since it fills a log with its lines
    bar: contextlib.AbstractContextManager[Any] = tqdm(
        total=total, initial=done, disable=None, unit=unit, desc=doing, leave=stays
    )
    return bar
