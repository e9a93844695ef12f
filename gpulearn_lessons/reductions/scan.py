"""Running sums by one block, in rounds; and what is wanted, stored side by side by each warp.

An *exclusive* scan gives out[i] = values[0] + … + values[i - 1]; an *inclusive* one adds values[i].
Here `values` and `out` are int32 (n,), n ≤ `SCAN_THREADS`.

Source: W. D. Hillis, G. L. Steele, "Data parallel algorithms", CACM 29 (1986).
"""

from typing import Any

import numpy as np

from gpulearn import cuda
from gpulearn.kernels.indexing import blocks_over
from gpulearn.kernels.reduction import FULL_WARP, WARP
from gpulearn.kernels.specification import Array, Specification

SCAN_THREADS = 256  # the most threads of a block; what is reserved in shared memory


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


def exclusive_sums(values: Array, out: Array) -> tuple[Array]:
    """out[i] = values[0] + … + values[i - 1]."""
    return (np.cumsum(values, dtype=values.dtype) - values,)


EXCLUSIVE_SCAN = Specification(
    exclusive_scan,
    exclusive_sums,
    grid=lambda values, out, block: 1,
    block=SCAN_THREADS,
    outputs=(1,),
)


@cuda.jit
def compact_warps(values: Array, limit: Any, kept: Array, counts: Array) -> None:
    """Store what is above a limit at the front of each 32 places, in order, and count it.

    Each lane of a warp votes, and all lanes get the 32 votes as the bits of one number. A lane that
    counts the votes of the lanes below it knows its place, with no counter that threads would queue
    for: a binary scan by ballot. Source: M. Harris, M. Garland, "Optimizing parallel prefix
    operations for the Fermi architecture", GPU Computing Gems, Jade Edition (2011).

    Warp w keeps those of its float32 `values` (n,) that are above `limit`, from kept[32·w] on, and
    their number in counts[w]: `kept` is float32 (n,) and holds zeros before the launch, `counts` is
    int32 (ceil(n / 32),).

    Launch: at least n threads; blocks of whole warps. Reads each value once or twice, and needs
    neither shared memory nor an atomic.

    >>> kept, counts = np.zeros(6, np.float32), np.zeros(1, np.int32)
    >>> compact_warps[1, 32](np.array([3, 9, 1, 7, 8, 2], np.float32), 5, kept, counts)
    >>> kept, counts
    (array([9., 7., 8., 0., 0., 0.], dtype=float32), array([3], dtype=int32))
    """
    i = cuda.grid(1)
    lane = cuda.laneid
    wanted = i < values.size and values[i] > limit
    votes = cuda.ballot_sync(FULL_WARP, wanted)
    before = cuda.popc(votes & ((1 << lane) - 1))
    if wanted:
        kept[i - lane + before] = values[i]
    if lane == 0 and i < values.size:
        counts[i // WARP] = cuda.popc(votes)


def compacted(values: Array, limit: Any, kept: Array, counts: Array) -> tuple[Array, Array]:
    """What each 32 values leave in `kept` and in `counts`."""
    kept, counts = np.zeros_like(kept), np.zeros_like(counts)
    for warp, first in enumerate(range(0, values.size, WARP)):
        part = values[first : first + WARP]
        above = part[part > limit]
        kept[first : first + above.size] = above
        counts[warp] = above.size
    return kept, counts


COMPACT_WARPS = Specification(
    compact_warps, compacted, grid=blocks_over(0), block=128, outputs=(3,), updated=(2,)
)
