"""gl.fit: checks what it is given, runs the steps and epochs, and keeps what comes of them."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import nn

from gpulearn import require
from gpulearn.errors import BadInput
from gpulearn.train.data import check_float32, make_loader, training_data
from gpulearn.train.history import Epoch, History, Step, make_folder, progress_bar, run_log
from gpulearn.train.run import Run
from gpulearn.train.settings import Settings, find_device, repeatable, undisturbed


def path_of(name: str, value: Any) -> Path | None:
    """A path that is given, or None."""
    if value is not None and not isinstance(value, str | os.PathLike):
        raise BadInput(f"{name} is {require.shown(value)}: give a path, such as 'run.pt'.")
    return None if value is None else Path(value)


@torch.enable_grad()
def fit(
    model: nn.Module,
    data: Any,
    *,
    epochs: int,
    lr: float,
    batch: int = 64,
    optimizer: str = "adamw",
    schedule: str | Callable[[int], float] = "constant",
    clip: float | None = None,
    accumulate: int = 1,
    seed: int = 0,
    device: str | torch.device | None = None,
    progress: bool = True,
    log: str | Path | None = None,
    checkpoint: str | Path | None = None,
    resume: str | Path | None = None,
    on_step: Callable[[Step], object] | None = None,
    on_epoch: Callable[[Epoch], object] | None = None,
) -> History:
    """Train a classifier in place; afterwards it is on the device and in evaluation mode.

    The same arguments give the same bits again on the same machine, and so does a run that is
    resumed from a checkpoint.

    Args:
        model: maps images (n, …) to scores (n, classes), such as `gl.train.LeNet()`.
        data: `gl.digits()`, or four arrays: training images and labels, test images and labels.
        epochs: passes over the training data.
        lr: learning rate, the highest of the schedule.
        batch: images a step.
        optimizer: a name in `gl.optim.OPTIMIZERS`, such as "adamw".
        schedule: "constant", "cosine", "warm-up" (a tenth of the steps upwards, then cosine), or
            a function from the step, from 0, to its rate.
        clip: largest global norm of the gradient, or None.
        accumulate: into how many micro-batches a batch is split, or a few less where they would
            not be alike, to need less memory.
        seed: of the data's order and of dropout.
        device: None is the GPU where there is one, else the CPU.
        progress: show a bar in a notebook or a terminal; a log file gets none.
        log: folder for `steps.csv` and TensorBoard's event file.
        checkpoint: file to save to after every epoch.
        resume: checkpoint to go on from. Model, data, `batch`, `optimizer` and `seed` must be
            those it was written with; the rest may be changed.
        on_step: called with each `Step`.
        on_epoch: called with each `Epoch`.

    Raises:
        BadInput, DeviceError: an argument makes no sense; nothing has been changed.
        CheckpointError: `resume` is missing, damaged or of another run; nothing has been changed.
        TrainingError: the loss or its gradient is no finite number.

    >>> from gpulearn import digits
    >>> from gpulearn.train.models import MLP
    >>> fit(MLP(), digits(), epochs=2, lr=3e-3, batch=256, progress=False)
    12 steps in 2 epochs; accuracy on held-out data ...%
    """
    settings = Settings(epochs, lr, batch, optimizer, schedule, clip, accumulate, seed)
    if not isinstance(model, nn.Module) or not any(p.requires_grad for p in model.parameters()):
        raise BadInput(
            f"model is {require.shown(model)}: give a torch module with parameters to train, "
            f"such as gl.train.LeNet()."
        )
    check_float32(model)
    folder, start = path_of("log", log), path_of("resume", resume)
    file = path_of("checkpoint", checkpoint)
    target = find_device(device)
    run = Run(model, settings, training_data(data, model), target)
    state = None if start is None else run.load(start)
    if file is not None:
        if file.is_dir():
            raise BadInput(f"checkpoint is {str(file)!r}, a folder: give a file, such as run.pt.")
        make_folder("checkpoint", file.parent)
    with contextlib.ExitStack() as stack:
        write = None if folder is None else stack.enter_context(run_log(folder, run.steps))
        stack.enter_context(repeatable(target, settings.seed))
        run.start(state)
        loader = make_loader(run.data, settings.batch, run.generator, target)
        total = settings.epochs * len(loader)
        bar = stack.enter_context(progress_bar(progress, total, len(run.steps)))
        for record in run.records(loader):
            if write is not None:
                write(record)
            callback: Any = on_step if isinstance(record, Step) else on_epoch
            if isinstance(record, Epoch) and file is not None:
                run.save(file)
            if bar is not None and isinstance(record, Step):
                bar.update()
            elif bar is not None and isinstance(record, Epoch):
                bar.set_postfix_str(f"epoch {record.epoch}, accuracy {record.test_accuracy:.1%}")
            if callback is not None:
                with undisturbed(target):  # a resumed run does not draw what a callback draws
                    callback(record)
    model.eval()
    return History(run.steps, run.epochs)
