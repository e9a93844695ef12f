"""One process as the oracle of several ranks: what a network is after training on all batches."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn


def draw_weights(model: nn.Module, random: np.random.Generator) -> None:
    """Give all parameters of a model normally distributed numbers."""
    for parameter in model.parameters():
        with torch.no_grad():
            parameter.copy_(torch.from_numpy(random.normal(size=parameter.shape)))


def flat_weights(model: nn.Module) -> np.ndarray:
    """All parameters of a model in one row."""
    return np.concatenate([p.detach().cpu().numpy().ravel() for p in model.parameters()])


def train_as_one(
    model: nn.Module,
    batches: Iterable[Sequence[tuple[Tensor, Tensor]]],
    loss_of: Callable[[Tensor, Tensor], Tensor],
    lr: float,
) -> list[float]:
    """Train as one process does what ranks are to do together, by SGD with a momentum of 0.9.

    `batches` has of each step the parts of its batch: inputs and targets of each rank or of each
    micro-batch, or of the whole. Returned is the loss of each whole batch, before its step.
    """
    optimizer = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9)
    losses = []
    for parts in batches:
        inputs, targets = (torch.cat(part) for part in zip(*parts, strict=True))
        optimizer.zero_grad()
        loss: Any = loss_of(model(inputs), targets)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses
