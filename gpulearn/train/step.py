"""One step of training: the plain one, and the one with everything that large models need."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from gpulearn.errors import BadInput, TrainingError
from gpulearn.train.accumulation import accumulate_in_precision
from gpulearn.train.batch import check_batch
from gpulearn.train.clipping import clip_by_global_norm, global_norm
from gpulearn.train.precision import Precision

__all__ = ["train_step", "update"]


def _checked_batch(function: Callable[..., Any]) -> Callable[..., Any]:
    """Look at images and labels before the step, so that a bad batch changes nothing."""

    @functools.wraps(function)
    def checked(model: Any, optimizer: Any, images: Any, labels: Any, **options: Any) -> Any:
        check_batch(images, labels)
        try:
            return function(model, optimizer, images, labels, **options)
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
    """One step of the optimiser on one batch; return the mean cross-entropy before the step.

    Args:
        model: maps images (n, …) to scores (n, classes).
        optimizer: holds the model's parameters.
        images: (n, …), on the model's device.
        labels: (n,), int64, on the model's device.

    Raises:
        BadInput: the batch is empty, or images and labels are not as many.

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


@_checked_batch
def update(
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    images: Tensor,
    labels: Tensor,
    *,
    precision: Precision,
    micro_batch: int,
    clip: float | None = None,
) -> tuple[float, float]:
    """The same step in micro-batches, in another precision, with clipping by the global norm.

    A loss or a gradient that is no finite number stops the step before the weights change.
    But a gradient that overflowed because of loss scaling is left to the scaling, which leaves
    the step out and lowers its scale.

    Args:
        model: maps images (n, …) to scores (n, classes).
        optimizer: holds the model's parameters.
        images: (n, …), on the model's device.
        labels: (n,), int64, on the model's device.
        precision: of the passes; it keeps the scale of the loss.
        micro_batch: the most images that go through the model at once.
        clip: largest global norm of the gradient, or None.

    Returns:
        The mean cross-entropy over the batch, and the gradient's norm before clipping.

    Raises:
        BadInput: the batch is empty, or images and labels are not as many.
        TrainingError: the loss or the gradient is no finite number.
    """
    model.train()
    optimizer.zero_grad()
    loss = accumulate_in_precision(model, images, labels, micro_batch, precision)
    if not math.isfinite(loss):
        raise TrainingError(f"the loss is {loss}")
    precision.unscale(optimizer)  # before clipping: the limit is one for the true gradient
    if clip is None:
        norm = global_norm(model.parameters())
    else:
        norm = clip_by_global_norm(model.parameters(), clip)
    if not math.isfinite(norm) and precision.scale <= 1:
        raise TrainingError(f"the loss is {loss:.3g}, but the norm of its gradient is {norm}")
    precision.step(optimizer)
    return loss, norm
