"""Copies in every order, from notebook 04."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from gpulearn.hardware.case import Case, Shot
from gpulearn.kernels.copies import copy_strided

__all__ = ["CASES"]

Array = np.ndarray[Any, Any]
ELEMENTS = {"small": 5000, "large": 2**24}
BLOCK = 128


def strided(stride: int, size: str) -> Shot:
    """Every stride-th element of an array of random numbers."""
    n = ELEMENTS[size]
    source = np.random.default_rng(stride).standard_normal(n * stride, dtype=np.float32)
    target = np.full(n, np.nan, np.float32)
    return Shot(-(-n // BLOCK), BLOCK, (source, target, stride))


def expect_strided(source: Array, target: Array, stride: int) -> Mapping[int, Array]:
    """The specification in NumPy."""
    return {1: source[::stride][: target.size]}


CASES = tuple(
    Case(f"copy_strided, {k} apart", "04", copy_strided, partial(strided, k), expect_strided)
    for k in (1, 2, 8, 32)
)
