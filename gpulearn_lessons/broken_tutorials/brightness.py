"""A histogram of brightness, in counts that each block keeps for itself."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gpulearn import cuda
from gpulearn.kernels.histogram import HISTOGRAM_SHARED, counted
from gpulearn.kernels.specification import Array

LEVELS = 16  # of brightness


@cuda.jit
def case_histogram(values: Array, counts: Array) -> None:
    """Count how many values lie in each of 16 levels between 0 and 1.

    A value v is in level ⌊16·v⌋, and 1 itself in the last. `values` is float32 (n,), from 0 to 1;
    `counts` is int32 (16,), zeros before the launch.

    Launch: any grid, blocks of at least 16 threads.
    Cost: n atomic updates of shared memory, and 16 of global memory for each block.

    >>> counts = np.zeros(16, np.int32)
    >>> case_histogram[2, 32](np.linspace(0, 1, 17, dtype=np.float32), counts)
    >>> counts
    array([1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2], dtype=int32)
    """
    own = cuda.shared.array(16, np.int32)
    t = cuda.threadIdx.x
    if t < 16:
        own[t] = 0
    cuda.syncthreads()
    for i in range(cuda.grid(1), values.size, cuda.gridsize(1)):
        level = min(int(values[i] * np.float32(16)), 15)
        cuda.atomic.add(own, level, 1)
    cuda.syncthreads()
    if t < 16:
        cuda.atomic.add(counts, t, own[t])


def levels(values: Array, counts: Array) -> tuple[Array]:
    """The counts, raised by how often each level occurs."""
    return counted(np.minimum((values * LEVELS).astype(int), LEVELS - 1), counts)


BRIGHTNESS = replace(HISTOGRAM_SHARED, kernel=case_histogram, reference=levels)
