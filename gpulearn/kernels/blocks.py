"""Threads of one block that exchange values: a stretch reversed, smoothed, summed.

All three kernels take float32 vectors (n,) and are launched with ceil(n / BLOCK) blocks of `BLOCK`
threads, one for each element. A block works on its own stretch of `BLOCK` elements; the last may
be shorter. They read and write each element once, without bank conflicts.
"""

from dataclasses import replace
from functools import partial

import numpy as np

from gpulearn import cuda
from gpulearn.kernels.indexing import blocks_over
from gpulearn.kernels.reduction import BLOCK_SUMS_SEQUENTIAL, sums_of_stretches
from gpulearn.kernels.specification import Array, Specification

BLOCK = 128  # threads in a block, and elements in a block's stretch; a power of two
TIMES = 3  # how often `smooth_block` smooths


@cuda.jit
def reverse_block(a: Array) -> None:
    """Reverse each stretch of `BLOCK` elements, in place.

    Every thread writes where another thread reads: between the two stands one barrier.

    >>> a = np.arange(130, dtype=np.float32)
    >>> reverse_block[2, BLOCK](a)
    >>> a[[0, 127, 128, 129]]
    array([127.,   0., 129., 128.], dtype=float32)
    """
    stretch = cuda.shared.array(BLOCK, np.float32)
    t = cuda.threadIdx.x
    start = cuda.blockIdx.x * BLOCK
    length = min(BLOCK, a.size - start)
    if t < length:
        stretch[t] = a[start + t]
    cuda.syncthreads()
    if t < length:
        a[start + t] = stretch[length - 1 - t]


@cuda.jit
def smooth_block(a: Array, out: Array) -> None:
    """Smooth each stretch of `BLOCK` elements `TIMES` times, without its neighbor stretches.

    Once means: each element becomes the mean of itself and of its two neighbors. The first and
    the last of a stretch lack one, and count themselves in its place. A round has two barriers, one
    before its threads read, one before they write.

    >>> out = np.zeros(5, np.float32)
    >>> smooth_block[1, BLOCK](np.array([0, 0, 27, 0, 0], np.float32), out)
    >>> out
    array([4., 6., 7., 6., 4.], dtype=float32)
    """
    cells = cuda.shared.array(BLOCK, np.float32)
    t = cuda.threadIdx.x
    start = cuda.blockIdx.x * BLOCK
    last = min(BLOCK, a.size - start) - 1
    if t <= last:
        cells[t] = a[start + t]
    mean = np.float32(0)
    for _ in range(TIMES):
        cuda.syncthreads()
        if t <= last:
            left, right = cells[max(t - 1, 0)], cells[min(t + 1, last)]
            mean = (left + cells[t] + right) / np.float32(3)
        cuda.syncthreads()
        if t <= last:
            cells[t] = mean
    if t <= last:
        out[start + t] = mean


@cuda.jit
def block_sum(a: Array, out: Array) -> None:
    """Sum each stretch of `BLOCK` elements: out[b] = Σ a[b·BLOCK : (b + 1)·BLOCK].

    The upper half of the values is added to the lower half until one value is left, with a barrier
    before each round: log₂(BLOCK) barriers. `out` has one element for each block.

    >>> out = np.zeros(2, np.float32)
    >>> block_sum[2, BLOCK](np.ones(130, np.float32), out)
    >>> out
    array([128.,   2.], dtype=float32)
    """
    partial = cuda.shared.array(BLOCK, np.float32)
    t = cuda.threadIdx.x
    i = cuda.blockIdx.x * BLOCK + t
    # a thread without an element brings a zero, so that every cell of `partial` is written
    if i < a.size:
        partial[t] = a[i]
    else:
        partial[t] = 0
    half = BLOCK // 2
    while half > 0:
        cuda.syncthreads()
        if t < half:
            partial[t] += partial[t + half]
        half //= 2
    if t == 0:
        out[cuda.blockIdx.x] = partial[0]


def reversed_stretches(a: Array) -> tuple[Array]:
    """Each stretch from its end to its start."""
    return (np.concatenate([a[s : s + BLOCK][::-1] for s in range(0, a.size, BLOCK)]),)


def smoothed_stretches(a: Array, out: Array) -> tuple[Array]:
    """Each stretch smoothed `TIMES` times, in float64."""
    stretches = [a[s : s + BLOCK].astype(np.float64) for s in range(0, a.size, BLOCK)]
    for _ in range(TIMES):
        wider = [np.pad(stretch, 1, mode="edge") for stretch in stretches]
        stretches = [(cells[:-2] + cells[1:-1] + cells[2:]) / 3 for cells in wider]
    return (np.concatenate(stretches).astype(a.dtype),)


REVERSE_BLOCK = Specification(
    reverse_block, reversed_stretches, grid=blocks_over(0, BLOCK), block=BLOCK, updated=(0,)
)
SMOOTH_BLOCK = Specification(
    smooth_block, smoothed_stretches, grid=blocks_over(0, BLOCK), block=BLOCK, outputs=(1,)
)
BLOCK_SUM = replace(
    BLOCK_SUMS_SEQUENTIAL,
    kernel=block_sum,
    reference=partial(sums_of_stretches, block=BLOCK),
    block=BLOCK,
)
