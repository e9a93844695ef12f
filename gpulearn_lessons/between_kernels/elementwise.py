"""Three kernels on each element, and one that fuses them: relu(scale·x + y).

A kernel that follows another reads from memory what that one wrote there. Fused into one, the
intermediate results stay in registers.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from gpulearn import cuda, require
from gpulearn.kernels.specification import Specification, blocks_along

__all__ = [
    "RELU", "SCALE", "SCALE_ADD_RELU", "elementwise_bytes", "relu", "scale", "scale_add_relu",
]  # fmt: skip

Vector = np.ndarray[tuple[int], Any]


@cuda.jit
def scale(factor: np.float32, x: Vector, out: Vector) -> None:
    """out[i] = factor·x[i], a thread for each element.

    Args:
        factor: `np.float32(…)`, as a Python float would make it float64.
        x: float32, shape (n,).
        out: float32, shape (n,), overwritten.

    Launch: one-dimensional, with at least n threads. Cost: 1 element read and 1 written.

    >>> out = np.zeros(3, np.float32)
    >>> scale[1, 32](np.float32(2), np.array([1, 2, 3], np.float32), out)
    >>> out
    array([2., 4., 6.], dtype=float32)
    """
    i = cuda.grid(1)
    if i < out.size:
        out[i] = factor * x[i]


@cuda.jit
def relu(x: Vector, out: Vector) -> None:
    """out[i] = max(x[i], 0), a thread for each element.

    Args:
        x: float32, shape (n,).
        out: float32, shape (n,), overwritten.

    Launch: one-dimensional, with at least n threads. Cost: 1 element read and 1 written.

    >>> out = np.zeros(3, np.float32)
    >>> relu[1, 32](np.array([-1, 0, 3], np.float32), out)
    >>> out
    array([0., 0., 3.], dtype=float32)
    """
    i = cuda.grid(1)
    if i < out.size:
        out[i] = max(x[i], np.float32(0))


@cuda.jit
def scale_add_relu(factor: np.float32, x: Vector, y: Vector, out: Vector) -> None:
    """out[i] = max(factor·x[i] + y[i], 0): `scale`, `vector_add` and `relu` in one kernel.

    Args:
        factor: `np.float32(…)`.
        x: float32, shape (n,).
        y: float32, shape (n,).
        out: float32, shape (n,), overwritten.

    Launch: one-dimensional, with at least n threads. Cost: 2 elements read and 1 written, where
    the three kernels read 4 and write 3.

    >>> out = np.zeros(2, np.float32)
    >>> x, y = np.array([[1, 2], [3, -9]], np.float32)
    >>> scale_add_relu[1, 32](np.float32(2), x, y, out)
    >>> out
    array([5., 0.], dtype=float32)
    """
    i = cuda.grid(1)
    if i < out.size:
        out[i] = max(factor * x[i] + y[i], np.float32(0))


@require.sizes("n")
def elementwise_bytes(n: int, *, fused: bool) -> int:
    """Bytes that relu(scale·x + y) moves: 28·n in three kernels, 12·n in one, for n float32s.

    Exact where n is a multiple of 8, the elements of a sector.

    Raises:
        BadInput: n is not a whole number above zero.

    >>> elementwise_bytes(1000, fused=True)
    12000
    """
    return (12 if fused else 28) * n


def scaled(factor: np.float32, x: Vector, out: Vector) -> tuple[Vector]:
    """What `scale` must leave in `out`."""
    return (factor * x,)


def rectified(x: Vector, out: Vector) -> tuple[Vector]:
    """What `relu` must leave in `out`."""
    return (np.maximum(x, 0).astype(out.dtype),)


def scaled_added_rectified(factor: np.float32, x: Vector, y: Vector, out: Vector) -> tuple[Vector]:
    """What `scale_add_relu` must leave in `out`, computed in float64."""
    return (np.maximum(np.float64(factor) * x + y, 0).astype(out.dtype),)


SCALE = Specification(
    scale,
    scaled,
    grid=lambda factor, x, out, block: blocks_along(out.size, block),
    block=128,
    outputs=(2,),
)
RELU = Specification(
    relu,
    rectified,
    grid=lambda x, out, block: blocks_along(out.size, block),
    block=128,
    outputs=(1,),
)
SCALE_ADD_RELU = replace(
    SCALE,
    kernel=scale_add_relu,
    reference=scaled_added_rectified,
    grid=lambda factor, x, y, out, block: blocks_along(out.size, block),
    outputs=(3,),
)
