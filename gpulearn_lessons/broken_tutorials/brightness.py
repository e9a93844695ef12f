"""A histogram of brightness, in counts that each block keeps for itself."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpulearn import cuda
from gpulearn.kernels.reduction import few_blocks
from gpulearn.kernels.specification import Specification

__all__ = ["BRIGHTNESS", "LEVELS", "case_histogram"]

LEVELS = 16  # of brightness
Vector = np.ndarray[tuple[int], Any]


@cuda.jit
def case_histogram(values: Vector, counts: Vector) -> None:
    """Count how many values lie in each of 16 levels between 0 and 1.

    A value v is in level ⌊16·v⌋, and 1 itself in the last.

    Args:
        values: float32 (n,), from 0 to 1.
        counts: int32 (16,); must hold zeros before the launch.

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


def levels(values: Vector, counts: Vector) -> tuple[Vector]:
    """The counts, raised by how often each level occurs."""
    found = np.minimum((values * LEVELS).astype(int), LEVELS - 1)
    return (counts + np.bincount(found, minlength=LEVELS).astype(counts.dtype),)


BRIGHTNESS = Specification(
    case_histogram,
    levels,
    grid=lambda values, counts, block: few_blocks(values.size, block),
    block=256,
    updated=(1,),
)
