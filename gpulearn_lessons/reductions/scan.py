"""Running sums by many threads.

An *inclusive* scan gives out[i] = values[0] + … + values[i], an *exclusive* one leaves
values[i] itself out. Hillis and Steele take log₂ n rounds of up to n additions each; Blelloch
takes twice as many rounds and fewer than 2·n additions in all. Beyond one block, each block is
scanned, then the blocks' totals, and then each block adds what came before it. All arrays are
int32; `values` and `out` have shape (n,). Where one block scans, n ≤ `SCAN_THREADS`.

Sources: W. D. Hillis, G. L. Steele, "Data parallel algorithms", CACM 29 (1986);
G. E. Blelloch, "Prefix sums and their applications" (CMU-CS-90-190, 1990).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gpulearn import cuda
from gpulearn.kernels.indexing import blocks_over
from gpulearn.kernels.specification import Array, Specification

SCAN_THREADS = 256  # the most threads of a block; what is reserved in shared memory


@cuda.jit
def scan_hillis_steele(values: Array, out: Array) -> None:
    """Inclusive scan of one block: in each round a thread adds the value `step` before it.

    Launch: one block of n threads. Takes ⌈log₂ n⌉ rounds with two barriers each: everybody has
    read before anybody writes, and has written before anybody reads again.

    >>> out = np.zeros(5, np.int32)
    >>> scan_hillis_steele[1, 5](np.array([1, 2, 3, 4, 5], np.int32), out)
    >>> out
    array([ 1,  3,  6, 10, 15], dtype=int32)
    """
    s = cuda.shared.array(SCAN_THREADS, np.int32)
    t = cuda.threadIdx.x
    s[t] = values[t]
    cuda.syncthreads()
    step = 1
    while step < cuda.blockDim.x:
        before = s[t - step] if t >= step else np.int32(0)
        cuda.syncthreads()
        s[t] += before
        cuda.syncthreads()
        step *= 2
    out[t] = s[t]


@cuda.jit
def scan_blelloch(values: Array, out: Array) -> None:
    """Exclusive scan of one block: sums go up a tree, what lies to the left comes down it.

    Launch: one block of n threads, a power of two. Makes n − 1 additions on the way up and as many
    on the way down; words 2·step apart share banks.

    >>> out = np.zeros(4, np.int32)
    >>> scan_blelloch[1, 4](np.array([1, 2, 3, 4], np.int32), out)
    >>> out
    array([0, 1, 3, 6], dtype=int32)
    """
    s = cuda.shared.array(SCAN_THREADS, np.int32)
    t = cuda.threadIdx.x
    n = cuda.blockDim.x
    s[t] = values[t]
    cuda.syncthreads()
    step = 1
    while step < n:  # up: each node of the tree holds the sum of what hangs below it
        right = 2 * step * (t + 1) - 1
        if right < n:
            s[right] += s[right - step]
        cuda.syncthreads()
        step *= 2
    if t == 0:
        s[n - 1] = 0  # nothing lies to the left of the root
    cuda.syncthreads()
    while step > 1:  # down: left child gets its parent's, right child that and the left sum
        step //= 2
        right = 2 * step * (t + 1) - 1
        if right < n:
            left_sum = s[right - step]
            s[right - step] = s[right]
            s[right] += left_sum
        cuda.syncthreads()
    out[t] = s[t]


@cuda.jit
def exclusive_scan(values: Array, out: Array) -> None:
    """Exclusive scan of one block for any number of values: the rounds of Hillis and Steele.

    Launch: one block of at least n and at most `SCAN_THREADS` threads. A thread starts with
    the value before its own, so that the inclusive scan of those is the exclusive one.

    >>> out = np.zeros(3, np.int32)
    >>> exclusive_scan[1, 32](np.array([5, 2, 4], np.int32), out)
    >>> out
    array([0, 5, 7], dtype=int32)
    """
    s = cuda.shared.array(SCAN_THREADS, np.int32)
    t = cuda.threadIdx.x
    s[t] = values[t - 1] if 0 < t <= values.size else 0
    cuda.syncthreads()
    step = 1
    while step < cuda.blockDim.x:
        before = s[t - step] if t >= step else 0
        cuda.syncthreads()
        s[t] += before
        cuda.syncthreads()
        step *= 2
    if t < out.size:
        out[t] = s[t]


@cuda.jit
def scan_blocks(values: Array, out: Array, totals: Array) -> None:
    """Exclusive scan of each block for itself, and the total of each block.

    Launch: at least n threads; blocks of at most `SCAN_THREADS`.

    >>> out, totals = np.zeros(6, np.int32), np.zeros(2, np.int32)
    >>> scan_blocks[2, 4](np.array([1, 2, 3, 4, 5, 6], np.int32), out, totals)
    >>> out, totals
    (array([0, 1, 3, 6, 0, 5], dtype=int32), array([10, 11], dtype=int32))
    """
    s = cuda.shared.array(SCAN_THREADS, np.int32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    mine = values[i] if i < values.size else 0
    s[t] = mine
    cuda.syncthreads()
    step = 1
    while step < cuda.blockDim.x:
        before = s[t - step] if t >= step else 0
        cuda.syncthreads()
        s[t] += before
        cuda.syncthreads()
        step *= 2
    if i < out.size:
        out[i] = s[t] - mine
    if t == cuda.blockDim.x - 1:
        totals[cuda.blockIdx.x] = s[t]


@cuda.jit
def add_offsets(out: Array, offsets: Array) -> None:
    """Add to each element what the blocks before its own have summed up: offsets[b] in block b.

    Launch: the grid and block of `scan_blocks`; `offsets` is the exclusive scan of its totals.

    >>> out = np.array([0, 1, 3, 6, 0, 5], np.int32)
    >>> add_offsets[2, 4](out, np.array([0, 10], np.int32))
    >>> out
    array([ 0,  1,  3,  6, 10, 15], dtype=int32)
    """
    i = cuda.grid(1)
    if i < out.size:
        out[i] += offsets[cuda.blockIdx.x]


def inclusive_sums(values: Array, out: Array) -> tuple[Array]:
    """out[i] = values[0] + … + values[i]."""
    return (np.cumsum(values, dtype=values.dtype),)


def exclusive_sums(values: Array, out: Array) -> tuple[Array]:
    """out[i] = values[0] + … + values[i - 1]."""
    return (np.cumsum(values, dtype=values.dtype) - values,)


def sums_of_each_block(
    values: Array, out: Array, totals: Array, block: int = SCAN_THREADS
) -> tuple[Array, Array]:
    """The exclusive sums of each `block` neighbours, and their totals."""
    rows = np.pad(values, (0, -values.size % block)).reshape(-1, block)
    running = np.cumsum(rows, axis=1, dtype=values.dtype)
    return (running - rows).ravel()[: values.size], running[:, -1]


def raised(out: Array, offsets: Array, block: int = SCAN_THREADS) -> tuple[Array]:
    """Each `block` neighbours and the offset of their block."""
    return (out + np.repeat(offsets, block)[: out.size],)


SCAN_HILLIS_STEELE = Specification(
    scan_hillis_steele,
    inclusive_sums,
    grid=lambda values, out, block: 1,
    block=SCAN_THREADS,
    outputs=(1,),
)
SCAN_BLELLOCH = replace(SCAN_HILLIS_STEELE, kernel=scan_blelloch, reference=exclusive_sums)
EXCLUSIVE_SCAN = replace(SCAN_BLELLOCH, kernel=exclusive_scan)
SCAN_BLOCKS = replace(
    SCAN_HILLIS_STEELE,
    kernel=scan_blocks,
    reference=sums_of_each_block,
    grid=blocks_over(0),
    outputs=(1, 2),
)
ADD_OFFSETS = Specification(
    add_offsets, raised, grid=blocks_over(0), block=SCAN_THREADS, updated=(0,)
)
