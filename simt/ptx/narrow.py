"""Floats of 16 bits: bfloat16 as its bits, and two numbers in one register."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

__all__ = ["by_halves", "from_bfloat16", "in_bfloat16", "to_bfloat16"]

Array = Any  # of NumPy


def by_halves(function: Callable[..., Array], *operands: Array) -> Array:
    """An operation on both 16-bit halves of a 32-bit register."""
    kind = np.uint16 if _of_bits(function) else np.float16
    halves = [np.ascontiguousarray(x).view(kind).reshape(*x.shape, 2) for x in operands]
    return np.ascontiguousarray(function(*halves)).view(np.uint32)[..., 0]


def _of_bits(function: Callable[..., Array]) -> bool:
    """Whether an operation takes the bits of bfloat16."""
    return isinstance(function, partial) and function.func is in_bfloat16


def in_bfloat16(function: Callable[..., Array], *operands: Array) -> Array:
    """An operation of float32 on the bits of bfloat16."""
    return to_bfloat16(function(*map(from_bfloat16, operands)))


def from_bfloat16(x: Array) -> Array:
    """The bits of a bfloat16 as float32."""
    return (x.astype(np.uint32) << np.uint32(16)).view(np.float32)


def to_bfloat16(x: Array, mode: str = "rn") -> Array:
    """float32 to the bits of a bfloat16, to the nearest even one or towards zero."""
    bits = np.ascontiguousarray(x).view(np.uint32)
    if mode == "rn":
        near = bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))
        bits = np.where(np.isnan(x), np.uint32(0x7FFF0000), near)
    return (bits >> np.uint32(16)).astype(np.uint16)
