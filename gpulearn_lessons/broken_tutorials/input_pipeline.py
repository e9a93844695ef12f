"""An input pipeline for several ranks: shuffled once for all, dealt out, then cut into batches."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from gpulearn.parallel.communicator import rank, world_size
from gpulearn.parallel.torch_collectives import sum_over_ranks


def case_input_pipeline(
    weights: Tensor,
    losses_of: Callable[[Tensor, Tensor], Tensor],
    count: int,
    batch: int,
    epochs: int,
    lr: float,
) -> Tensor:
    """Train with every sample once in an epoch, whichever rank has it.

    Every rank must call. A step takes `batch` samples on each rank, and the weights move by the
    gradient of the mean loss over all of them. The order is another one in each epoch.

    Args:
        weights: the same on all ranks, of shape (n,); changed in place.
        losses_of: of the weights and the numbers of some samples, the loss of each, (samples,).
        count: how many samples there are, a multiple of `batch` times the number of ranks.
        batch: samples that a rank takes in a step.
        epochs: how often each sample is seen.
        lr: learning rate.

    Returns:
        The weights.

    >>> import gpulearn as gl
    >>> def sums(epochs):
    ...     start = torch.zeros(1, requires_grad=True)
    ...     return case_input_pipeline(start, lambda w, numbers: w * numbers, 4, 1, epochs, 1.0)
    >>> [weights.item() for weights in gl.launch(sums, 2, 1, backend="simulated")]
    [-3.0, -3.0]
    """
    for epoch in range(epochs):
        generator = torch.Generator().manual_seed(epoch)
        order = torch.randperm(count, generator=generator)
        for numbers in order[rank() :: world_size()].split(batch):
            losses = losses_of(weights, numbers)
            (gradient,) = torch.autograd.grad(losses.mean(), weights)
            weights.data -= lr * sum_over_ranks(gradient) / world_size()
    return weights
