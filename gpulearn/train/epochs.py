"""The training loop itself: the batches of each epoch, one step each, and a record of it all."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from time import perf_counter

from torch import Tensor
from torch.utils.data import DataLoader

from gpulearn.errors import TrainingError
from gpulearn.train.data import TrainingData, place
from gpulearn.train.evaluation import evaluate
from gpulearn.train.history import Epoch, Step
from gpulearn.train.run import Run
from gpulearn.train.step import update

__all__ = ["SpoiltBatchError", "records"]

NAMED = 5  # images of a bad batch that an error names


class SpoiltBatchError(TrainingError):
    """The cause is an image with a pixel that is no finite number, and not the weights."""


def records(
    run: Run, loader: DataLoader[tuple[Tensor, ...]], data: TrainingData
) -> Iterator[Step | Epoch]:
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
        spoilt = _spoilt(images, numbers)
        raise (SpoiltBatchError if spoilt else TrainingError)(
            f"Step {len(run.steps) + 1} stopped: {error}. It was batch {run.batches + 1} of epoch "
            f"{run.epoch} (training images {named}{more}{spoilt}), at rate {rate:.3g}."
        ) from None
    step = Step(len(run.steps) + 1, run.epoch, len(labels), loss, rate, norm, scale)
    run.end_step(step)
    return step


def _spoilt(images: Tensor, numbers: Tensor) -> str:
    """Which image of a batch is the cause, where one has a pixel that is no finite number."""
    bad = numbers[~images.flatten(1).isfinite().all(dim=1)].tolist()
    return f"; image {bad[0]} has a pixel that is no finite number" if bad else ""
