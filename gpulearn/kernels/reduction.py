"""The sum of the values of each block, four ways; each keeps more lanes at useful work.

All kernels take float32 `values` (n,) and `sums`, with one element for each block. The four
`block_sums` are launched alike: blocks of at most `THREADS` threads, a power of two, one value for
each thread. They differ in who adds what to whom. Where a thread has no value it brings 0, so that
nobody leaves before a barrier. Applied twice, such a kernel sums up to `THREADS`² values;
`grid_sum` has other ways.

Source of the ladder: M. Harris, "Optimizing Parallel Reduction in CUDA" (NVIDIA, 2007).
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from gpulearn import cuda
from gpulearn.kernels.indexing import blocks_over
from gpulearn.kernels.specification import Array, Specification

WARP = 32  # lanes of a warp
THREADS = 256  # the most threads of a block; what is reserved in shared memory
FULL_WARP = 0xFFFFFFFF  # the mask of a shuffle in which all 32 lanes take part


@cuda.jit
def block_sums_interleaved(values: Array, sums: Array) -> None:
    """In round r every 2ʳ⁺¹-th thread adds its neighbor's sum to its own.

    >>> sums = np.zeros(2, np.float32)
    >>> block_sums_interleaved[2, 4](np.arange(8, dtype=np.float32), sums)
    >>> sums
    array([ 6., 22.], dtype=float32)
    """
    s = cuda.shared.array(THREADS, np.float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    s[t] = values[i] if i < values.size else np.float32(0)
    cuda.syncthreads()
    step = 1
    while step < cuda.blockDim.x:
        if t % (2 * step) == 0:
            s[t] += s[t + step]
        cuda.syncthreads()
        step *= 2
    if t == 0:
        sums[cuda.blockIdx.x] = s[0]


@cuda.jit
def block_sums_packed(values: Array, sums: Array) -> None:
    """The same tree, its additions given to the first threads: whole warps idle, banks collide."""
    s = cuda.shared.array(THREADS, np.float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    s[t] = values[i] if i < values.size else np.float32(0)
    cuda.syncthreads()
    step = 1
    while step < cuda.blockDim.x:
        place = 2 * step * t
        if place < cuda.blockDim.x:
            s[place] += s[place + step]
        cuda.syncthreads()
        step *= 2
    if t == 0:
        sums[cuda.blockIdx.x] = s[0]


@cuda.jit
def block_sums_sequential(values: Array, sums: Array) -> None:
    """In each round the first half of the sums takes the second half on: no bank conflict."""
    s = cuda.shared.array(THREADS, np.float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    s[t] = values[i] if i < values.size else np.float32(0)
    cuda.syncthreads()
    step = cuda.blockDim.x // 2
    while step > 0:
        if t < step:
            s[t] += s[t + step]
        cuda.syncthreads()
        step //= 2
    if t == 0:
        sums[cuda.blockIdx.x] = s[0]


@cuda.jit
def block_sums_shuffle(values: Array, sums: Array) -> None:
    """Each warp sums by shuffles, from register to register; one warp sums the warps' sums.

    Blocks of whole warps, at most 32 of them. One barrier is all that is left of the tree.

    >>> sums = np.zeros(2, np.float32)
    >>> block_sums_shuffle[2, 64](np.ones(100, np.float32), sums)
    >>> sums
    array([64., 36.], dtype=float32)
    """
    warp_sums = cuda.shared.array(WARP, np.float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    total = values[i] if i < values.size else np.float32(0)
    for step in (16, 8, 4, 2, 1):
        total += cuda.shfl_down_sync(FULL_WARP, total, step)
    if t % WARP == 0:
        warp_sums[t // WARP] = total
    cuda.syncthreads()
    if t < WARP:
        total = warp_sums[t] if t < cuda.blockDim.x // WARP else np.float32(0)
        for step in (16, 8, 4, 2, 1):
            total += cuda.shfl_down_sync(FULL_WARP, total, step)
        if t == 0:
            sums[cuda.blockIdx.x] = total


@cuda.jit
def sum_blocks(values: Array, sums: Array) -> None:
    """As `block_sums_sequential`, but each thread may have several values.

    Launch: any grid; blocks of at most `THREADS` threads, a power of two; n may be 0. Each thread
    first adds up the values that lie one grid apart, with no barrier; the tree comes once.

    >>> sums = np.zeros(2, np.float32)
    >>> sum_blocks[2, 32](np.ones(1000, np.float32), sums)
    >>> sums.sum()
    np.float32(1000.0)
    """
    s = cuda.shared.array(THREADS, np.float32)
    t = cuda.threadIdx.x
    total = np.float32(0)
    for i in range(cuda.grid(1), values.size, cuda.gridsize(1)):
        total += values[i]
    s[t] = total
    cuda.syncthreads()
    step = cuda.blockDim.x // 2
    while step > 0:
        if t < step:
            s[t] += s[t + step]
        cuda.syncthreads()
        step //= 2
    if t == 0:
        sums[cuda.blockIdx.x] = s[0]


@cuda.jit
def warp_sum(values: Array, sums: Array) -> None:
    """The sum of every 32 neighboring values, with nothing but shuffles; `sums` is (⌈n / 32⌉,).

    Launch: at least n threads; blocks of whole warps. No shared memory, no barrier.

    >>> sums = np.zeros(2, np.float32)
    >>> warp_sum[1, 64](np.ones(40, np.float32), sums)
    >>> sums
    array([32.,  8.], dtype=float32)
    """
    i = cuda.grid(1)
    total = np.float32(0)
    if i < values.size:
        total = values[i]
    for step in (16, 8, 4, 2, 1):
        total += cuda.shfl_down_sync(FULL_WARP, total, step)
    if i % WARP == 0 and i < values.size:
        sums[i // WARP] = total


def sums_of_stretches(values: Array, sums: Array, block: int = THREADS) -> tuple[Array]:
    """The sum of each `block` neighboring values, added in float64."""
    starts = np.arange(0, values.size, block)
    return (np.add.reduceat(values, starts, dtype=np.float64).astype(values.dtype),)


def sums_in_rounds(values: Array, sums: Array, block: int = THREADS) -> tuple[Array]:
    """Each block's sum of `block` neighbors and of those one grid further on, in float64."""
    padded = np.pad(values, (0, -values.size % (sums.size * block)))
    total = padded.reshape(-1, sums.size, block).sum(axis=(0, 2), dtype=np.float64)
    return (total.astype(values.dtype),)


def few_blocks(elements: int, block: int) -> int:
    """The blocks of a loop over the grid: eight elements for each thread, and at most 1,056 blocks.

    Those are eight for each of the 132 multiprocessors of an H100.
    """
    return min(-(-elements // (8 * block)), 8 * 132)


BLOCK_SUMS_INTERLEAVED = Specification(
    block_sums_interleaved,
    sums_of_stretches,
    grid=lambda values, sums, *others, block: sums.size,
    block=THREADS,
    outputs=(1,),
)
BLOCK_SUMS_PACKED = replace(BLOCK_SUMS_INTERLEAVED, kernel=block_sums_packed)
BLOCK_SUMS_SEQUENTIAL = replace(BLOCK_SUMS_INTERLEAVED, kernel=block_sums_sequential)
BLOCK_SUMS_SHUFFLE = replace(BLOCK_SUMS_INTERLEAVED, kernel=block_sums_shuffle)
SUM_BLOCKS = replace(BLOCK_SUMS_INTERLEAVED, kernel=sum_blocks, reference=sums_in_rounds)
WARP_SUM = Specification(
    warp_sum,
    partial(sums_of_stretches, block=WARP),
    grid=blocks_over(0),
    block=THREADS,
    outputs=(1,),
)
