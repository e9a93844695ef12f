"""Threads of one block that exchange values: a stretch reversed, smoothed, summed.

All three kernels expect blocks of `BLOCK` threads, one for each element, and a grid that covers
the array. A block works on its own stretch of `BLOCK` elements; the last may be shorter.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gpulearn import cuda
from gpulearn.kernels.specification import Specification, blocks_along

__all__ = [
    "BLOCK",
    "BLOCK_SUM",
    "REVERSE_BLOCK",
    "SMOOTH_BLOCK",
    "TIMES",
    "block_sum",
    "reverse_block",
    "smooth_block",
]

BLOCK = 128  # threads in a block, and elements in a block's stretch; a power of two
TIMES = 3  # how often `smooth_block` smooths

Vector = np.ndarray[tuple[int], Any]


@cuda.jit
def reverse_block(a: Vector) -> None:
    """Reverse each stretch of `BLOCK` elements, in place.

    Every thread writes where another thread reads. Between the two stands one barrier: it
    lets nobody write before everybody has read.

    Args:
        a: float32 vector (n,); stretch b is a[b·BLOCK : (b + 1)·BLOCK].

    Launch: ceil(n / BLOCK) blocks of BLOCK threads.
    Cost: n reads and n writes, one barrier per block, no bank conflict.

    >>> a = cuda.to_device(np.arange(130, dtype=np.float32))
    >>> reverse_block[2, BLOCK](a)
    >>> a.copy_to_host()[[0, 127, 128, 129]].tolist()
    [127.0, 0.0, 129.0, 128.0]
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
def smooth_block(a: Vector, out: Vector) -> None:
    """Smooth each stretch of `BLOCK` elements `TIMES` times, without its neighbour stretches.

    Once means: each element becomes the mean of itself and of its two neighbours. The first and
    the last of a stretch lack one, and count themselves in its place.

    In each round every thread reads what others have written in the round before, and then
    replaces what others read: a barrier for each of the two.

    Args:
        a: float32 vector (n,).
        out: float32 vector (n,).

    Launch: ceil(n / BLOCK) blocks of BLOCK threads.
    Cost: n reads and n writes, two barriers for each round, no bank conflict.

    >>> out = cuda.to_device(np.zeros(5, np.float32))
    >>> smooth_block[1, BLOCK](cuda.to_device(np.array([0, 0, 27, 0, 0], np.float32)), out)
    >>> out.copy_to_host().tolist()
    [4.0, 6.0, 7.0, 6.0, 4.0]
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
def block_sum(a: Vector, out: Vector) -> None:
    """Sum each stretch of `BLOCK` elements: out[b] = Σ a[b·BLOCK : (b + 1)·BLOCK].

    The upper half of the values is added to the lower half until one value is left. Each
    round reads what other threads wrote in the round before, so a barrier stands before each
    round; none stands after the last, whose result is read by the thread that wrote it.

    Args:
        a: float32 vector (n,).
        out: float32 vector (ceil(n / BLOCK),), one sum for each block.

    Launch: ceil(n / BLOCK) blocks of BLOCK threads.
    Cost: n reads, log₂(BLOCK) barriers per block, no bank conflict.

    >>> out = cuda.to_device(np.zeros(2, np.float32))
    >>> block_sum[2, BLOCK](cuda.to_device(np.ones(130, np.float32)), out)
    >>> out.copy_to_host().tolist()
    [128.0, 2.0]
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


def reversed_stretches(a: Vector) -> tuple[Vector]:
    """What `reverse_block` must leave in `a`."""
    stretches = [a[s : s + BLOCK][::-1] for s in range(0, a.size, BLOCK)]
    return (np.concatenate(stretches),)


def smoothed_stretches(a: Vector, out: Vector) -> tuple[Vector]:
    """What `smooth_block` must leave in `out`, computed in float64."""
    stretches = [a[s : s + BLOCK].astype(np.float64) for s in range(0, a.size, BLOCK)]
    for _ in range(TIMES):
        wider = [np.pad(one, 1, mode="edge") for one in stretches]
        stretches = [(one[:-2] + one[1:-1] + one[2:]) / 3 for one in wider]
    return (np.concatenate(stretches).astype(a.dtype),)


def sums_of_stretches(a: Vector, out: Vector) -> tuple[Vector]:
    """What `block_sum` must leave in `out`, added in float64."""
    starts = np.arange(0, a.size, BLOCK)
    return (np.add.reduceat(a, starts, dtype=np.float64).astype(a.dtype),)


REVERSE_BLOCK = Specification(
    reverse_block,
    reversed_stretches,
    grid=lambda a, block: blocks_along(a.size, BLOCK),
    block=BLOCK,
    updated=(0,),
)
SMOOTH_BLOCK = Specification(
    smooth_block,
    smoothed_stretches,
    grid=lambda a, out, block: blocks_along(a.size, BLOCK),
    block=BLOCK,
    outputs=(1,),
)
BLOCK_SUM = Specification(
    block_sum,
    sums_of_stretches,
    grid=lambda a, out, block: out.size,
    block=BLOCK,
    outputs=(1,),
)
