"""1-D stencils: each output is made of neighboring inputs, read alone or shared."""

from dataclasses import replace

import numpy as np

from gpulearn import cuda
from gpulearn.kernels.blocks import BLOCK
from gpulearn.kernels.indexing import blocks_over
from gpulearn.kernels.specification import Array, Specification

RADIUS = 3  # neighbors on each side
WINDOW = BLOCK + 2 * RADIUS  # inputs that a block's outputs need: its stretch and both halos


@cuda.jit
def stencil_1d_naive(a: Array, out: Array) -> None:
    """Add up each element and its `RADIUS` neighbors on both sides; beyond the ends is zero.

    out[i] = Σ a[i + k] for k = −RADIUS … RADIUS, both float32 (n,).

    Launch: ceil(n / BLOCK) blocks of BLOCK threads.
    Cost: 2·RADIUS + 1 reads of global memory for each output.

    >>> a, out = np.ones((2, 6), np.float32)
    >>> stencil_1d_naive[1, BLOCK](a, out)
    >>> out
    array([4., 5., 6., 6., 5., 4.], dtype=float32)
    """
    i = cuda.grid(1)
    if i < out.size:
        total = np.float32(0)
        for k in range(-RADIUS, RADIUS + 1):
            if 0 <= i + k < a.size:
                total += a[i + k]
        out[i] = total


@cuda.jit
def stencil_1d(a: Array, out: Array) -> None:
    """As `stencil_1d_naive`; each block brings what it needs to shared memory first.

    The window of a block is its stretch with RADIUS more elements on each side: its halo.
    There are more cells than threads, so that some threads load a second one.
    Cost: (BLOCK + 2·RADIUS) / BLOCK reads of global memory for each output, one barrier.
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


def sums_of_neighbors(a: Array, out: Array) -> tuple[Array]:
    """Each element and its neighbors, added in float64."""
    padded = np.pad(a.astype(np.float64), RADIUS)
    total = np.zeros(a.size)
    for k in range(2 * RADIUS + 1):
        total += padded[k : k + a.size]
    return (total.astype(a.dtype),)


STENCIL_1D_NAIVE = Specification(
    stencil_1d_naive, sums_of_neighbors, grid=blocks_over(0, BLOCK), block=BLOCK, outputs=(1,)
)
STENCIL_1D = replace(STENCIL_1D_NAIVE, kernel=stencil_1d)
