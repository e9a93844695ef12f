"""Activation checkpointing: activations are forgotten, and computed again on the way back."""

from __future__ import annotations

from typing import Any

import torch
from torch.utils.checkpoint import checkpoint

from gpulearn import require
from gpulearn.errors import BadInput

__all__ = ["Stages", "in_stages"]


class Stages(torch.nn.Sequential):
    """A chain of stages, each of which can be computed a second time instead of remembered.

    With `recompute = True`, the forward pass keeps the input of each stage only, and the
    backward pass computes a stage once more, from that input, when it needs what is inside. The
    gradients are the same; memory is exchanged for about one more forward pass. The random
    numbers of a dropout layer are drawn again as they were.
    Source: T. Chen, B. Xu, C. Zhang, C. Guestrin, Training Deep Nets with Sublinear Memory
    Cost, 2016, arXiv 1604.06174.

    >>> model = Stages(torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU()))
    >>> model.recompute = True
    >>> model(torch.ones(2, 4)).shape
    torch.Size([2, 8])
    """

    recompute: bool = False

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Send a batch through all stages."""
        for stage in self:
            if self.recompute and torch.is_grad_enabled() and not x.is_meta:  # shapes only
                x = checkpoint(stage, x, use_reentrant=False)
            else:
                x = stage(x)
        return x


def in_stages(layers: torch.nn.Sequential, stages: int) -> Stages:
    """Cut a chain of layers into stages of as many layers each, the first ones one more.

    The layers are shared with the chain, not copied.

    Args:
        layers: the chain.
        stages: how many, at most one a layer.

    Raises:
        BadInput: layers is no `torch.nn.Sequential`, or stages is not from 1 to its length.

    >>> chain = torch.nn.Sequential(*(torch.nn.Linear(4, 4) for _ in range(5)))
    >>> [len(stage) for stage in in_stages(chain, 2)]
    [3, 2]
    """
    if not isinstance(layers, torch.nn.Sequential):
        raise BadInput(f"layers is a {type(layers).__name__}: give a torch.nn.Sequential.")
    stages = require.whole("stages", stages)
    if stages > len(layers):
        raise BadInput(f"stages is {stages}, and there are {len(layers)} layers: give fewer.")
    size, longer = divmod(len(layers), stages)
    chain: list[Any] = list(layers)
    found, begin = [], 0
    for number in range(stages):
        end = begin + size + (number < longer)
        found.append(torch.nn.Sequential(*chain[begin:end]))
        begin = end
    return Stages(*found)
