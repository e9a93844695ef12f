"""Notebook 07: sums by every plan."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from gpulearn import cuda
from gpulearn.kernels import reduction
from gpulearn.kernels.grid_sum import grid_sum_atomic, grid_sum_cooperative
from gpulearn.perf.recordings import Recording, recorded_here
from gpulearn.plot.recorders.measuring import kernels_on, timed_launch

VALUES = 2**26  # float32: 256 MB, several times a cache
LIVE_VALUES = 2**24
THREADS = 256
BLOCKS = 1024  # where threads stride; a cooperative launch has fewer
TOGETHER = 128  # blocks that any GPU of the course holds at once

TREES = {
    "interleaved": reduction.block_sums_interleaved,
    "packed": reduction.block_sums_packed,
    "sequential": reduction.block_sums_sequential,
    "shuffle": reduction.block_sums_shuffle,
    "warps alone": reduction.warp_sum,
}


def record_reductions(n: int = VALUES) -> Recording:
    """Time every plan of notebook 07 to add n numbers up, a multiple of 256.

    The rows have `n`, `kernel`, `bytes` (what must be read and written at least) and `seconds`.
    """
    return recorded_here("reductions", _sums(n), kernels_on())


def _sums(n: int) -> Iterator[dict[str, Any]]:
    values = np.random.default_rng(7).random(n, np.float32)
    there = cuda.to_device(values)
    blocks = n // THREADS
    few, together = min(BLOCKS, blocks), min(TOGETHER, blocks)
    for name, kernel in TREES.items():
        parts = 32 if kernel is reduction.warp_sum else THREADS
        sums = cuda.device_array(n // parts, np.float32)
        expected = values.reshape(-1, parts).sum(axis=1, dtype=np.float64)
        tree = partial(kernel[blocks, THREADS], there, sums)
        fields = {"n": n, "kernel": name, "bytes": 4 * n + 4 * n // parts}
        yield timed_launch(fields, tree, sums, expected, 1e-6)
    sums, total = cuda.device_array(few, np.float32), cuda.device_array(1, np.float32)

    def two_launches() -> None:
        reduction.sum_blocks[few, THREADS](there, sums)
        reduction.sum_blocks[1, THREADS](sums, total)

    striding: dict[str, Callable[[], object]] = {
        "striding, two launches": two_launches,
        "striding, atomics": partial(grid_sum_atomic[few, THREADS], there, total),
        "striding, grid barrier": partial(
            grid_sum_cooperative[together, THREADS], there, sums[:together], total
        ),
    }
    whole = values.sum(dtype=np.float64).reshape(1)
    for name, launch in striding.items():
        fields = {"n": n, "kernel": name, "bytes": 4 * n}
        yield timed_launch(fields, launch, total, whole, 1e-5)
