"""Trial of a training loop: what goes through its model, and what each of its steps does."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.optim.optimizer import register_optimizer_step_post_hook

from gpulearn.require import shown
from gpulearn_lessons.data_parallel.rank_exercise import alike
from gpulearn_lessons.training.trial import TOLERANCE, Outcome, apart, flat

CLASSES = 4


@dataclass
class TrainingLog:
    images: Tensor  # (n, …), what it may train on
    begin: np.ndarray[Any, Any]  # the weights before all steps
    # the rows of `images` in each batch that it learned from; −1 is none of them
    batches: list[list[int]] = field(default_factory=list)
    # of each step of the optimizer how many batches came before it
    steps: list[int] = field(default_factory=list)
    rates: list[float] = field(default_factory=list)  # of each step the learning rate
    weights: list[Tensor] = field(default_factory=list)  # of each step the weights after it

    def hear(self, batch: Tensor) -> None:
        """A batch goes through the model."""
        if torch.is_grad_enabled():
            rows = batch.reshape(len(batch), -1)
            alike = (rows[:, None] == self.images.reshape(1, len(self.images), -1)).all(2)
            indices = [int(row.nonzero()[0]) if row.any() else -1 for row in alike]
            if max(indices) >= 0:  # an evaluation may keep its graph
                self.batches.append(indices)

    def by_epoch(self, epochs: int) -> str:
        """How the images came, in words."""
        rows, n = [row for batch in self.batches for row in batch], len(self.images)
        each = [rows[i * n : (i + 1) * n] for i in range(epochs)]
        if len(rows) != n * epochs or any(sorted(order) != list(range(n)) for order in each):
            return f"{len(rows)} images, not each of the {n} once per epoch"
        if any(order == sorted(order) for order in each):
            return "in the order in which they are stored"
        return "in the same order in each epoch" if each[0] == each[-1] and epochs > 1 else ORDER

    def goes_by(self, weights: Sequence[np.ndarray[Any, Any]], right: str) -> str:
        """`right` if its steps lead to these weights; in words which is the first other one."""
        triples = zip([self.begin, *weights], self.weights, weights, strict=False)
        for number, (before, after, want) in enumerate(triples, 1):
            if not np.allclose(after, want):
                step, due = np.asarray(after) - before, want - before
                times = step @ due / max(due @ due, 1e-300)
                far = np.abs(step - times * due).max() > 1e-6 * np.abs(step).max(initial=0)
                how = "has another direction" if far else f"is {times:.3g} times as long"
                return f"{ELSE} from step {number} on, where it {how}"
        return right if self.steps else "nothing: no step has a gradient"


ORDER = "every image once in each epoch and in a new order"
ELSE = "wrong"  # what may differ although it is called the same


@contextmanager
def watching(model: nn.Module, images: Tensor) -> Iterator[TrainingLog]:
    """See what a model learns from, on one thread and with random numbers of its own."""
    log = TrainingLog(images, flat(model.parameters()))
    own = {id(parameter) for parameter in model.parameters()}

    def stepped(optimizer: Any, *rest: Any) -> None:
        groups = optimizer.param_groups
        parameters = (p for group in groups for p in group["params"] if p.grad is not None)
        if any(id(p) in own for p in parameters):  # without gradients a step is none
            log.steps.append(len(log.batches))
            log.rates.append(float(groups[0]["lr"]))
            # no numbers are fetched: that would wait for a device
            parts = [p.detach().reshape(-1) for p in model.parameters()]
            log.weights.append(torch.cat(parts))

    hooks = [
        model.register_forward_pre_hook(lambda module, inputs: log.hear(inputs[0])),
        register_optimizer_step_post_hook(stepped),
    ]
    try:
        with apart(len(images)), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # torch's on a schedule that steps too early
            yield log
    finally:
        for hook in hooks:
            hook.remove()


def classifier(seed: int) -> nn.Sequential:
    """A small classifier in float64, 6 numbers to 4 classes."""
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)
        return nn.Sequential(nn.Flatten(), nn.Linear(6, 5), nn.Tanh(), nn.Linear(5, 4)).double()


def pictures(n: int, seed: int, common: int = 1) -> tuple[Any, Any]:
    """N images of 2 × 3 pixels, no two alike, and their labels, of which one is the commonest."""
    random = np.random.default_rng(seed)
    labels = random.integers(CLASSES, size=n)
    labels[: n // 3] = common
    random.shuffle(labels)
    images = random.normal(size=(n, 2, 3))
    images[:, 0, 0] += labels  # something to learn
    return torch.from_numpy(images), torch.from_numpy(labels)


def replayed(
    model: nn.Module,
    labels: Tensor,
    log: TrainingLog,
    rates: Sequence[float],
    divide: bool = False,
) -> tuple[list[np.ndarray[Any, Any]], list[float]]:
    """The weights after each step, and each batch's loss, had the batches had their own labels.

    `divide` takes the mean of the gradients of the batches before a step.
    """
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    weights, losses, done = [], [], 0
    for step, rate in zip(log.steps, rates, strict=False):
        optimizer.zero_grad()
        group = log.batches[done:step] if divide else log.batches[step - 1 : step]
        for rows in group:
            x, y = log.images[rows], labels[rows]
            loss: Any = functional.cross_entropy(model(x), y)
            (loss / len(group)).backward()
            losses.append(loss.item())
        optimizer.param_groups[0]["lr"] = rate
        optimizer.step()
        weights.append(flat(model.parameters()))
        done = step
    return weights, losses


def numbers(values: Any) -> Any:
    """A list of numbers or of tensors of one number as an array; in words what is none."""
    if isinstance(values, Tensor | np.ndarray) and values.ndim == 1:
        values = list(values)
    if not isinstance(values, list | tuple):
        return shown(values)
    if any(isinstance(value, Tensor) and value.requires_grad for value in values):
        return "tensors that hold their graphs"
    try:
        floats = [float(value) for value in values]
    except (TypeError, ValueError, RuntimeError):
        return shown(values)
    return np.array(floats)


def same_way(one: Outcome, other: Outcome) -> bool:
    """Whether two trainings were seen to do the same, but for the order that chance gave."""
    known = not any(str(fact).startswith(ELSE) for fact in one.facts.values())
    return known and alike(one.facts, other.facts, TOLERANCE)
