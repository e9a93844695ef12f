"""Warps: 32 threads that run one path together, and what it costs when they disagree."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpulearn import cuda
from gpulearn.kernels.specification import Specification, blocks_along

__all__ = ["STRIPES", "WARPS_AND_LANES", "places_in_block", "stripes", "warps_and_lanes"]

Array = np.ndarray[Any, Any]


@cuda.jit
def warps_and_lanes(warp: Array, lane: Array) -> None:
    """Write which warp of its block each thread belongs to, and which lane of it it is.

    `warp` and `lane` have shape (y, x), as the launch has threads. A block's threads are
    counted with x running fastest; each 32 in this order are a warp.

    >>> warp, lane = np.zeros((2, 2, 16), np.int32)
    >>> there = [cuda.to_device(warp), cuda.to_device(lane)]
    >>> warps_and_lanes[1, (16, 2)](*there)
    >>> there[1].copy_to_host()[:, -1]
    array([15, 31], dtype=int32)
    """
    x, y = cuda.grid(2)
    thread = cuda.threadIdx.x + cuda.threadIdx.y * cuda.blockDim.x
    warp[y, x] = thread // 32
    lane[y, x] = cuda.laneid


@cuda.jit
def stripes(image: Array, out: Array, width: int) -> None:
    """Darken every other stripe of `width` columns and invert the ones between.

    `image` and `out` have shape (rows, columns), values from 0 to 1. Launch: x covers the
    columns, y the rows, blocks of (32, y). A warp then lies in one row; it diverges where a
    stripe ends within its 32 columns, and runs both branches one after the other.

    >>> a, b = np.zeros((1, 4), np.float32), np.zeros((1, 4), np.float32)
    >>> stripes[1, (32, 1)](cuda.to_device(a), d := cuda.to_device(b), 1)
    >>> d.copy_to_host()
    array([[0., 1., 0., 1.]], dtype=float32)
    """
    column, row = cuda.grid(2)
    if row < out.shape[0] and column < out.shape[1]:
        if (column // width) % 2 == 0:
            out[row, column] = image[row, column] / np.float32(2)
        else:
            out[row, column] = np.float32(1) - image[row, column]


def places_in_block(
    warp: Array, lane: Array, block: tuple[int, int] = (32, 8)
) -> tuple[Array, Array]:
    """The warp and the lane of each thread in blocks of `block` threads, (x, y)."""
    y, x = np.ogrid[: warp.shape[0], : warp.shape[1]]
    thread = x % block[0] + y % block[1] * block[0]
    return thread // 32, thread % 32


def striped(image: Array, out: Array, width: int) -> tuple[Array]:
    """The stripes, dark ones first."""
    dark = np.arange(image.shape[1]) // width % 2 == 0
    return (np.where(dark, image / 2, 1 - image),)


WARPS_AND_LANES = Specification(
    warps_and_lanes,
    places_in_block,
    grid=lambda warp, lane, block: blocks_along(warp.shape[::-1], block),
    block=(32, 8),
    outputs=(0, 1),
)
STRIPES = Specification(
    stripes,
    striped,
    grid=lambda image, out, width, block: blocks_along(image.shape[::-1], block),
    block=(32, 8),
    outputs=(1,),
)
