"""Training without a server: local steps between averages, and clients of different sizes."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from gpulearn.parallel.communicator import world_size
from gpulearn.parallel.torch_collectives import sum_over_ranks

__all__ = ["federated_average", "local_sgd"]


def local_sgd(
    weights: Tensor, gradient: Callable[[Tensor], Tensor], steps: int, every: int, lr: float
) -> Tensor:
    """Take steps with this rank's own gradients, and average the weights from time to time.

    After every `every` steps, and after the last, the weights become the mean over all ranks, so
    all ranks end with the same weights (local SGD: Stich, arXiv 1805.09767, 2018).

    Args:
        weights: this rank's, of any shape; changed in place.
        gradient: of this rank's own loss, at weights.
        steps: how many steps each rank takes.
        every: how many of them are between two averages.
        lr: learning rate.

    Returns:
        `weights`.

    >>> import gpulearn as gl
    >>> def train():
    ...     minimum = 4.0 * gl.parallel.rank()
    ...     return local_sgd(torch.zeros(1), lambda w: w - minimum, 3, 2, lr=0.5).item()
    >>> gl.launch(train, 2, backend="simulated")
    [1.75, 1.75]
    """
    for step in range(1, steps + 1):
        weights -= lr * gradient(weights)
        if step % every == 0 or step == steps:
            sum_over_ranks(weights)
            weights /= world_size()
    return weights


def federated_average(weights: Tensor, samples: int) -> Tensor:
    """Average the clients' weights, each by its share of all samples; every rank gets the mean.

    The server's part of federated averaging (McMahan et al., arXiv 1602.05629, 2016):
    θ = Σ_k (n_k / n) · θ_k. A client without samples in this round does not count, whatever its
    weights are, and gets the mean, too.

    Args:
        weights: this client's, of floats, of any shape; changed in place.
        samples: how many it has trained on; not 0 on all ranks.

    Returns:
        `weights`.

    >>> import gpulearn as gl
    >>> def mean():
    ...     client = gl.parallel.rank()
    ...     return federated_average(torch.tensor([10.0 * client]), samples=3 - 2 * client).item()
    >>> gl.launch(mean, 2, backend="simulated")
    [2.5, 2.5]
    """
    total = sum_over_ranks(torch.tensor(float(samples), dtype=torch.float64)).item()
    if samples:
        weights *= samples / total
    else:
        weights.zero_()
    return sum_over_ranks(weights)
