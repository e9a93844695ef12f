"""A histogram by many threads: counts[v] is how often the value v occurs.

Every thread brings one value or more, and they must share the counts. First without any care
(wrong), then with an atomic update for each value, then with counts that each block keeps for
itself in shared memory and merges at the end. `values` are n whole numbers from 0; `counts` is
int32, a bin for each value, and holds zeros before the launch.

Source of the last form: J. Gómez-Luna et al., "An optimized approach to histogram computation
on GPU", Machine Vision and Applications 24 (2013), which calls it replication.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gpulearn import cuda
from gpulearn.kernels.indexing import blocks_over
from gpulearn.kernels.reduction import few_blocks
from gpulearn.kernels.specification import Array, Specification

BINS = 256  # one for each value of a byte; what a block keeps in shared memory


@cuda.jit
def histogram_racy(values: Array, counts: Array) -> None:
    """Count with a plain `+= 1`: wrong as soon as two threads meet in one bin.

    The update is a read, an addition and a write. A thread that reads before another has
    written loses that one's update. Launch: at least n threads.
    """
    i = cuda.grid(1)
    if i < values.size:
        counts[values[i]] += 1


@cuda.jit
def histogram_global(values: Array, counts: Array) -> None:
    """Count with one atomic update of global memory for each value.

    Launch: at least n threads. Costs n atomic updates of global memory; those that meet in
    one bin wait for each other.

    >>> counts = np.zeros(BINS, np.int32)
    >>> histogram_global[1, 32](np.array([7, 7, 9], np.uint8), counts)
    >>> counts[7:10]
    array([2, 0, 1], dtype=int32)
    """
    i = cuda.grid(1)
    if i < values.size:
        cuda.atomic.add(counts, values[i], 1)


@cuda.jit
def histogram_shared(values: Array, counts: Array) -> None:
    """Count in a private copy per block, in shared memory, and merge the copies.

    At most `BINS` bins. Launch: any grid and block, since the threads stride over the values and
    over the bins. Costs n atomic updates of shared memory, which are near, and bins × blocks of
    global memory: choose few blocks, so that each merges once for many values.

    >>> counts = np.zeros(10, np.int32)
    >>> histogram_shared[2, 32](np.arange(100) % 10, counts)
    >>> counts
    array([10, 10, 10, 10, 10, 10, 10, 10, 10, 10], dtype=int32)
    """
    private = cuda.shared.array(BINS, np.int32)
    first = cuda.threadIdx.x
    for b in range(first, counts.size, cuda.blockDim.x):
        private[b] = 0
    cuda.syncthreads()
    for i in range(cuda.grid(1), values.size, cuda.gridsize(1)):
        cuda.atomic.add(private, values[i], 1)
    cuda.syncthreads()
    for b in range(first, counts.size, cuda.blockDim.x):
        cuda.atomic.add(counts, b, private[b])


def counted(values: Array, counts: Array) -> tuple[Array]:
    """The counts, raised by how often each value occurs."""
    return (counts + np.bincount(values, minlength=counts.size).astype(counts.dtype),)


HISTOGRAM_GLOBAL = Specification(
    histogram_global, counted, grid=blocks_over(0), block=256, updated=(1,)
)
HISTOGRAM_RACY = replace(HISTOGRAM_GLOBAL, kernel=histogram_racy)  # where no two values are alike
HISTOGRAM_SHARED = replace(
    HISTOGRAM_GLOBAL,
    kernel=histogram_shared,
    grid=lambda values, counts, block: few_blocks(values.size, block),
)
