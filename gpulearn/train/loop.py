"""The training loop: batches, steps, epochs, checkpoints, and a record of it all."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from time import perf_counter
from typing import Any

import torch
from torch import Tensor, nn

from gpulearn import _require
from gpulearn.errors import BadInput, TrainingError
from gpulearn.train.bar import progress_bar
from gpulearn.train.checkpoint import load_checkpoint, save_checkpoint
from gpulearn.train.data import TrainingData, make_loader, place, training_data
from gpulearn.train.evaluate import evaluate
from gpulearn.train.history import Epoch, History, Step
from gpulearn.train.logs import RunLog
from gpulearn.train.recompute import Stages
from gpulearn.train.run import Run
from gpulearn.train.seeding import repeatable
from gpulearn.train.settings import OptimizerFactory, Settings, find_device
from gpulearn.train.step import update

__all__ = ["fit"]

NAMED = 5  # images of a bad batch that an error names


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
    >>> fit(MLP(), digits(), epochs=2, rate=3e-3, progress=False)
    46 steps in 2 epochs; accuracy on held-out data ...%
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
            for record in _train(run, loader, tensors):
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


def _train(run: Run, loader: Any, data: TrainingData) -> Iterator[Step | Epoch]:
    """Do the steps and epochs that are still to do, and hand out the record of each.

    The run is consistent at each record: a checkpoint can be written there.
    """
    total = run.settings.epochs * len(loader)
    while run.epoch <= run.settings.epochs:
        began = perf_counter()
        for images, labels, numbers in itertools.islice(loader, run.batches, None):
            rate = run.settings.rate_at(len(run.steps), total)
            yield _step(run, rate, images, labels, numbers)
        done = [step for step in run.steps if step.epoch == run.epoch]
        mean = sum(s.loss * s.samples for s in done) / sum(s.samples for s in done)
        result = evaluate(run.model, data.test_images, data.test_labels)
        epoch = Epoch(run.epoch, len(run.steps), mean, *result, perf_counter() - began)
        run.end_epoch(epoch)
        yield epoch


def _step(run: Run, rate: float, images: Tensor, labels: Tensor, numbers: Tensor) -> Step:
    """Take the next step of a run on a batch, and note it."""
    for group in run.optimizer.param_groups:
        group["lr"] = rate
    scale = run.precision.scale
    try:
        loss, norm = update(
            run.model,
            run.optimizer,
            *place(run.device, images, labels),
            precision=run.precision,
            micro_batch=run.settings.micro_batch,
            clip=run.settings.clip,
        )
    except TrainingError as error:
        named = ", ".join(str(number) for number in numbers[:NAMED].tolist())
        more = ", …" if len(numbers) > NAMED else ""
        raise TrainingError(
            f"Step {len(run.steps) + 1} stopped: {error}. It was batch {run.batches + 1} of epoch "
            f"{run.epoch} (training images {named}{more}{_spoilt(images, numbers)}), at rate "
            f"{rate:.3g}."
        ) from None
    step = Step(len(run.steps) + 1, run.epoch, len(labels), loss, rate, norm, scale)
    run.end_step(step)
    return step


def _spoilt(images: Tensor, numbers: Tensor) -> str:
    """Which image of a batch is the cause, where one has a pixel that is no finite number."""
    bad = numbers[~images.flatten(1).isfinite().all(dim=1)].tolist()
    return f"; image {bad[0]} has a pixel that is no finite number" if bad else ""


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
