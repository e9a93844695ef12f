"""Activation checkpointing: activations are forgotten, and computed again on the way back."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Sequence

import torch
from torch.utils.checkpoint import checkpoint

from gpulearn import require
from gpulearn.errors import BadInput


class Stages(torch.nn.Sequential):
    """A chain of stages, each of which can be computed a second time instead of remembered.

    With `recompute = True`, the forward pass keeps the input of each stage only, and the
    backward pass computes a stage once more, from that input, when it needs what is inside. The
    gradients are the same; the random numbers of a dropout layer are drawn again as they were.
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
            if self.recompute and torch.is_grad_enabled():
                x = checkpoint(stage, x, use_reentrant=False)
            else:
                x = stage(x)
        return x


def in_stages(layers: torch.nn.Sequential, stages: int) -> Stages:
    """Cut a chain of layers into so many stages of equal length, the first ones one longer.

    The layers are shared with the chain, not copied.

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
    layer = iter(layers)
    lengths = [size + (number < longer) for number in range(stages)]
    return Stages(*(torch.nn.Sequential(*itertools.islice(layer, n)) for n in lengths))


def recompute_peak(
    inputs: Sequence[int], inside: Sequence[int], recomputed: Collection[int]
) -> int:
    """The most bytes that a chain of stages keeps at once for its backward pass.

    When the backward pass comes to a stage that is recomputed, what is inside that one is there
    again, beside all that is kept for the stages before it; those behind it are done with.

    `inputs` are the bytes that each stage is given, `inside` those that it keeps besides;
    `recomputed` are the numbers of the stages that are computed again, from 0.

    >>> recompute_peak([10, 10, 10], [50, 50, 50], recomputed=[])
    180
    >>> recompute_peak([10, 10, 10], [50, 50, 50], recomputed=[0, 1, 2])
    80
    """
    kept, most = 0, 0
    for stage, (given, within) in enumerate(zip(inputs, inside, strict=True)):
        kept += given
        most = max(most, kept + within)
        if stage not in recomputed:
            kept += within
    return most


def recompute_plan(
    inputs: Sequence[int], inside: Sequence[int], seconds: Sequence[float], limit: int
) -> set[int] | None:
    """The stages to recompute so that a chain fits into its memory and loses the least time.

    All 2ⁿ choices are tried. `inputs` and `inside` are as for `recompute_peak`, which may reach
    `limit` bytes; `seconds` are those of each stage's forward pass. Returned are the numbers of the
    stages, from 0; None where no choice fits.

    >>> recompute_plan([10, 10, 10], [50, 50, 50], [1.0, 2.0, 3.0], limit=130)
    {0}
    """
    choices = [set[int]()]
    for stage in range(len(inputs)):
        choices += [some | {stage} for some in choices]
    fitting = [some for some in choices if recompute_peak(inputs, inside, some) <= limit]
    return min(fitting, key=lambda some: sum(seconds[s] for s in some), default=None)
