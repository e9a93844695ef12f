"""A run in progress: all that the next step depends on, and the steps and epochs that change it."""

import dataclasses
import math
import zlib
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader

from gpulearn.errors import CheckpointError, TrainingError
from gpulearn.train.checkpointing import load_checkpoint, save_checkpoint
from gpulearn.train.data import TrainingData, evaluate
from gpulearn.train.history import Epoch, Step
from gpulearn.train.settings import TORCH_OPTIMIZERS, Settings
from gpulearn.train.step import update

MAX_NUMBERS = 5  # images of a bad batch that an error names


class Run:
    """Model, optimizer, data order and records of a run, as they are now."""

    def __init__(
        self, model: nn.Module, settings: Settings, data: TrainingData, device: torch.device
    ) -> None:
        self.model, self.settings, self.data, self.device = model, settings, data, device
        self.identity: dict[str, Any] = {
            "shapes": {name: list(value.shape) for name, value in model.state_dict().items()},
            "settings": {name: getattr(settings, name) for name in ("batch", "optimizer", "seed")},
            # changes with the labels and their order, to know the data again
            "labels": zlib.crc32(data.train_labels.numpy().tobytes()),
        }
        self.generator = torch.Generator().manual_seed(settings.seed)
        self.steps: list[Step] = []
        self.epochs: list[Epoch] = []
        self.checkpoint: Path | None = None  # the last one, and how many steps were done in it
        self.saved_steps = 0

    def load(self, path: Path) -> dict[str, Any]:
        """A state that was saved, if it is one of this run: of this model, data and settings."""
        state = load_checkpoint(path)
        if "shapes" not in state:
            raise CheckpointError(f"{path} is no checkpoint of gl.fit: give another file.")
        there, here = state["shapes"], self.identity["shapes"]
        for name in [*here, *there]:
            if there.get(name) != here.get(name):
                raise CheckpointError(
                    f"{path} is of another model: {name} has shape {there.get(name)} in it and "
                    f"{here.get(name)} in the model."
                )
        for name, value in self.identity["settings"].items():
            if state["settings"][name] != value:
                raise CheckpointError(
                    f"{path} was written with {name}={state['settings'][name]!r}, this run has "
                    f"{value!r}: give the same, or leave `resume` out."
                )
        if state["labels"] != self.identity["labels"]:
            raise CheckpointError(f"{path} was written with other training data: give the same.")
        if len(state["epochs"]) > self.settings.epochs:
            raise CheckpointError(
                f"{path} has {len(state['epochs'])} epochs behind it, and this run is to have "
                f"{self.settings.epochs}: give more epochs."
            )
        self.steps = [Step(*step) for step in state["steps"]]
        self.epochs = [Epoch(*epoch) for epoch in state["epochs"]]
        self.checkpoint, self.saved_steps = path, len(self.steps)
        return state

    def start(self, state: dict[str, Any] | None) -> None:
        """Move the model to the device, make its optimizer, and continue from a loaded state."""
        self.model.to(self.device)
        make = TORCH_OPTIMIZERS[self.settings.optimizer]
        self.optimizer = make(self.model.parameters(), lr=self.settings.lr)
        if state is not None:
            self.model.load_state_dict(state["model"])
            self.optimizer.load_state_dict(state["optimizer"])
            self.generator.set_state(state["order"])
            torch.set_rng_state(state["random"][0])
            if self.device.type == "cuda" and len(state["random"]) > 1:
                torch.cuda.set_rng_state(state["random"][1], self.device)

    def save(self, path: Path) -> None:
        """Write everything that the next epoch depends on, as tensors and plain values."""
        random = [torch.get_rng_state()]
        if self.device.type == "cuda":
            random.append(torch.cuda.get_rng_state(self.device))
        state = {
            **self.identity,
            "model": self.model.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "order": self.generator.get_state(),
            "random": random,
            "steps": [dataclasses.astuple(step) for step in self.steps],
            "epochs": [dataclasses.astuple(epoch) for epoch in self.epochs],
        }
        save_checkpoint(path, state)
        self.checkpoint, self.saved_steps = path, len(self.steps)

    def records(self, loader: DataLoader[tuple[Tensor, ...]]) -> Iterator[Step | Epoch]:
        """Do the steps and epochs that are still to do, and hand out the record of each."""
        total = self.settings.epochs * len(loader)
        while len(self.epochs) < self.settings.epochs:
            began, first = perf_counter(), len(self.steps)
            for images, labels, numbers in loader:
                rate = self.settings.rate_at(len(self.steps), total)
                self.steps.append(self._step(rate, images, labels, numbers))
                yield self.steps[-1]
            done = self.steps[first:]
            mean = sum(s.loss * s.samples for s in done) / sum(s.samples for s in done)
            result = evaluate(self.model, self.data.test_images, self.data.test_labels)
            seconds = perf_counter() - began
            number = len(self.epochs) + 1
            self.epochs.append(Epoch(number, len(self.steps), mean, *result, seconds))
            yield self.epochs[-1]

    def _step(self, rate: float, images: Tensor, labels: Tensor, numbers: Tensor) -> Step:
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        number, epoch = len(self.steps) + 1, len(self.epochs) + 1
        try:
            loss, norm = update(
                self.model,
                self.optimizer,
                images.to(self.device, non_blocking=True),
                labels.to(self.device, non_blocking=True),
                micro_batch=math.ceil(self.settings.batch / self.settings.accumulate),
                clip=self.settings.clip,
            )
        except TrainingError as error:
            named = ", ".join(str(number) for number in numbers[:MAX_NUMBERS].tolist())
            more = ", …" if len(numbers) > MAX_NUMBERS else ""
            spoilt = numbers[~images.flatten(1).isfinite().all(dim=1)].tolist()
            cause = f"; image {spoilt[0]} has a pixel that is not finite" if spoilt else ""
            batch = sum(step.epoch == epoch for step in self.steps) + 1
            raise TrainingError(
                f"Step {number} stopped: {error}. It was batch {batch} of epoch {epoch} (training "
                f"images {named}{more}{cause}), at rate {rate:.3g}. {self._advice(bool(spoilt))}"
            ) from None
        return Step(number, epoch, len(labels), loss, rate, norm)

    def _advice(self, by_data: bool) -> str:
        """Where to resume after a step that failed.

        A good checkpoint has had a good step since, or the failure is `by_data`, the batch.
        """
        if self.checkpoint is None:
            return "There is no checkpoint yet to resume from."
        if by_data or self.saved_steps < len(self.steps):
            return (
                f"The last good checkpoint is {self.checkpoint}: resume from it, with a smaller "
                f"rate or with `clip`."
            )
        return (
            f"The weights in {self.checkpoint} are those that failed: start again, with a smaller "
            f"rate or with `clip`."
        )
