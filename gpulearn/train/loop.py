"""gl.fit: checks what it is given, runs the steps and epochs, and keeps what comes of them."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
from torch import nn

from gpulearn import _require
from gpulearn.errors import BadInput, TrainingError
from gpulearn.train.bar import progress_bar
from gpulearn.train.checkpoint import load_checkpoint, save_checkpoint
from gpulearn.train.data import make_loader, training_data
from gpulearn.train.epochs import records
from gpulearn.train.history import Epoch, History, Step
from gpulearn.train.logs import RunLog
from gpulearn.train.recompute import Stages
from gpulearn.train.run import Run
from gpulearn.train.seeding import repeatable
from gpulearn.train.settings import OptimizerFactory, Settings, find_device

__all__ = ["fit"]


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
        model: maps images (n, …) to scores (n, classes), such as `gl.LeNet()`.
        data: `gl.digits()`, or four arrays: training images and labels, test images and labels.
        epochs: passes over the training data.
        rate: learning rate, the highest of the schedule.
        batch: images a step.
        optimizer: "sgd", "momentum", "nesterov", "rmsprop", "adagrad", "adam", "adamw", or a
            function called as `optimizer(parameters, lr=rate)`.
        schedule: "constant", "cosine", "warm-up" (a tenth of the steps upwards, then cosine), or
            a function from the step, from 0, to its rate.
        clip: largest global norm of the gradient, or None.
        accumulate: into how many micro-batches a batch is split, to need less memory.
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
    save_every = None if save_every is None else _require.whole("save_every", save_every)
    _check_model(model, recompute)
    _check_files(log, checkpoint)
    target = find_device(device)
    tensors = training_data(data, model)
    run = Run(model, settings, tensors, target)
    state = None if resume is None else load_checkpoint(resume)
    if state is not None:
        run.check(state, str(resume))
    saved = resume
    with contextlib.ExitStack() as stack:
        rows = None if log is None else stack.enter_context(RunLog(log, run.steps_of(state)))
        stack.enter_context(repeatable(target, settings.seed))
        stack.enter_context(_recomputing(model, recompute))
        run.start(state)
        loader = make_loader(tensors, settings.batch, run.generator, target)
        bar = stack.enter_context(progress_bar(progress, epochs * len(loader), len(run.steps)))
        try:
            for record in records(run, loader, tensors):
                if rows is not None:
                    rows.write(record)
                if checkpoint is not None and _is_due(record, save_every, settings.epochs):
                    save_checkpoint(checkpoint, run.state())
                    saved = checkpoint
                _show(bar, record)
                if isinstance(record, Step) and on_step is not None:
                    on_step(record)
                if isinstance(record, Epoch) and on_epoch is not None:
                    on_epoch(record)
        except TrainingError as error:
            raise TrainingError(f"{error} {_last_good(saved)}") from None
    model.eval()
    return History(run.steps, run.epochs)


def _last_good(saved: str | Path | None) -> str:
    if saved is None:
        return "There is no checkpoint yet to go back to."
    return (
        f"The last good checkpoint is {saved}: resume from it, with a smaller rate or with `clip`."
    )


def _is_due(record: Step | Epoch, save_every: int | None, epochs: int) -> bool:
    """Whether a checkpoint is to be written now; the end of the run always has one."""
    if isinstance(record, Epoch):
        return save_every is None or record.epoch == epochs
    return save_every is not None and record.step % save_every == 0


def _show(bar: Any, record: Step | Epoch) -> None:
    if bar is None:
        return
    if isinstance(record, Step):
        bar.update()
    else:
        bar.set_postfix_str(f"epoch {record.epoch}, accuracy {record.test_accuracy:.1%}")


def _check_model(model: object, recompute: bool) -> None:
    if not isinstance(model, nn.Module) or not any(p.requires_grad for p in model.parameters()):
        raise BadInput(
            f"model is {_require.shown(model)}: give a torch module with parameters to train, "
            f"such as gl.LeNet()."
        )
    if recompute and not isinstance(model, Stages):
        raise BadInput(
            f"recompute needs a model in stages, such as gl.LeNet(), not {type(model).__name__}: "
            f"derive it from gpulearn.train.recompute.Stages."
        )


def _check_files(log: str | Path | None, checkpoint: str | Path | None) -> None:
    if log is not None:
        _require.package("tensorboard", "gl.fit(log=…)")
        if Path(log).is_file():
            raise BadInput(f"log is {str(log)!r}, a file: give a folder.")
    if checkpoint is not None and Path(checkpoint).is_dir():
        raise BadInput(f"checkpoint is {str(checkpoint)!r}, a folder: give a file, such as run.pt.")


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
