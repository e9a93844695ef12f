"""What launches are made of: random numbers, and blocks of other sizes than the usual one."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from gpulearn.kernels.specification import Shape, Specification

__all__ = ["PERIOD", "bytes_of", "in_blocks_of", "numbers", "repeated", "whole_numbers"]

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


def in_blocks_of(block: Shape, usual: Specification) -> Specification:
    """A kernel's specification with other blocks, of which its reference has to know."""
    return replace(usual, reference=partial(usual.reference, block=block), block=block)
