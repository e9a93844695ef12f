"""How good a classifier is on data that it was not trained on."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

__all__ = ["device_of", "evaluate", "predict"]

BATCH = 1024  # images at a time, so that memory does not grow with the data


def device_of(model: nn.Module) -> torch.device:
    """The device of a model's parameters; the CPU for a model without any."""
    return next((parameter.device for parameter in model.parameters()), torch.device("cpu"))


def evaluate(model: nn.Module, images: Any, labels: Any) -> tuple[float, float]:
    """Mean cross-entropy and accuracy (0 to 1) over arrays or tensors (n, …) and (n,).

    >>> from gpulearn import digits
    >>> from gpulearn.train.models import MLP
    >>> loss, accuracy = evaluate(MLP(), digits().test_images, digits().test_labels)
    >>> 0 <= accuracy <= 1
    True
    """
    wanted = torch.as_tensor(labels)
    scores = _scores(model, images)
    loss = functional.cross_entropy(scores, wanted.to(scores.device))
    return loss.item(), float((scores.argmax(dim=1).cpu() == wanted.cpu()).float().mean())


def predict(model: nn.Module, images: Any) -> np.ndarray[Any, Any]:
    """The class of each image (n, …) with the highest score, int64 of shape (n,)."""
    return np.asarray(_scores(model, images).argmax(dim=1).cpu())


def _scores(model: nn.Module, images: Any) -> Tensor:
    """Scores (n, classes) without gradients, in evaluation mode; the mode is put back."""
    was_training, device = model.training, device_of(model)
    model.eval()
    try:
        with torch.no_grad():
            parts = torch.as_tensor(images).split(BATCH)
            return torch.cat([model(part.to(device)) for part in parts]).float()
    finally:
        model.train(was_training)
