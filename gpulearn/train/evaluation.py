"""How good a classifier is on data that it was not trained on."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from gpulearn.train.data import check_batch, check_classes, device_of, tensor_of

BATCH = 1024  # images at a time, so that memory does not grow with the data


def evaluate(model: nn.Module, images: Any, labels: Any) -> tuple[float, float]:
    """Mean cross-entropy and accuracy (0 to 1) over arrays or tensors (n, …) and (n,).

    >>> from gpulearn import digits
    >>> from gpulearn.train.models import MLP
    >>> loss, accuracy = evaluate(MLP(), digits().test_images, digits().test_labels)
    >>> 0 <= accuracy <= 1
    True
    """
    targets, inputs = tensor_of("labels", labels), tensor_of("images", images)
    check_batch(inputs, targets)
    scores = _scores(model, inputs)
    check_classes(targets, scores.shape[1])
    loss = functional.cross_entropy(scores, targets.to(scores.device))
    return loss.item(), float((scores.argmax(dim=1).cpu() == targets.cpu()).float().mean())


def classify(model: nn.Module, images: Any) -> np.ndarray[Any, Any]:
    """The class of each image (n, …) with the highest score, int64 of shape (n,)."""
    return np.asarray(_scores(model, tensor_of("images", images)).argmax(dim=1).cpu())


def _scores(model: nn.Module, images: Tensor) -> Tensor:
    """Scores (n, classes) without gradients, in evaluation mode; the mode is put back."""
    was_training, device = model.training, device_of(model)
    model.eval()
    try:
        with torch.no_grad():
            return torch.cat([model(part.to(device)) for part in images.split(BATCH)]).float()
    finally:
        model.train(was_training)
