"""A backward pass in two halves: first for the input of a stage, later for its weights."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn


class SplitStage:
    """One forward pass through a stage, whose backward pass can be done in two halves.

    For y = x·Wᵀ + b with the gradient g of y, the gradient of the input is g·W, and only that is
    needed by the stage before. That of the weights is gᵀ·x, a product of the same size, which
    can wait (Qi et al., "Zero bubble pipeline parallelism", ICLR 2024, section 2). It waits for
    each `nn.Linear`; all other parameters, of norms and tables, get theirs in the first half.

    Args:
        module: the stage.
        given: what comes in; its gradient is computed if it requires one.

    Attributes:
        output: what comes out.

    >>> layer, x = nn.Linear(2, 2), torch.ones(3, 2, requires_grad=True)
    >>> passed = SplitStage(layer, x)
    >>> passed.for_input(torch.ones(3, 2)).shape, layer.weight.grad
    (torch.Size([3, 2]), None)
    >>> passed.for_weights()
    >>> layer.weight.grad.tolist()
    [[3.0, 3.0], [3.0, 3.0]]
    """

    def __init__(self, module: nn.Module, given: Tensor) -> None:
        self._given = given
        self._seen: list[tuple[nn.Linear, Tensor, Tensor]] = []  # layer, what came in, came out
        self._late: list[tuple[nn.Linear, Tensor, Tensor]] = []  # layer, what came in, gradient
        linear = [part for part in module.modules() if isinstance(part, nn.Linear)]
        later = {id(p) for part in linear for p in part.parameters(recurse=False)}
        self._others = [p for p in module.parameters() if p.requires_grad and id(p) not in later]
        hooks = [part.register_forward_hook(self._note) for part in linear]
        try:
            self.output: Tensor = module(given)
        finally:
            for hook in hooks:
                hook.remove()

    def _note(self, layer: Any, given: tuple[Tensor, ...], output: Tensor) -> None:
        if output.requires_grad:
            self._seen.append((layer, given[0].detach(), output))

    def for_input(self, gradient: Tensor | None, result: Tensor | None = None) -> Tensor | None:
        """The first half: the gradient of the input; None if it needs none.

        Args:
            gradient: of the result; None for a loss.
            result: what the gradient belongs to, if something was computed from the output.
        """
        result = self.output if result is None else result
        if not result.requires_grad:
            return None
        inputs = [self._given] if self._given.requires_grad else []
        wanted = [*inputs, *self._others, *(output for _, _, output in self._seen)]
        # torch computes what leads to these, and leaves the product for a layer's weights out
        found = list(torch.autograd.grad(result, wanted, gradient, allow_unused=True))
        own = found.pop(0) if inputs else None
        for parameter in self._others:
            _add(parameter, found.pop(0))
        for (layer, given, _), one in zip(self._seen, found, strict=True):
            if one is not None:
                self._late.append((layer, given, one))
        self._seen.clear()
        return own

    def for_weights(self) -> None:
        """The second half: the gradients of each linear layer's weights and bias."""
        for layer, given, gradient in self._late:
            flat = gradient.flatten(0, -2)
            if layer.weight.requires_grad:
                _add(layer.weight, flat.mT @ given.flatten(0, -2))
            if layer.bias is not None and layer.bias.requires_grad:
                _add(layer.bias, flat.sum(0))
        self._late.clear()


def _add(parameter: Tensor, gradient: Tensor | None) -> None:
    if gradient is not None:
        parameter.grad = gradient if parameter.grad is None else parameter.grad + gradient
