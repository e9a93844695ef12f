"""The learning rate of a larger batch, tried on the digits: data parallelism's other half."""

from __future__ import annotations

import contextlib
import functools
import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import nn

from gpulearn import require
from gpulearn.data.digits import digits
from gpulearn.errors import BadInput
from gpulearn.optim.optimizers import adam_step, lars_step
from gpulearn.optim.schedules import scaled_learning_rate
from gpulearn.parallel.sharding import shard_indices
from gpulearn.train.data import TrainingData, evaluate, training_data
from gpulearn.train.history import progress_bar
from gpulearn.train.models import MLP
from gpulearn.train.settings import seeded
from gpulearn.train.step import train_step
from gpulearn_lessons.scaling_out.laws import Spread, spread


class RateRule(NamedTuple):
    """How the rate follows the batch, and what makes the steps."""

    power: float  # of the batch's factor, that the rate grows with
    slowly: bool = False  # whether it grows over the first steps
    step: Callable[..., Any] | None = None  # of each layer; plain SGD's if None
    share: float = 1.0  # of the study's rate, which is one of plain SGD


RULES = {
    "kept": RateRule(0.0),
    "linear": RateRule(1.0),
    "linear, warm-up": RateRule(1.0, slowly=True),
    "square root": RateRule(0.5),
    "LARS": RateRule(1.0, step=functools.partial(lars_step, momentum=0.0, trust=0.02)),
    "Adam, root": RateRule(0.5, step=adam_step, share=0.1),
}
PLAIN = tuple(RULES)[:4]
WARM_UP = 5  # one part in so many of all steps
RATE = 0.1  # of the first batch size
SEEDS = (0, 1, 2)  # of weights and order, one training for each


@dataclass(frozen=True)
class BatchStudy:
    """How trainings with larger batches ended."""

    batches: tuple[int, ...]  # the batch sizes, ascending; the first is the one whose rate is known
    rules: tuple[str, ...]  # how the rate followed the batch
    epochs: int  # passes over the data, the same for all
    # (rule, batch) → share of the held-out data that is right, one for each seed
    accuracies: dict[tuple[str, int], tuple[float, ...]]

    def accuracy(self, rule: str, batch: int) -> Spread:
        """Median and range over the seeds, 0 to 1."""
        return spread(self.accuracies[rule, batch])


def rate_of(rule: str, batch: int, first: int) -> float:
    """The learning rate of a batch: η · (batch / first)^p, with the rule's power p and its share.

    >>> rate_of("linear", 64, 16), rate_of("square root", 64, 16)
    (0.4, 0.2)
    """
    return RATE * RULES[rule].share * float((batch / first) ** RULES[rule].power)


def batch_size_study(
    batches: Sequence[int] = (32, 128, 256, 512),
    rules: Sequence[str] = PLAIN,
    *,
    epochs: int = 12,
) -> BatchStudy:
    """Train with larger and larger batches, the rate following the batch by several rules.

    N ranks with a batch of b images each do the sums of one process with a batch of N·b: the
    mean of equal shards' gradients is the gradient of their union. So one process stands here
    for N of them. All trainings see the same images in the same order, equally often: with a
    batch N times as large there are N times fewer steps.

    The optimizer is plain SGD, except for "LARS" (`gl.optim.lars_step` with the linear rule, trust
    0.02, no momentum) and "Adam, root" (`adam_step` with the root, from a tenth of the rate on).
    "linear" and "square root" multiply the rate by the batch's factor or its root; "linear,
    warm-up" lets it grow over the first fifth of the steps (`scaled_learning_rate`, with its
    source). The root keeps the variance of one step's update as it was: Krizhevsky, "One weird
    trick for parallelizing convolutional neural networks", arXiv 1404.5997, 2014.
    Batch sizes are ascending, and the rate of the first is 0.1; rules are names in `RULES`.

    >>> study = batch_size_study((32, 256), ["kept", "linear"], epochs=2)
    >>> len(study.accuracies["linear", 256])
    3
    """
    sizes = require.ascending("batches", batches)
    names = tuple(require.choice("rule", rule, RULES) for rule in require.several("rules", rules))
    epochs = require.whole("epochs", epochs)
    if not names:
        raise BadInput("Give at least one rule.")
    tensors = training_data(digits(), MLP())
    accuracies: dict[tuple[str, int], tuple[float, ...]] = {}
    runs: dict[Any, tuple[float, ...]] = {}
    with progress_bar(True, len(sizes) * len(names), unit=" trainings", stays=False) as bar:
        for batch, rule in itertools.product(sizes, names):
            reached, by = rate_of(rule, batch, sizes[0]), RULES[rule]
            # under all rules of plain SGD the first batch is alike
            key = batch, reached, by.slowly and reached != RATE, by.step
            if key not in runs:
                steps = math.ceil(len(tensors.train_labels) / batch) * epochs
                growth = Growth(RATE, reached / RATE, steps // WARM_UP if key[2] else 0)
                runs[key] = tuple(
                    _train(MLP(seed=seed), tensors, batch, epochs, seed, growth, by.step)
                    for seed in SEEDS
                )
            accuracies[rule, batch] = runs[key]
            if bar is not None:
                bar.update()
    return BatchStudy(sizes, names, epochs, accuracies)


@contextlib.contextmanager
def _one_thread() -> Iterator[None]:
    """Two threads take longer than one for products as small as these."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


class Growth(NamedTuple):
    """What `gl.optim.scaled_learning_rate` is given at every step."""

    lr: float
    factor: float
    warm_up: int


def _train(
    model: nn.Module,
    data: TrainingData,
    batch: int,
    epochs: int,
    seed: int,
    growth: Growth,
    by_layer: Callable[..., Any] | None = None,
) -> float:
    """Held-out accuracy after training with plain SGD, or with steps of layers."""
    optimizer: Any = torch.optim.SGD(model.parameters(), lr=growth.lr)
    if by_layer is not None:
        optimizer = LayerSteps(list(model.parameters()), by_layer)
    step = 0
    with seeded(seed), _one_thread():
        for epoch in range(epochs):
            order = shard_indices(len(data.train_labels), 0, 1, seed=seed, epoch=epoch)
            for part in torch.tensor(order).split(batch):
                optimizer.param_groups[0]["lr"] = scaled_learning_rate(step, *growth)
                train_step(model, optimizer, data.train_images[part], data.train_labels[part])
                step += 1
    return evaluate(model, data.test_images, data.test_labels)[1]


class LayerSteps(torch.optim.Optimizer):
    """A step function of `gl.optim` as torch's optimizer, for each parameter by itself."""

    def __init__(self, parameters: list[nn.Parameter], step: Callable[..., Any]) -> None:
        super().__init__(parameters, {"lr": 0.0})
        self._step = step

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:  # type: ignore[override]
        """One step of every layer."""
        for group in self.param_groups:
            for parameter in group["params"]:
                state = self.state[parameter]
                theta, slope = parameter.cpu().numpy(), parameter.grad.cpu().numpy()
                moved, state["kept"] = self._step(theta, slope, state.get("kept"), lr=group["lr"])
                parameter.copy_(torch.as_tensor(moved))
