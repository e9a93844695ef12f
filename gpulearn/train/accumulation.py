"""Gradient accumulation: the gradient of a large batch from micro-batches that fit."""

from __future__ import annotations

from typing import Any

import torch
from torch.nn import functional

from gpulearn import require
from gpulearn.train.batch import check_batch
from gpulearn.train.precision import Precision

__all__ = ["accumulate_gradients", "accumulate_in_precision"]


@require.together(lambda given: check_batch(given["images"], given["labels"]))
@require.sizes("micro_batch")
def accumulate_gradients(
    model: torch.nn.Module, images: torch.Tensor, labels: torch.Tensor, micro_batch: int
) -> float:
    """Add the gradient of a batch's mean loss to the parameters' `.grad`, part by part.

    The mean over n images is the sum over the parts of (part's images / n) · (part's mean), and
    so is its gradient. Activations are kept for one part at a time only. As `backward` does,
    it adds to what is in `.grad`: call `zero_grad` before.

    It equals the large batch for layers that treat each image by itself; batch normalisation
    does not, and dropout draws other numbers.

    Args:
        model: gives logits, shape (n, classes).
        images: one batch, first axis n.
        labels: the classes, int64, shape (n,).
        micro_batch: the most images that go through the model at once; the last part may be
            smaller.

    Returns:
        The mean loss of the batch.

    Raises:
        BadInput: the batch is empty or no batch, or micro_batch is not a whole number above zero.

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


def accumulate_in_precision(
    model: torch.nn.Module,
    images: torch.Tensor,
    labels: torch.Tensor,
    micro_batch: int,
    precision: Precision,
) -> float:
    """Do the same as `accumulate_gradients` with the forward pass in another precision.

    With float16 the gradients stay multiplied by the scale until `precision.unscale`.

    Returns:
        The mean loss of the batch, unscaled.
    """
    parts = zip(images.split(micro_batch), labels.split(micro_batch), strict=True)
    losses: list[Any] = []
    for some, wanted in parts:
        with precision.autocast():
            loss = functional.cross_entropy(model(some), wanted)
        loss = loss * len(wanted) / len(labels)
        precision.backward(loss)
        losses.append(loss.detach())  # read at the end: item() makes a GPU's host wait
    return float(torch.stack(losses).sum())
