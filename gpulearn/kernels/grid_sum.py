"""One sum over all blocks: what a single launch can do about it.

A barrier holds for one block only, so no block knows when the others have finished, which two
launches of `reduction.sum_blocks` need not know. `values` is float32 (n,), `total` is (1,), and
`sums` has an element for each block.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gpulearn import cuda
from gpulearn.kernels.reduction import (
    FULL_WARP,
    SUM_BLOCKS,
    THREADS,
    WARP,
    few_blocks,
    sums_in_rounds,
)
from gpulearn.kernels.specification import Array, Specification


@cuda.jit
def grid_sum_atomic(values: Array, total: Array) -> None:
    """Each block sums its part; its first thread adds that to the total, atomically.

    `total` holds 0 before the launch. Launch: any grid; blocks of at most `THREADS` threads, a
    power of two. Blocks end in no fixed order, so the rounding of a float sum may change from run
    to run.

    >>> total = np.zeros(1, np.float32)
    >>> grid_sum_atomic[4, 32](np.ones(1000, np.float32), total)
    >>> total
    array([1000.], dtype=float32)
    """
    s = cuda.shared.array(THREADS, np.float32)
    t = cuda.threadIdx.x
    mine = np.float32(0)
    for i in range(cuda.grid(1), values.size, cuda.gridsize(1)):
        mine += values[i]
    s[t] = mine
    cuda.syncthreads()
    step = cuda.blockDim.x // 2
    while step > 0:
        if t < step:
            s[t] += s[t + step]
        cuda.syncthreads()
        step //= 2
    if t == 0:
        cuda.atomic.add(total, 0, s[0])


@cuda.jit
def grid_sum_cooperative(values: Array, sums: Array, total: Array) -> None:
    """Each block sums its part; all blocks wait for each other; block 0 adds the sums up.

    Launch: blocks of `THREADS` threads or fewer, a power of two, at most `THREADS` of them, and no
    more than the GPU holds at once (`.max_cooperative_grid_blocks` of the compiled kernel): those
    that wait never make room for one that has not begun.
    """
    s = cuda.shared.array(THREADS, np.float32)
    t = cuda.threadIdx.x
    everybody = cuda.cg.this_grid()
    mine = np.float32(0)
    for i in range(cuda.grid(1), values.size, cuda.gridsize(1)):
        mine += values[i]
    s[t] = mine
    cuda.syncthreads()
    step = cuda.blockDim.x // 2
    while step > 0:
        if t < step:
            s[t] += s[t + step]
        cuda.syncthreads()
        step //= 2
    if t == 0:
        sums[cuda.blockIdx.x] = s[0]
    everybody.sync()
    if cuda.grid(1) == 0:
        mine = np.float32(0)
        for b in range(sums.size):
            mine += sums[b]
        total[0] = mine


@cuda.jit
def grid_sum_last(values: Array, sums: Array, ticket: Array, total: Array) -> None:
    """Each block stores its sum and draws a ticket; the block with the last one adds up the sums.

    A fence separates a block's sum from its ticket: a block that sees the ticket sees the sum. The
    second fence keeps the last block from reading sums before it has its ticket. `ticket` is int32
    (1,); it holds 0 before the launch, and again after it.

    Launch: blocks of one warp, 32 threads. The pattern is that of the sample
    "threadFenceReduction" of the CUDA toolkit.

    >>> total, ticket = np.zeros(1, np.float32), np.zeros(1, np.int32)
    >>> grid_sum_last[4, 32](np.ones(1000, np.float32), np.zeros(4, np.float32), ticket, total)
    >>> total, ticket
    (array([1000.], dtype=float32), array([0], dtype=int32))
    """
    part = np.float32(0)
    for i in range(cuda.grid(1), values.size, cuda.gridsize(1)):
        part += values[i]
    for step in (16, 8, 4, 2, 1):
        part += cuda.shfl_down_sync(FULL_WARP, part, step)
    if cuda.threadIdx.x == 0:
        sums[cuda.blockIdx.x] = part
        cuda.threadfence()
        if cuda.atomic.add(ticket, 0, 1) == cuda.gridDim.x - 1:
            cuda.threadfence()
            whole = np.float32(0)
            for b in range(cuda.gridDim.x):
                whole += sums[b]
            total[0] = whole
            cuda.atomic.exch(ticket, 0, 0)


def raised_total(values: Array, total: Array) -> tuple[Array]:
    """The total, raised by all values, added in float64."""
    return ((total + values.sum(dtype=np.float64)).astype(total.dtype),)


def sums_and_total(values: Array, sums: Array, total: Array) -> tuple[Array, Array]:
    """The sum of each block and that of all values, added in float64."""
    return *sums_in_rounds(values, sums), *raised_total(values, np.zeros_like(total))


GRID_SUM_ATOMIC = Specification(
    grid_sum_atomic,
    raised_total,
    grid=lambda values, total, block: few_blocks(values.size, block),
    block=THREADS,
    updated=(1,),
)
GRID_SUM_COOPERATIVE = replace(
    SUM_BLOCKS, kernel=grid_sum_cooperative, reference=sums_and_total, outputs=(1, 2)
)
GRID_SUM_LAST = replace(
    SUM_BLOCKS,
    kernel=grid_sum_last,
    reference=lambda values, sums, ticket, total: (
        sums_in_rounds(values, sums, WARP)[0],
        np.zeros_like(ticket),
        raised_total(values, np.zeros_like(total))[0],
    ),
    block=WARP,
    outputs=(1, 3),
    updated=(2,),
)
