"""gl.fit: checks what it is given, runs the steps and epochs, and keeps what comes of them."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
from torch import nn

from gpulearn import require
from gpulearn.errors import TrainingError
from gpulearn.train.bar import progress_bar
from gpulearn.train.checkpoint import load_checkpoint
from gpulearn.train.checks import check_callbacks, check_files, check_model
from gpulearn.train.data import make_loader, training_data
from gpulearn.train.epochs import SpoiltBatchError, records
from gpulearn.train.history import Epoch, History, Step
from gpulearn.train.keeper import Keeper
from gpulearn.train.logs import RunLog
from gpulearn.train.recompute import Stages
from gpulearn.train.run import Run
from gpulearn.train.seeding import repeatable, undisturbed
from gpulearn.train.settings import OptimizerFactory, Settings, find_device

__all__ = ["fit"]


@torch.enable_grad()
def fit(
    model: nn.Module,
    data: Any,
    *,
    epochs: int,
    rate: float,
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
        rate: learning rate, the highest of the schedule.
        batch: images a step.
        optimizer: "sgd", "momentum", "nesterov", "rmsprop", "adagrad", "adam", "adamw", or a
            function called as `optimizer(parameters, lr=rate)`.
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

    >>> from gpulearn import MLP, digits
    >>> fit(MLP(), digits(), epochs=2, rate=3e-3, batch=256, progress=False)
    12 steps in 2 epochs; accuracy on held-out data ...%
    """
    settings = Settings(epochs, rate, batch, optimizer, schedule, clip, accumulate, precision, seed)
    save_every = None if save_every is None else require.whole("save_every", save_every)
    check_model(model, recompute)
    check_files(log, checkpoint, resume)
    check_callbacks(on_step=on_step, on_epoch=on_epoch)
    target = find_device(device)
    tensors = training_data(data, model)
    run = Run(model, settings, tensors, target)
    state = None if resume is None else load_checkpoint(resume)
    if state is not None:
        run.check(state, str(resume))
    with contextlib.ExitStack() as stack:
        rows = None if log is None else stack.enter_context(RunLog(log, run.steps_of(state)))
        stack.enter_context(repeatable(target, settings.seed))
        stack.enter_context(_recomputing(model, recompute))
        run.start(state)
        keeper = Keeper(checkpoint, save_every, resume, len(run.steps))
        loader = make_loader(tensors, settings.batch, run.generator, target)
        bar = stack.enter_context(progress_bar(progress, epochs * len(loader), len(run.steps)))
        try:
            for record in records(run, loader, tensors):
                if rows is not None:
                    rows.write(record)
                keeper.save_if_due(record, run)
                _show(bar, record)
                with undisturbed(target):  # what a callback draws, a resumed run draws not
                    if isinstance(record, Step) and on_step is not None:
                        on_step(record)
                    if isinstance(record, Epoch) and on_epoch is not None:
                        on_epoch(record)
        except TrainingError as error:
            advice = keeper.advice(len(run.steps), isinstance(error, SpoiltBatchError))
            raise TrainingError(f"{error} {advice}") from None
    model.eval()
    return History(run.steps, run.epochs)


def _show(bar: Any, record: Step | Epoch) -> None:
    if bar is None:
        return
    if isinstance(record, Step):
        bar.update()
    else:
        bar.set_postfix_str(f"epoch {record.epoch}, accuracy {record.test_accuracy:.1%}")


@contextlib.contextmanager
def _recomputing(model: nn.Module, recompute: bool) -> Iterator[None]:
    """Switch recomputation on for the run, where the model can do it."""
    if not isinstance(model, Stages):
        yield
        return
    was, model.recompute = model.recompute, recompute
    try:
        yield
    finally:
        model.recompute = was
