"""One step of training: plain, and with accumulation and clipping."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from gpulearn import require
from gpulearn.errors import BadInput, TrainingError
from gpulearn.train.data import check_batch


def _ready(args: dict[str, Any]) -> None:
    """Make a list of the parameters too: a generator runs only once."""
    require.above_zero("max_norm", args["max_norm"])
    args["parameters"] = list(args["parameters"])
    if all(p.grad is None for p in args["parameters"]):
        raise BadInput("No parameter has a gradient: clip after loss.backward().")


@require.together(_ready)
def clip_by_global_norm(parameters: Iterable[Tensor], max_norm: float) -> float:
    """Scale all gradients by one factor, in place, so that their common norm is at most max_norm.

    norm = √(sum of the squares of all elements of all gradients); if it is above max_norm, each
    gradient g becomes g · max_norm / norm, which keeps the direction of the step. If the norm is
    not finite, the gradients stay as they are, and the caller must skip the step.
    Source: R. Pascanu, T. Mikolov, Y. Bengio, On the difficulty of training recurrent neural
    networks, 2013, arXiv 1211.5063, algorithm 1.

    Parameters without a gradient are skipped. Returned is the norm before clipping.

    >>> weight = torch.nn.Parameter(torch.zeros(2))
    >>> weight.grad = torch.tensor([3.0, 4.0])
    >>> clip_by_global_norm([weight], max_norm=1.0), weight.grad
    (5.0, tensor([0.6000, 0.8000]))
    """
    gradients = [p.grad for p in parameters if p.grad is not None]
    norm = float(torch.stack([g.norm() for g in gradients]).norm())
    if max_norm < norm < float("inf"):
        for gradient in gradients:
            gradient.mul_(max_norm / norm)
    return norm


def global_norm(parameters: Iterable[Tensor]) -> float:
    """The norm of all gradients as one long vector; 0 where no parameter has one.

    >>> global_norm([torch.zeros(3)])
    0.0
    """
    norms = [p.grad.norm() for p in parameters if p.grad is not None]
    return float(torch.stack(norms).norm()) if norms else 0.0


@require.together(lambda given: check_batch(given["images"], given["labels"]))
@require.sizes("micro_batch")
def accumulate_gradients(
    model: nn.Module, images: Tensor, labels: Tensor, micro_batch: int
) -> float:
    """Add the gradient of a batch's mean loss to the parameters' `.grad`, in micro-batches.

    The mean over n images is the sum over the micro-batches of (its images / n) · (its mean), and
    so is the gradient. Activations are kept for only one micro-batch at a time. Like `backward`,
    it adds to what is in `.grad`: call `zero_grad` first.

    It equals the large batch for layers that treat each image separately; batch normalization
    does not, and dropout draws other numbers. `micro_batch` is the most images that go through the
    model at once. Returned is the mean loss of the batch.

    >>> model = torch.nn.Linear(4, 10)
    >>> images, labels = torch.ones(5, 4), torch.arange(5)
    >>> large = functional.cross_entropy(model(images), labels).item()
    >>> abs(accumulate_gradients(model, images, labels, micro_batch=2) - large) < 1e-6
    True
    """
    mean = 0.0
    for some, wanted in zip(images.split(micro_batch), labels.split(micro_batch), strict=True):
        loss = functional.cross_entropy(model(some), wanted)
        loss = loss * len(wanted) / len(labels)
        loss.backward()
        mean += loss.item()
    return mean


def _checked_batch(function: Callable[..., float]) -> Callable[..., float]:
    """Look at images and labels before the step, so that a bad batch changes nothing."""

    @functools.wraps(function)
    def checked(model: Any, optimizer: Any, images: Any, labels: Any) -> float:
        check_batch(images, labels)
        try:
            return function(model, optimizer, images, labels)
        except IndexError as error:  # torch's, on a CPU
            if "out of bounds" not in str(error):
                raise
            raise BadInput(
                f"labels holds {labels.max().item()}, and the model does not tell as many classes "
                f"apart: labels go from 0 to one less than its scores for an image."
            ) from None

    return checked


@_checked_batch
def train_step(
    model: nn.Module, optimizer: torch.optim.Optimizer, images: Tensor, labels: Tensor
) -> float:
    """One step of the optimizer on one batch; return the mean cross-entropy before the step.

    Images (n, …) and labels (n,), int64, are on the model's device; it gives scores (n, classes).

    >>> from gpulearn.train.models import MLP
    >>> model = MLP((4, 2), seed=0)
    >>> optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    >>> images, labels = torch.eye(4), torch.tensor([0, 0, 1, 1])
    >>> first = train_step(model, optimizer, images, labels)
    >>> train_step(model, optimizer, images, labels) < first
    True
    """
    model.train()
    optimizer.zero_grad()
    loss = functional.cross_entropy(model(images), labels)
    loss.backward()
    optimizer.step()
    return loss.item()


def update(
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    images: Tensor,
    labels: Tensor,
    *,
    micro_batch: int,
    clip: float | None,
) -> tuple[float, float]:
    """The same step in micro-batches, with clipping by the global norm or None.

    A loss or a gradient that is no finite number stops the step before the weights change.
    Returned are the mean cross-entropy over the batch, and the gradient's norm before clipping.
    """
    model.train()
    optimizer.zero_grad()
    losses = []
    for x, y in zip(images.split(micro_batch), labels.split(micro_batch), strict=True):
        part = functional.cross_entropy(model(x), y) * len(y) / len(labels)
        part.backward()
        losses.append(part.detach())  # read at the end: item() makes a GPU's host wait
    loss = float(torch.stack(losses).sum())
    if not math.isfinite(loss):
        raise TrainingError(f"the loss is {loss}")
    if clip is None:
        norm = global_norm(model.parameters())
    else:
        norm = clip_by_global_norm(model.parameters(), clip)
    if not math.isfinite(norm):
        raise TrainingError(f"the loss is {loss:.3g}, but the norm of its gradient is {norm}")
    optimizer.step()
    return loss, norm
