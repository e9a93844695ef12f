"""1-D stencils: each output is made of neighbouring inputs, read alone or shared."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from gpulearn import cuda
from gpulearn.kernels.blocks import BLOCK
from gpulearn.kernels.specification import Specification, blocks_along

__all__ = [
    "CELLS",
    "EDGES",
    "RADIUS",
    "STENCIL_1D",
    "STENCIL_1D_NAIVE",
    "WINDOW",
    "edges",
    "stencil_1d",
    "stencil_1d_naive",
]

CELLS = BLOCK + 1  # pixels that a block of `edges` needs: its own, and the next one
RADIUS = 3  # neighbours on each side
WINDOW = BLOCK + 2 * RADIUS  # inputs that a block's outputs need: its stretch and both halos

Vector = np.ndarray[tuple[int], Any]
Matrix = np.ndarray[tuple[int, int], Any]


@cuda.jit
def edges(image: Matrix, out: Matrix) -> None:
    """Find edges: the size of the difference between each pixel and its right neighbour.

    A block brings its pixels and a halo of one to shared memory.

    Args:
        image: float32 (rows, columns).
        out: float32 (rows, columns − 1).

    Launch: blocks of BLOCK threads in a grid of (ceil(columns / BLOCK), rows).
    Cost: (BLOCK + 1) / BLOCK reads of global memory for each pixel, one barrier.

    >>> image = cuda.to_device(np.array([[1, 4, 2]], np.float32))
    >>> out = cuda.to_device(np.zeros((1, 2), np.float32))
    >>> edges[(1, 1), BLOCK](image, out)
    >>> out.copy_to_host().tolist()
    [[3.0, 2.0]]
    """
    window = cuda.shared.array(CELLS, np.float32)
    t, row = cuda.threadIdx.x, cuda.blockIdx.y
    start = cuda.blockIdx.x * BLOCK
    for cell in range(t, CELLS, BLOCK):
        if start + cell < image.shape[1]:
            window[cell] = image[row, start + cell]
    cuda.syncthreads()
    if start + t < out.shape[1]:
        out[row, start + t] = abs(window[t + 1] - window[t])


@cuda.jit
def stencil_1d_naive(a: Vector, out: Vector) -> None:
    """Add up each element and its `RADIUS` neighbours on both sides; beyond the ends is zero.

    Args:
        a: float32 vector (n,).
        out: float32 vector (n,); out[i] = Σ a[i + k] for k = −RADIUS … RADIUS.

    Launch: ceil(n / BLOCK) blocks of BLOCK threads.
    Cost: 2·RADIUS + 1 reads of global memory for each output.

    >>> out = cuda.to_device(np.zeros(6, np.float32))
    >>> stencil_1d_naive[1, BLOCK](cuda.to_device(np.ones(6, np.float32)), out)
    >>> out.copy_to_host().tolist()
    [4.0, 5.0, 6.0, 6.0, 5.0, 4.0]
    """
    i = cuda.grid(1)
    if i < out.size:
        total = np.float32(0)
        for k in range(-RADIUS, RADIUS + 1):
            if 0 <= i + k < a.size:
                total += a[i + k]
        out[i] = total


@cuda.jit
def stencil_1d(a: Vector, out: Vector) -> None:
    """As `stencil_1d_naive`; each block brings what it needs to shared memory first.

    The window of a block is its stretch with RADIUS more elements on each side: its halo.
    There are more cells than threads, so that some threads load a second one.

    Args:
        a: float32 vector (n,).
        out: float32 vector (n,).

    Launch: ceil(n / BLOCK) blocks of BLOCK threads.
    Cost: (BLOCK + 2·RADIUS) / BLOCK reads of global memory for each output, one barrier.

    >>> out = cuda.to_device(np.zeros(6, np.float32))
    >>> stencil_1d[1, BLOCK](cuda.to_device(np.ones(6, np.float32)), out)
    >>> out.copy_to_host().tolist()
    [4.0, 5.0, 6.0, 6.0, 5.0, 4.0]
    """
    window = cuda.shared.array(WINDOW, np.float32)
    t = cuda.threadIdx.x
    start = cuda.blockIdx.x * BLOCK
    for cell in range(t, WINDOW, BLOCK):
        i = start + cell - RADIUS
        if 0 <= i < a.size:
            window[cell] = a[i]
        else:
            window[cell] = 0
    cuda.syncthreads()
    if start + t < out.size:
        total = np.float32(0)
        for k in range(2 * RADIUS + 1):
            total += window[t + k]
        out[start + t] = total


def differences(image: Matrix, out: Matrix) -> tuple[Matrix]:
    """What `edges` must leave in `out`."""
    return (np.abs(np.diff(image, axis=1)),)


def sums_of_neighbours(a: Vector, out: Vector) -> tuple[Vector]:
    """What both stencils must leave in `out`, added in float64."""
    padded = np.pad(a.astype(np.float64), RADIUS)
    total = np.zeros(a.size)
    for k in range(2 * RADIUS + 1):
        total += padded[k : k + a.size]
    return (total.astype(a.dtype),)


EDGES = Specification(
    edges,
    differences,
    grid=lambda image, out, block: (blocks_along(image.shape[1], BLOCK), image.shape[0]),
    block=BLOCK,
    outputs=(1,),
)
STENCIL_1D_NAIVE = Specification(
    stencil_1d_naive,
    sums_of_neighbours,
    grid=lambda a, out, block: blocks_along(a.size, BLOCK),
    block=BLOCK,
    outputs=(1,),
)
STENCIL_1D = replace(STENCIL_1D_NAIVE, kernel=stencil_1d)
