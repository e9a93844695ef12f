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
from gpulearn.errors import BadInput, TrainingError
from gpulearn.train.checkpointing import Checkpoints, load_checkpoint
from gpulearn.train.data import make_loader, training_data
from gpulearn.train.history import Epoch, History, RunLog, Step, progress_bar
from gpulearn.train.recompute import Stages
from gpulearn.train.run import Run, SpoiltBatchError, records, steps_of
from gpulearn.train.settings import OptimizerFactory, Settings, find_device, repeatable, undisturbed


def check_model(model: object, recompute: bool) -> None:
    """Check that a model can be trained, and recompute its stages if it is to."""
    if not isinstance(model, nn.Module) or not any(p.requires_grad for p in model.parameters()):
        raise BadInput(
            f"model is {require.shown(model)}: give a torch module with parameters to train, "
            f"such as gl.train.LeNet()."
        )
    for name, p in model.named_parameters():
        if p.dtype != torch.float32:
            raise BadInput(
                f"{name} is of {str(p.dtype)[6:]}: give model.float(), `precision` is that of the "
                f"passes."
            )
    if recompute and not isinstance(model, Stages):
        raise BadInput(
            f"recompute needs a model in stages, such as gl.train.LeNet(), not "
            f"{type(model).__name__}: derive it from gpulearn.train.recompute.Stages."
        )


def check_files(log: Any, checkpoint: Any, resume: Any) -> None:
    """Check that the files of a run can be written, and that TensorBoard is there for a log."""
    for name, path in (("log", log), ("checkpoint", checkpoint), ("resume", resume)):
        if path is not None and not isinstance(path, str | os.PathLike):
            raise BadInput(f"{name} is {require.shown(path)}: give a path, such as 'run.pt'.")
    if log is not None:
        require.package("tensorboard", "gl.fit(log=…)")
        if Path(log).is_file():
            raise BadInput(f"log is {str(log)!r}, a file: give a folder.")
        _writable("log", Path(log))
    if checkpoint is not None:
        if Path(checkpoint).is_dir():
            raise BadInput(
                f"checkpoint is {str(checkpoint)!r}, a folder: give a file, such as run.pt."
            )
        _writable("checkpoint", Path(checkpoint).parent)


def _writable(name: str, folder: Path) -> None:
    """Look at the folder, or at the nearest one above it where it does not exist yet."""
    folder = folder.absolute()
    there = next(above for above in (folder, *folder.parents) if above.exists())
    if not there.is_dir() or not os.access(there, os.W_OK):
        raise BadInput(f"{name} cannot be written, {there} is no folder for it: give another path.")


@torch.enable_grad()
def fit(
    model: nn.Module,
    data: Any,
    *,
    epochs: int,
    lr: float,
    batch: int = 64,
    optimizer: str | OptimizerFactory = "adamw",
    schedule: str | Callable[[int], float] = "constant",
    clip: float | None = None,
    accumulate: int = 1,
    precision: str = "float32",
    recompute: bool = False,
    seed: int = 0,
    device: str | torch.device | None = None,
    progress: bool = True,
    log: str | Path | None = None,
    checkpoint: str | Path | None = None,
    save_every: int | None = None,
    resume: str | Path | None = None,
    on_step: Callable[[Step], object] | None = None,
    on_epoch: Callable[[Epoch], object] | None = None,
) -> History:
    """Train a classifier in place; afterwards it is on the device and in evaluation mode.

    The same arguments give the same bits again on the same machine, and so does a run that is
    resumed from a checkpoint, from the middle of an epoch too.

    Args:
        model: maps images (n, …) to scores (n, classes), such as `gl.train.LeNet()`.
        data: `gl.digits()`, or four arrays: training images and labels, test images and labels.
        epochs: passes over the training data.
        lr: learning rate, the highest of the schedule.
        batch: images a step.
        optimizer: a name in `gl.optim.OPTIMIZERS`, such as "adamw", or a function called as
            `optimizer(parameters, lr=rate)`.
        schedule: "constant", "cosine", "warm-up" (a tenth of the steps upwards, then cosine), or
            a function from the step, from 0, to its rate.
        clip: largest global norm of the gradient, or None.
        accumulate: into how many micro-batches a batch is split, or a few less where they would
            not be alike, to need less memory.
        precision: "float32", "bfloat16" or "float16", the last with loss scaling.
        recompute: keep the stages' inputs only and compute the rest again, to need less memory.
        seed: of the data's order and of dropout.
        device: None is the GPU where there is one, else the CPU.
        progress: show a bar in a notebook or a terminal; a log file gets none.
        log: folder for `steps.csv` and TensorBoard's event file.
        checkpoint: file to save to.
        save_every: steps between two checkpoints; None is the end of every epoch.
        resume: checkpoint to go on from. Model, data, `batch`, `optimizer`, `precision` and `seed`
            must be those it was written with; the rest may be changed.
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
    settings = Settings(epochs, lr, batch, optimizer, schedule, clip, accumulate, precision, seed)
    save_every = None if save_every is None else require.whole("save_every", save_every)
    check_model(model, recompute)
    check_files(log, checkpoint, resume)
    for name, function in (("on_step", on_step), ("on_epoch", on_epoch)):
        if function is not None and not callable(function):
            raise BadInput(f"{name} is {require.shown(function)}: give a function, or None.")
    target = find_device(device)
    tensors = training_data(data, model)
    run = Run(model, settings, tensors, target)
    state = None if resume is None else load_checkpoint(resume)
    if state is not None:
        run.check(state, str(resume))
    with contextlib.ExitStack() as stack:
        rows = None if log is None else stack.enter_context(RunLog(log, steps_of(state)))
        stack.enter_context(repeatable(target, settings.seed))
        if isinstance(model, Stages):
            stack.callback(setattr, model, "recompute", model.recompute)
            model.recompute = recompute
        run.start(state)
        checkpoints = Checkpoints(checkpoint, save_every, resume, len(run.steps))
        loader = make_loader(tensors, settings.batch, run.generator, target)
        bar = stack.enter_context(progress_bar(progress, epochs * len(loader), len(run.steps)))
        try:
            for record in records(run, loader, tensors):
                if rows is not None:
                    rows.write(record)
                checkpoints.save_if_due(record, run)
                callback: Any = on_step if isinstance(record, Step) else on_epoch
                if bar is not None and isinstance(record, Step):
                    bar.update()
                elif bar is not None and isinstance(record, Epoch):
                    done = f"epoch {record.epoch}, accuracy {record.test_accuracy:.1%}"
                    bar.set_postfix_str(done)
                if callback is not None:
                    with undisturbed(target):  # a resumed run does not draw what a callback draws
                        callback(record)
        except TrainingError as error:
            advice = checkpoints.advice(len(run.steps), isinstance(error, SpoiltBatchError))
            raise TrainingError(f"{error} {advice}") from None
    model.eval()
    return History(run.steps, run.epochs)
