"""How an all-reduce combines two tensors into one: sum, product, maximum, minimum."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import Any, Protocol

import torch
from torch import Tensor

from gpulearn import require
from gpulearn.errors import BadInput
from gpulearn.require import shown

__all__ = ["OPERATIONS", "combine", "in_place"]

# each writes into its first tensor
OPERATIONS: dict[str, Callable[[Tensor, Tensor], object]] = {
    "sum": operator.iadd,
    "product": lambda into, other: into.mul_(other),
    "max": lambda into, other: torch.maximum(into, other, out=into),
    "min": lambda into, other: torch.minimum(into, other, out=into),
}


class InPlace(Protocol):
    """An all-reduce: writes the result into `tensor` on every rank, and returns it."""

    def __call__(self, tensor: Tensor, op: str = "sum") -> Tensor:
        """Reduce over all ranks."""


def combine(into: Tensor, other: Tensor, op: str) -> None:
    """Combine two tensors of one shape and dtype; the first holds the result."""
    OPERATIONS[op](into, other)


class _Product(Tensor):
    """Numbers that are multiplied where an algorithm adds."""

    def __iadd__(self, other: Tensor) -> Tensor:  # type: ignore[misc, override]
        OPERATIONS["product"](self, other)
        return self


class _Largest(Tensor):
    """Numbers of which the larger stays where an algorithm adds."""

    def __iadd__(self, other: Tensor) -> Tensor:  # type: ignore[misc, override]
        OPERATIONS["max"](self, other)
        return self


class _Smallest(Tensor):
    """Numbers of which the smaller stays where an algorithm adds."""

    def __iadd__(self, other: Tensor) -> Tensor:  # type: ignore[misc, override]
        OPERATIONS["min"](self, other)
        return self


ADDENDS: dict[str, Any] = {"product": _Product, "max": _Largest, "min": _Smallest}


def in_place(function: Callable[[Tensor], None]) -> InPlace:
    """Let an algorithm work on one flat, contiguous row of numbers, whatever the tensor is.

    The algorithm adds with `+=`. For another operation it gets numbers to which `+=` means
    that one, and so do all that are made from them.
    """

    @functools.wraps(function)
    def whole(tensor: Tensor, op: str = "sum") -> Tensor:
        need_tensor(tensor)
        op = require.choice("op", op, OPERATIONS)
        flat = tensor.detach().contiguous().view(-1)
        function(flat.as_subclass(ADDENDS[op]) if op in ADDENDS else flat)
        if flat.data_ptr() != tensor.data_ptr():
            tensor.detach().copy_(flat.view(tensor.shape))
        return tensor

    return whole


def need_tensor(value: object, dimensions: int = 0) -> None:
    """Check that a value is a plain tensor that has an axis to cut, if it needs one.

    Raises:
        BadInput: it is not.
    """
    if not isinstance(value, Tensor):
        raise BadInput(f"tensor is {shown(value)}: give a torch tensor.")
    if value.layout != torch.strided:
        raise BadInput("tensor is sparse: give a plain one, such as tensor.to_dense().")
    if value.ndim < dimensions:
        raise BadInput(f"tensor is {shown(value)}, a single number: give one that can be cut.")
