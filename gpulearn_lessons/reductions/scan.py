"""Running sums by one block, in rounds.

An *exclusive* scan gives out[i] = values[0] + … + values[i - 1]; an *inclusive* one adds values[i].
`values` and `out` are int32 (n,), n ≤ `SCAN_THREADS`.

Source: W. D. Hillis, G. L. Steele, "Data parallel algorithms", CACM 29 (1986).
"""

from __future__ import annotations

import numpy as np

from gpulearn import cuda
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
