"""The plain loop of epochs, evaluated after each on held-out data, and when to stop it."""

import math
from collections.abc import Iterable

import torch
from torch import Tensor, nn
from torch.nn import functional

from gpulearn import require

Batches = Iterable[tuple[Tensor, Tensor]]


@require.sizes("epochs")
def train_epochs(
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    batches: Batches,
    held_out: Batches,
    epochs: int,
) -> list[tuple[float, float]]:
    """Train for some epochs, and compute the accuracy on held-out images after each.

    Dropout is on in training and off in evaluation. Means are over images, not over batches, since
    the last batch may be smaller.

    `batches` and `held_out` are pairs of images (n, …) and labels (n,), such as a `DataLoader`; the
    model gives scores (n, classes). Returned are, for each epoch, the mean cross-entropy over the
    training images, each before the step that it took part in, and the accuracy, 0 to 1.

    >>> model = nn.Linear(2, 2)
    >>> optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    >>> batch = torch.eye(2), torch.tensor([0, 1])
    >>> train_epochs(model, optimizer, [batch], [batch], epochs=20)[-1][1]
    1.0
    """
    history = []
    for _ in range(epochs):
        model.train()
        total, seen = 0.0, 0
        for images, labels in batches:
            optimizer.zero_grad()
            loss = functional.cross_entropy(model(images), labels)
            loss.backward()
            optimizer.step()
            total += loss.item() * len(labels)
            seen += len(labels)
        model.eval()
        right, count = 0, 0
        with torch.no_grad():
            for images, labels in held_out:
                right += (model(images).argmax(dim=1) == labels).sum().item()
                count += len(labels)
        history.append((total / seen, right / count))
    return history


@require.sizes("patience")
def stop_early(losses: Iterable[float], patience: int) -> tuple[int, int]:
    """Train until the validation loss has had no new best for some epochs in a row.

    A loss that equals the best, or is not finite, is no new best; after `patience` epochs in a row
    without one the training stops. Taking the next loss trains another epoch, so none is taken that
    is not needed. Returned are the epoch with the best loss, whose weights to keep, and the number
    of epochs trained; epochs count from 1, and the first is 0 if no loss was finite.

    >>> stop_early([0.9, 0.5, 0.6, 0.55, 0.7, 0.4], patience=3)
    (2, 5)
    """
    best, kept, done = float("inf"), 0, 0
    for loss in losses:
        done += 1
        if math.isfinite(loss) and loss < best:
            best, kept = loss, done
        elif done - kept >= patience:
            break
    return kept, done
