"""Notebook 05: the transposes, straight and through a tile with and without bank conflicts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from gpulearn import cuda, require
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
from gpulearn.plot.recorders.loading import GpuRows, gpu_rows
from gpulearn.plot.recorders.measuring import agree, kernels_on, timed

SIZES = (1024, 2048, 4096, 8192)
SHOWN = 4096  # by notebook 05, as in what it quotes

# how the notebooks call it -> the kernel; "copy" is what no transpose can beat
KERNELS = {
    "copy": copy_by_rows,
    "straight": transpose_naive,
    "straight, x along out": transpose_to_rows,
    "tile 32 × 32": transpose_whole,
    "tile 32 × 33": transpose_padded,
    "tile 32 × 33, two guards": transpose_tiled,
}


def record_transposes(sizes: Sequence[int] = SIZES) -> Recording:
    """Time every transpose of n × n float32, and a plain copy, in blocks of 32 × 32 threads.

    The n are ascending multiples of `TILE`. The rows have `n`, `kernel`, `useful` (bytes read and
    written) and `seconds`.
    """
    return recorded_here("transposes", _rows(sizes), kernels_on())


def _rows(sizes: Sequence[int]) -> Iterator[dict[str, Any]]:
    for n in require.ascending("sizes", sizes):
        image = np.random.default_rng(5).standard_normal((n, n), dtype=np.float32)
        there, out = cuda.to_device(image), cuda.device_array((n, n), np.float32)
        turned = np.ascontiguousarray(image.T)
        for name, kernel in KERNELS.items():
            expected = image if name == "copy" else turned
            fields = {"n": n, "kernel": name, "useful": 2 * image.nbytes}
            yield timed(fields, partial(_turn, name, kernel, there, out, expected))


def _turn(
    name: str, kernel: Any, image: Any, out: Any, expected: np.ndarray[Any, Any]
) -> Callable[[], object]:
    blocks = len(expected) // TILE
    launch = kernel[(blocks, blocks), (TILE, TILE)]
    launch(image, out)
    agree(f"{name}, n = {len(expected)}", out, expected)
    return lambda: launch(image, out)


def transpose_rows(n: int = SHOWN) -> GpuRows | None:
    """The rows of one size: of a GPU here, else the recorded ones, else None."""
    times = gpu_rows("transposes", lambda: record_transposes([n]))
    rows = times.where(n=n) if times else []
    return GpuRows(rows, times.provenance) if times and rows else None
