"""Compaction: the values that are wanted, stored side by side, warp by warp.

Each lane of a warp votes, and all lanes get the 32 votes as the bits of one number. A lane that
counts the votes of the lanes below it knows its place, with no counter that threads would queue
for.

Source: M. Harris, M. Garland, "Optimizing parallel prefix operations for the Fermi architecture",
GPU Computing Gems, Jade Edition (2011), which calls it a binary scan by ballot.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gpulearn import cuda
from gpulearn.kernels.indexing import blocks_over
from gpulearn.kernels.reduction import FULL_WARP, WARP
from gpulearn.kernels.specification import Array, Specification


@cuda.jit
def compact_warps(values: Array, limit: Any, kept: Array, counts: Array) -> None:
    """Store what is above a limit at the front of each 32 places, in order, and count it.

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
