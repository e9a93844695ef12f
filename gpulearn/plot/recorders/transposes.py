"""Notebook 05: the transposes, straight and through a tile with and without bank conflicts."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from gpulearn import cuda
from gpulearn.kernels.copies import copy_by_rows
from gpulearn.kernels.transpose import (
    TILE,
    transpose_naive,
    transpose_padded,
    transpose_tiled,
    transpose_to_rows,
    transpose_whole,
)
from gpulearn.perf.recordings import Recording, recorded_here
from gpulearn.plot.recorders.measuring import kernels_on, timed_launch

SHOWN = 4096  # by notebook 05; a multiple of `TILE`

# how the notebooks call it -> the kernel; "copy" is what no transpose can beat
KERNELS = {
    "copy": copy_by_rows,
    "straight": transpose_naive,
    "straight, x along out": transpose_to_rows,
    "tile 32 × 32": transpose_whole,
    "tile 32 × 33": transpose_padded,
    "tile 32 × 33, two guards": transpose_tiled,
}


def record_transposes(n: int = SHOWN) -> Recording:
    """Time every transpose of n × n float32, and a plain copy, in blocks of 32 × 32 threads.

    The rows have `n`, `kernel`, `useful` (bytes read and written) and `seconds`.
    """
    return recorded_here("transposes", _rows(n), kernels_on())


def _rows(n: int) -> Iterator[dict[str, Any]]:
    image = np.random.default_rng(5).standard_normal((n, n), dtype=np.float32)
    there, out = cuda.to_device(image), cuda.device_array((n, n), np.float32)
    for name, kernel in KERNELS.items():
        launch = partial(kernel[(n // TILE, n // TILE), (TILE, TILE)], there, out)
        fields = {"n": n, "kernel": name, "useful": 2 * image.nbytes}
        yield timed_launch(fields, launch, out, image if name == "copy" else image.T)
