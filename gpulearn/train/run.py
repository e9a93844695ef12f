"""A run in progress: all that the next step depends on, and the steps and epochs that change it."""

from __future__ import annotations

import dataclasses
import itertools
import zlib
from collections.abc import Iterator
from time import perf_counter
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader

from gpulearn.errors import CheckpointError, TrainingError
from gpulearn.train.data import TrainingData, place
from gpulearn.train.evaluation import evaluate
from gpulearn.train.history import Epoch, Step
from gpulearn.train.precision import Precision
from gpulearn.train.settings import Settings, random_state, set_random_state
from gpulearn.train.step import update

# what a run's state holds
STATE = {"shapes", "settings", "labels", "model", "optimizer", "precision", "order", "random"}
STATE |= {"epoch", "batches", "steps", "epochs"}
MAX_NUMBERS = 5  # images of a bad batch that an error names


class Run:
    """Model, optimizer, loss scale, data order and position of a run, as they are now."""

    def __init__(
        self, model: nn.Module, settings: Settings, data: TrainingData, device: torch.device
    ) -> None:
        self.model, self.settings, self.device = model, settings, device
        self.identity: dict[str, Any] = {
            "shapes": {name: list(value.shape) for name, value in model.state_dict().items()},
            "settings": settings.identity(model),
            # changes with the labels and their order, to know the data again
            "labels": zlib.crc32(data.train_labels.numpy().tobytes()),
        }
        self.generator = torch.Generator().manual_seed(settings.seed)
        # that at the start of this epoch, from which a resumed run draws the same order again
        self.order = self.generator.get_state()
        self.epoch, self.batches = 1, 0  # this epoch, from 1, and how many batches of it are done
        self.steps: list[Step] = []
        self.epochs: list[Epoch] = []

    def start(self, state: dict[str, Any] | None = None) -> None:
        """Move the model to the device, make what trains it, and continue from a checked state."""
        self.model.to(self.device)
        self.optimizer = self.settings.make_optimizer(self.model)
        self.precision = Precision(self.settings.precision, self.device)
        if state is None:
            return
        self.optimizer.load_state_dict(state["optimizer"])
        self.precision.load_state_dict(state["precision"])
        self.order = state["order"]
        self.generator.set_state(self.order)
        set_random_state(self.device, state["random"])
        self.epoch, self.batches = state["epoch"], state["batches"]
        self.steps = steps_of(state)
        self.epochs = [Epoch(*epoch) for epoch in state["epochs"]]
        self.model.load_state_dict(state["model"])

    def state(self) -> dict[str, Any]:
        """Everything that the next step depends on, as tensors and plain values."""
        return {
            **self.identity,
            "model": self.model.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "precision": self.precision.state_dict(),
            "order": self.order,
            "random": random_state(self.device),
            "epoch": self.epoch,
            "batches": self.batches,
            "steps": [dataclasses.astuple(step) for step in self.steps],
            "epochs": [dataclasses.astuple(epoch) for epoch in self.epochs],
        }

    def check(self, state: dict[str, Any], where: str) -> None:
        """Check that a state is one of this run: of this model, data and settings."""
        if STATE - state.keys():
            raise CheckpointError(f"{where} is no checkpoint of gl.fit: give another file.")
        if state["shapes"] != self.identity["shapes"]:
            difference = _difference(state["shapes"], self.identity["shapes"])
            raise CheckpointError(f"{where} is of another model: {difference}.")
        for name, value in self.identity["settings"].items():
            if state["settings"][name] != value:
                raise CheckpointError(
                    f"{where} was written with {name}={state['settings'][name]!r}, this run has "
                    f"{value!r}: give the same, or leave `resume` out."
                )
        if state["labels"] != self.identity["labels"]:
            raise CheckpointError(
                f"{where} was written with other training data: give the same, or leave `resume` "
                f"out."
            )
        begun = len(state["epochs"]) + (state["batches"] > 0)
        if begun > self.settings.epochs:
            raise CheckpointError(
                f"{where} has {begun} epochs behind it or begun, and this run is to have "
                f"{self.settings.epochs}: give more epochs."
            )


def steps_of(state: dict[str, Any] | None) -> list[Step]:
    """The steps that were taken before a state was saved."""
    return [] if state is None else [Step(*step) for step in state["steps"]]


def _difference(there: dict[str, list[int]], here: dict[str, list[int]]) -> str:
    """Which parameter is first in only one of two models, or has two shapes."""
    name = next(name for name in [*here, *there] if here.get(name) != there.get(name))
    if name not in there:
        return f"it has no {name}"
    if name not in here:
        return f"it has a {name}, which the model has not"
    return f"{name} has shape {tuple(there[name])} in it and {tuple(here[name])} in the model"


class SpoiltBatchError(TrainingError):
    """The cause is an image with a pixel that is not finite, and not the weights."""


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
            step = _step(run, rate, images, labels, numbers)
            run.steps.append(step)
            run.batches += 1
            yield step
        done = [step for step in run.steps if step.epoch == run.epoch]
        mean = sum(s.loss * s.samples for s in done) / sum(s.samples for s in done)
        result = evaluate(run.model, data.test_images, data.test_labels)
        run.epochs.append(Epoch(run.epoch, len(run.steps), mean, *result, perf_counter() - began))
        run.epoch, run.batches = run.epoch + 1, 0
        run.order = run.generator.get_state()  # the next epoch draws its order from here
        yield run.epochs[-1]


def _step(run: Run, rate: float, images: Tensor, labels: Tensor, numbers: Tensor) -> Step:
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
        named = ", ".join(str(number) for number in numbers[:MAX_NUMBERS].tolist())
        more = ", …" if len(numbers) > MAX_NUMBERS else ""
        spoilt = numbers[~images.flatten(1).isfinite().all(dim=1)].tolist()
        cause = f"; image {spoilt[0]} has a pixel that is not finite" if spoilt else ""
        raise (SpoiltBatchError if spoilt else TrainingError)(
            f"Step {len(run.steps) + 1} stopped: {error}. It was batch {run.batches + 1} of epoch "
            f"{run.epoch} (training images {named}{more}{cause}), at rate {rate:.3g}."
        ) from None
    return Step(len(run.steps) + 1, run.epoch, len(labels), loss, rate, norm, scale)
