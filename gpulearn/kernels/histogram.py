"""A histogram by many threads: counts[v] is how often the value v occurs.

`values` are n whole numbers from 0; `counts` is int32, a bin for each value, and holds zeros before
the launch.

Source: J. Gómez-Luna et al., "An optimized approach to histogram computation
on GPU", Machine Vision and Applications 24 (2013), which calls it replication.
"""

import numpy as np

from gpulearn import cuda
from gpulearn.kernels.reduction import few_blocks
from gpulearn.kernels.specification import Array, Specification

BINS = 256  # one for each value of a byte; what a block keeps in shared memory


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


HISTOGRAM_SHARED = Specification(
    histogram_shared,
    counted,
    grid=lambda values, counts, block: few_blocks(values.size, block),
    block=256,
    updated=(1,),
)
