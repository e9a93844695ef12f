"""What launches are made of: random numbers, poisoned outputs, grids that cover."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

__all__ = ["PERIOD", "bytes_of", "covering", "numbers", "poisoned", "repeated", "whole_numbers"]

Array = np.ndarray[Any, Any]

# Large arrays repeat this many random numbers: made in a second, as busy as others in the wires.
# The number is a prime, so that no row, tile or grid is a multiple of it and hides a mistake.
PERIOD = 1_000_003


def repeated(values: Array, *shape: int) -> Array:
    """The values again and again until an array of this shape is full."""
    return np.resize(values, shape)


def numbers(*shape: int, seed: int = 0, dtype: Any = np.float32, positive: bool = False) -> Array:
    """Random numbers: normally distributed, or evenly from 0 to below 1 where all are positive.

    >>> numbers(2, 3, positive=True).shape
    (2, 3)
    """
    rng = np.random.default_rng(seed)
    count = min(math.prod(shape), PERIOD)
    made = rng.random(count) if positive else rng.standard_normal(count)
    return repeated(made.astype(dtype), *shape)


def whole_numbers(*shape: int, below: int = 100, seed: int = 0, dtype: Any = np.int32) -> Array:
    """Random whole numbers from 0 to below a limit."""
    count = min(math.prod(shape), PERIOD)
    return repeated(np.random.default_rng(seed).integers(0, below, count).astype(dtype), *shape)


def bytes_of(*shape: int, seed: int = 0) -> Array:
    """Random bytes, all 256 values alike."""
    return whole_numbers(*shape, below=256, seed=seed, dtype=np.uint8)


def poisoned(*shape: int, dtype: Any = np.float32) -> Array:
    """An output that nobody has written yet: NaN, or a large odd number.

    >>> poisoned(2, dtype=np.int32)
    array([429496729, 429496729], dtype=int32)
    """
    kind = np.dtype(dtype)
    value = np.nan if kind.kind == "f" else np.iinfo(kind).max // 5
    return np.full(shape, value, kind)


def covering(along: tuple[int, ...], block: tuple[int, ...]) -> tuple[int, ...]:
    """The fewest blocks along x, y, … that have a thread for each element.

    >>> covering((75, 67), (32, 8))
    (3, 9)
    """
    return tuple(-(-n // b) for n, b in zip(along, block, strict=True))
