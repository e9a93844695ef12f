"""What happened in a training run: as plain data, in a log on disk, and as a progress bar."""

from __future__ import annotations

import contextlib
import csv
import dataclasses
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gpulearn import require
from gpulearn.errors import BadInput


@dataclass(frozen=True)
class Step:
    """One step of the optimizer."""

    step: int  # its number, from 1
    epoch: int  # that of its epoch, from 1
    samples: int  # images in its batch
    loss: float  # mean cross-entropy over the batch, before the step
    rate: float  # the learning rate
    gradient_norm: float  # global norm of the gradient, before clipping


@dataclass(frozen=True)
class Epoch:
    """One pass over the training data."""

    epoch: int  # its number, from 1
    step: int  # that of its last step
    train_loss: float  # mean of the batches' losses, weighted by their samples
    test_loss: float  # mean cross-entropy over the held-out data after the epoch
    test_accuracy: float  # share of the held-out data that is classified right, 0 to 1
    # how long it took, with evaluation and callbacks; two epochs are equal without it
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


def make_folder(name: str, folder: Path) -> None:
    """Make the folder of a file that a run is to write."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        why = error.strerror or error
        raise BadInput(f"{name} cannot be written to {folder}: {why}. Give another path.") from None


@contextlib.contextmanager
def run_log(folder: Path, known: list[Step]) -> Iterator[Callable[[Step | Epoch], None]]:
    """Open a folder's log; what comes writes the record of a step or of an epoch.

    A step's row is on disk before the next step begins. `known` are the steps before a resume. Rows
    after them, written by a run that was killed after its last checkpoint, are dropped, for they
    come again.
    """
    require.package("tensorboard", "gl.fit(log=…)")
    from torch.utils.tensorboard import SummaryWriter

    make_folder("log", folder)
    path = folder / CSV_NAME
    unfinished = path.with_name(f"{path.name}.unfinished")  # renamed, so a kill loses nothing
    with unfinished.open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(field.name for field in dataclasses.fields(Step))
        rows.writerows(map(dataclasses.astuple, known))
    unfinished.replace(path)
    # TensorBoard then hides what older event files in the folder say from here on
    events: Any = SummaryWriter(str(folder), purge_step=len(known) + 1)
    with path.open("a", encoding="utf-8", newline="") as file, events:
        rows = csv.writer(file, lineterminator="\n")

        def write(record: Step | Epoch) -> None:
            if isinstance(record, Step):
                rows.writerow(dataclasses.astuple(record))
                file.flush()
                names = ["step/loss", "step/rate", "step/gradient_norm"]
            else:
                names = ["epoch/train_loss", "epoch/test_loss", "epoch/test_accuracy"]
            for name in names:
                events.add_scalar(name, getattr(record, name.partition("/")[2]), record.step)
            if isinstance(record, Epoch):
                events.flush()

        yield write


def progress_bar(
    show: bool,
    total: int | None,
    done: int = 0,
    unit: str = " steps",
    stays: bool = True,
) -> contextlib.AbstractContextManager[Any]:
    """A bar over `total` steps of which `done` are done; None without tqdm."""
    if not show or require.installed("tqdm") is None:
        return contextlib.nullcontext()
    tqdm = require.package("tqdm.auto", "A progress bar").tqdm
    # `disable=None`: no bar where the output is no terminal, since it fills a log with its lines
    bar: contextlib.AbstractContextManager[Any] = tqdm(
        total=total, initial=done, disable=None, unit=unit, desc="training", leave=stays
    )
    return bar
