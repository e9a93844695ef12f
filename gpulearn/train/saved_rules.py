"""What each kind of layer keeps for the backward pass, one rule a kind."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import nn

from gpulearn.errors import BadInput
from gpulearn.train.precision import PRECISIONS

__all__ = ["RULES", "Ledger", "Saved", "storage_number"]


class Saved(NamedTuple):
    """One tensor that is kept: the layer it is for, what it is there, its shape and dtype."""

    layer: str
    what: str
    shape: tuple[int, ...]
    dtype: torch.dtype

    @property
    def elements(self) -> int:
        """How many numbers it holds."""
        return math.prod(self.shape)


class Ledger:
    """What is kept so far, by the storage it lives in: a storage kept twice counts once."""

    def __init__(self, precision: str, device: str) -> None:
        self.low = PRECISIONS[precision]
        self.device = device
        self.dtypes: dict[int, torch.dtype] = {}
        self.kept: dict[Any, Saved] = {}
        self.alive: list[torch.Tensor] = []  # so that no storage's number is given out again

    def know(self, tensor: torch.Tensor, dtype: torch.dtype) -> None:
        """Note the dtype that a tensor would have under autocast; here only shapes run."""
        self.alive.append(tensor)
        self.dtypes[storage_number(tensor)] = dtype

    def keep(self, layer: str, what: str, tensor: torch.Tensor) -> None:
        """List a tensor that passes between layers."""
        key = storage_number(tensor)
        self.kept.setdefault(key, Saved(layer, what, tuple(tensor.shape), self.dtypes[key]))

    def add(
        self, layer: str, what: str, shape: torch.Size, dtype: torch.dtype, use: object = None
    ) -> None:
        """List a tensor that the layer makes for itself, anew at each `use` of the layer."""
        self.kept.setdefault((layer, what, use), Saved(layer, what, tuple(shape), dtype))

    def product(
        self, name: str, layer: Any, x: torch.Tensor, *, input_needed: bool, weight_needed: bool
    ) -> None:
        """The two factors of a layer that multiplies; under autocast as 16-bit copies."""
        if input_needed and self.dtypes[storage_number(x)] == self.low:
            self.keep(name, "input", x)
        elif input_needed:
            self.add(name, "copy of input", x.shape, self.low, use=storage_number(x))
        if weight_needed and self.low != torch.float32:
            # autocast makes one copy of a trained weight, and one at each use of a frozen one
            use = None if layer.weight.requires_grad else storage_number(x)
            self.add(name, "copy of weight", layer.weight.shape, self.low, use)


Rule = Callable[[Ledger, str, Any, torch.Tensor, torch.Tensor], None]


def _nothing(ledger: Ledger, name: str, layer: Any, x: torch.Tensor, y: torch.Tensor) -> None:
    """A view has no derivative to compute."""


def _input(ledger: Ledger, name: str, layer: Any, x: torch.Tensor, y: torch.Tensor) -> None:
    ledger.keep(name, "input", x)


def _output(ledger: Ledger, name: str, layer: Any, x: torch.Tensor, y: torch.Tensor) -> None:
    ledger.keep(name, "output", y)


def _conv(ledger: Ledger, name: str, layer: Any, x: torch.Tensor, y: torch.Tensor) -> None:
    sizes = zip(layer.kernel_size, layer.dilation, strict=True)
    uneven = layer.padding == "same" and any((k - 1) * d % 2 for k, d in sizes)
    if layer.padding_mode != "zeros" or uneven:
        raise BadInput(
            f"The layer {name} has padding={layer.padding!r} and "
            f"padding_mode={layer.padding_mode!r}, for which torch makes a padded copy: pad with "
            f"zeros, and with as many on each side."
        )
    # torch keeps both, also for a frozen weight and for the first layer
    ledger.product(name, layer, x, input_needed=True, weight_needed=True)


def _linear(ledger: Ledger, name: str, layer: Any, x: torch.Tensor, y: torch.Tensor) -> None:
    trained = layer.weight.requires_grad
    ledger.product(name, layer, x, input_needed=trained, weight_needed=x.requires_grad)


def _max_pool(ledger: Ledger, name: str, layer: Any, x: torch.Tensor, y: torch.Tensor) -> None:
    ledger.keep(name, "input", x)
    ledger.add(name, "indices", y.shape, torch.int64, use=storage_number(y))


def _dropout(ledger: Ledger, name: str, layer: Any, x: torch.Tensor, y: torch.Tensor) -> None:
    if layer.training and 0 < layer.p < 1:
        mask = torch.bool if ledger.device == "cuda" else ledger.dtypes[storage_number(x)]
        ledger.add(name, "mask", x.shape, mask, use=storage_number(y))


RULES: dict[type[nn.Module], Rule] = {
    nn.Linear: _linear,
    nn.Conv2d: _conv,
    nn.ReLU: _output,
    nn.Sigmoid: _output,
    nn.Tanh: _output,
    nn.GELU: _input,
    nn.MaxPool2d: _max_pool,
    nn.AvgPool2d: _input,
    nn.Dropout: _dropout,
    nn.Flatten: _nothing,
    nn.Identity: _nothing,
}


def storage_number(tensor: torch.Tensor) -> int:
    """A number that tensors share exactly if they are views of the same memory."""
    return int(tensor.untyped_storage()._cdata)
