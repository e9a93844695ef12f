"""Notebook 07: sums by every plan, running sums, the largest of a row, softmax."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any

import numpy as np

from gpulearn import _require, cuda
from gpulearn.hardware.recording.loading import GpuRows, gpu_rows
from gpulearn.hardware.recording.measuring import agree, kernels_on, timed
from gpulearn.kernels import reduction, scan, softmax
from gpulearn.kernels.grid_sum import grid_sum_atomic, grid_sum_cooperative
from gpulearn.performance.recordings import Recording, recorded_here

__all__ = ["record_reductions", "reduction_rows"]

VALUES = 2**26  # float32: 256 MB, several times a cache
LIVE_VALUES = 2**24
THREADS = 256
BLOCKS = 1024  # where threads stride; a cooperative launch has fewer
TOGETHER = 128  # blocks that any GPU of the course holds at once
COLUMNS = 1024  # of the matrix for softmax and argmax

TREES = {
    "interleaved": reduction.block_sums_interleaved,
    "packed": reduction.block_sums_packed,
    "sequential": reduction.block_sums_sequential,
    "shuffle": reduction.block_sums_shuffle,
    "warps alone": reduction.warp_sum,
}
Prepared = Callable[[], Callable[[], object]]


def record_reductions(n: int = VALUES, columns: int = COLUMNS) -> Recording:
    """Time every reduction of notebook 07 on n numbers.

    Args:
        n: how many numbers, a multiple of 256 and of `columns`, at most 2²⁴ of them scanned.
        columns: of the matrix whose rows go through softmax.

    Returns:
        Rows with `n`, `family` ("sum", "scan", "row"), `kernel`, `bytes` (what must be read
        and written at least) and `seconds`.
    """
    n, columns = _require.whole("n", n), _require.whole("columns", columns)
    values = np.random.default_rng(7).random(n, np.float32)
    there = cuda.to_device(values)
    rows = chain(_sums(values, there), _row_wise(values, there, columns), _scans(n))
    return recorded_here("reductions", rows, kernels_on())


def _sums(values: np.ndarray[Any, Any], there: Any) -> Iterator[dict[str, Any]]:
    n = len(values)
    blocks = n // THREADS
    for name, kernel in TREES.items():
        parts = 32 if kernel is reduction.warp_sum else THREADS
        fields = {"n": n, "family": "sum", "kernel": name, "bytes": 4 * n + 4 * n // parts}
        sums = cuda.device_array(n // parts, np.float32)
        wanted = values.reshape(-1, parts).sum(axis=1, dtype=np.float64)
        launch = _launch(kernel[blocks, THREADS], there, sums)
        yield timed(fields, _checked(name, launch, sums, wanted))
    few, sums = min(BLOCKS, blocks), cuda.device_array(min(BLOCKS, blocks), np.float32)
    together, their = min(TOGETHER, blocks), cuda.device_array(min(TOGETHER, blocks), np.float32)
    total, whole = cuda.device_array(1, np.float32), values.sum(dtype=np.float64).reshape(1)

    def two_launches() -> None:
        reduction.sum_blocks[few, THREADS](there, sums)
        reduction.sum_blocks[1, THREADS](sums, total)

    striding: dict[str, Callable[[], object]] = {
        "striding, two launches": two_launches,
        "striding, atomics": _launch(grid_sum_atomic[few, THREADS], there, total),
        "striding, grid barrier": _launch(
            grid_sum_cooperative[together, THREADS], there, their, total
        ),
    }
    for name, launch in striding.items():
        fields = {"n": n, "family": "sum", "kernel": name, "bytes": 4 * n}
        yield timed(fields, _checked(name, launch, total, whole, 1e-5))


def _row_wise(values: np.ndarray[Any, Any], there: Any, columns: int) -> Iterator[dict[str, Any]]:
    n = len(values)
    scores, given = there.reshape(n // columns, columns), values.reshape(-1, columns)
    warps = (n // columns * 32 + THREADS - 1) // THREADS
    out = cuda.device_array(scores.shape, np.float32)
    powers = np.exp(given)
    shares = powers / powers.sum(axis=1, keepdims=True)
    for name in ("softmax_unsafe", "softmax_rows"):
        fields = {"n": n, "family": "row", "kernel": name, "bytes": 8 * n}
        launch = _launch(getattr(softmax, name)[warps, THREADS], scores, out)
        yield timed(fields, _checked(name, launch, out, shares, 1e-5))
    places = cuda.device_array(len(given), np.int32)
    launch = _launch(softmax.argmax_rows[warps, THREADS], scores, places)
    fields = {"n": n, "family": "row", "kernel": "argmax_rows", "bytes": 4 * n}
    yield timed(fields, _checked("argmax_rows", launch, places, given.argmax(axis=1), exact=True))


def _scans(n: int) -> Iterator[dict[str, Any]]:
    """One block's scans, and one of as many values as three levels of blocks hold."""
    values = np.random.default_rng(8).integers(0, 9, min(n, scan.SCAN_THREADS**3), np.int32)
    one, below = cuda.to_device(values[:THREADS]), cuda.device_array(THREADS, np.int32)
    sums = np.cumsum(values[:THREADS])
    for name, wanted in {
        "scan_hillis_steele": sums,
        "scan_blelloch": sums - values[:THREADS],
    }.items():
        fields = {"n": THREADS, "family": "scan", "kernel": name, "bytes": 8 * THREADS}
        launch = _launch(getattr(scan, name)[1, THREADS], one, below)
        yield timed(fields, _checked(name, launch, below, wanted, exact=True))
    there, out = cuda.to_device(values), cuda.device_array(len(values), np.int32)
    fields = {"n": len(values), "family": "scan", "kernel": "blocks of blocks"}
    wanted = np.cumsum(values) - values
    launch = _levels(there, out)
    fields |= {"bytes": 8 * len(values)}
    yield timed(fields, _checked("scan", launch, out, wanted, exact=True))


def _levels(values: Any, out: Any) -> Callable[[], object]:
    """Scan blocks, then their totals in the same way, and add what lies before each block."""
    blocks = (values.size + THREADS - 1) // THREADS
    totals, offsets = (cuda.device_array(blocks, np.int32) for _ in range(2))
    if blocks > THREADS:
        inner = _levels(totals, offsets)
    else:
        inner = _launch(scan.exclusive_scan[1, THREADS], totals, offsets)

    def launch() -> None:
        scan.scan_blocks[blocks, THREADS](values, out, totals)
        inner()
        scan.add_offsets[blocks, THREADS](out, offsets)

    return launch


def _launch(configured: Any, *arguments: Any) -> Callable[[], object]:
    return lambda: configured(*arguments)


def _checked(
    name: str,
    launch: Callable[[], object],
    out: Any,
    wanted: np.ndarray[Any, Any],
    tolerance: float = 1e-6,
    *,
    exact: bool = False,
) -> Prepared:
    def prepare() -> Callable[[], object]:
        out.copy_to_device(np.zeros(out.shape, out.dtype))
        launch()
        agree(name, out, wanted, 0.0 if exact else tolerance)
        return launch

    return prepare


def reduction_rows() -> GpuRows | None:
    """The rows of a GPU here, else the recorded ones, else None."""
    return gpu_rows("reductions", lambda: record_reductions(LIVE_VALUES))
