"""The three stages of sharding as plain functions over flat vectors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from gpulearn.parallel.collectives import all_gather, reduce_scatter
from gpulearn.parallel.communicator import rank, world_size

__all__ = ["gather_and_free", "reduce_scatter_gradients", "shard_optimizer_state"]


def shard_optimizer_state(
    weights: Tensor, make: Callable[[list[Tensor]], torch.optim.Optimizer]
) -> Callable[[Tensor], None]:
    """Make a step that equals one optimizer's for all weights, with 1/N of its state on a rank.

    ZeRO stage 1: Rajbhandari et al., "ZeRO: memory optimizations toward training trillion
    parameter models", arXiv 1910.02054, 2019, section 5.1.

    Args:
        weights: (n,), all of them, the same on all ranks; each step changes them in place.
        make: a list of one tensor → an optimizer for it, such as
            `functools.partial(torch.optim.Adam, lr=0.01)`; it has to be elementwise.

    Returns:
        A function of this rank's gradient, (n,), which makes one step with the mean over the
        ranks.

    >>> import gpulearn as gl
    >>> from functools import partial
    >>> def train():
    ...     weights = torch.zeros(3)
    ...     step = shard_optimizer_state(weights, partial(torch.optim.SGD, lr=1.0))
    ...     step(torch.tensor([1.0, 2.0, 3.0]) * gl.parallel.rank())
    ...     return weights.tolist()
    >>> gl.launch(train, 2, backend="simulated")
    [[-0.5, -1.0, -1.5], [-0.5, -1.0, -1.5]]
    """
    count, length = len(weights), -(-len(weights) // world_size())
    padding = length * world_size() - count
    shard = nn.functional.pad(weights, (0, padding)).view(-1, length)[rank()].clone()
    optimizer = make([shard])

    def step(gradient: Tensor) -> None:
        padded = nn.functional.pad(gradient, (0, padding))
        shard.grad = reduce_scatter(padded) / world_size()
        optimizer.step()
        weights.copy_(all_gather(shard).flatten()[:count])

    return step


def reduce_scatter_gradients(parameters: Sequence[nn.Parameter]) -> Tensor:
    """This rank's shard of the mean gradient of some parameters, which have none afterwards.

    ZeRO stage 2. The gradients are laid one after another, with zeros at the end until N divides
    their number; a parameter without a gradient counts as zeros.

    Args:
        parameters: in the same order on all ranks, n numbers in all.

    Returns:
        (⌈n/N⌉,): rank r has part r of the mean over the ranks.

    >>> import gpulearn as gl
    >>> def shard():
    ...     weight = nn.Parameter(torch.zeros(3))
    ...     weight.grad = torch.tensor([1.0, 2.0, 3.0]) * (1 + gl.parallel.rank())
    ...     return reduce_scatter_gradients([weight]).tolist()
    >>> gl.launch(shard, 2, backend="simulated")
    [[1.5, 3.0], [4.5, 0.0]]
    """
    parts = []
    for parameter in parameters:
        gradient = torch.zeros_like(parameter) if parameter.grad is None else parameter.grad
        parts.append(gradient.flatten())
        parameter.grad = None
    flat = torch.cat(parts)
    flat = nn.functional.pad(flat, (0, -len(flat) % world_size()))
    return reduce_scatter(flat) / world_size()


def gather_and_free(
    layers: Sequence[Any],
    shards: Sequence[Tensor],
    x: Tensor,
    gradient_of: Callable[[Tensor], Any],
) -> list[Tensor]:
    """Forward and backward with the whole weights of one layer at a time.

    ZeRO stage 3. Each layer's weights are gathered from the shards before they are used, forward
    and backward, and freed after it; of its gradient this rank keeps its shard.

    Args:
        layers: in their order; layer l has `count` weights, which `forward(weights, x)` and
            `backward(weights, x, after)` are handed as one flat vector.
        shards: this rank's part of each layer's weights, (⌈count/N⌉,), padded with zeros.
        x: this rank's inputs.
        gradient_of: the output → the gradient of this rank's loss by it.

    Returns:
        This rank's part of each layer's mean gradient, shaped as the shards.
    """
    inputs = []
    for layer, shard in zip(layers, shards, strict=True):
        weights = all_gather(shard).flatten()[: layer.count]
        inputs.append(x)
        x = layer.forward(weights, x)
        del weights
    after = gradient_of(x)
    gradients = []
    for number in reversed(range(len(layers))):
        layer = layers[number]
        weights = all_gather(shards[number]).flatten()[: layer.count]
        after, gradient = layer.backward(weights, inputs.pop(), after)
        del weights
        padded = nn.functional.pad(gradient, (0, -layer.count % world_size()))
        del gradient
        gradients.append(reduce_scatter(padded) / world_size())
        del padded
    return gradients[::-1]
