"""Notebook 07: histograms by kernel and by how crowded the bins are."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from gpulearn import cuda, require
from gpulearn.kernels.histogram import BINS, histogram_global, histogram_racy, histogram_shared
from gpulearn.perf.recordings import Recording, recorded_here
from gpulearn.plot.recorders.loading import GpuRows, gpu_rows
from gpulearn.plot.recorders.measuring import WrongResultError, agree, kernels_on, timed
from simt.host.settings import unchecked

VALUES = 2**27  # bytes, more than a cache holds
LIVE_VALUES = 2**24
REPEATED = 2**22  # values that are drawn; the rest repeats them
THREADS = 256

# how the notebook calls it -> kernel, and its blocks, None for a thread each value
KERNELS: dict[str, tuple[Any, int | None]] = {
    "racy": (histogram_racy, None),
    "atomics": (histogram_global, None),
    "copies, a thread each value": (histogram_shared, None),
    "copies, 64 blocks": (histogram_shared, 64),
    "copies, 1,024 blocks": (histogram_shared, 1024),
}


def record_histograms(n: int = VALUES, repeated: int = REPEATED) -> Recording:
    """Time histograms of n bytes that are random, skewed and all equal; `repeated` are drawn.

    The rows have `n`, `kernel`, `data`, `bytes` (what must be read at least), `counted` (the share
    of the updates of a launch that arrived, 1 but for the racy kernel) and `seconds`.
    """
    n, repeated = require.whole("n", n), require.whole("repeated", repeated)
    return recorded_here("histograms", _rows(n, repeated), kernels_on())


def _rows(n: int, repeated: int) -> Iterator[dict[str, Any]]:
    rng = np.random.default_rng(7)
    drawn = {
        "random": rng.integers(0, BINS, repeated, np.uint8),
        "skewed": np.minimum(rng.exponential(12, repeated), BINS - 1).astype(np.uint8),
        "all equal": np.full(repeated, 7, np.uint8),
    }
    times = max(1, n // repeated)
    for data, part in drawn.items():
        values = cuda.to_device(np.tile(part, times))
        expected = times * np.bincount(part, minlength=BINS)
        for name in KERNELS:
            fields = {"n": times * repeated, "kernel": name, "data": data, "bytes": values.size}
            with unchecked():  # the race is known
                row = timed(fields, partial(_count, fields, values, expected))
            yield row


def _count(
    fields: dict[str, Any], values: Any, expected: np.ndarray[Any, Any]
) -> Callable[[], object]:
    kernel, blocks = KERNELS[fields["kernel"]]
    launch = kernel[blocks or (values.size + THREADS - 1) // THREADS, THREADS]
    counts = cuda.to_device(np.zeros(BINS, np.int32))
    launch(values, counts)
    counted = counts.copy_to_host()
    if fields["kernel"] != "racy":
        agree(f"{fields['kernel']}, {fields['data']}", counted, expected)
    elif ((counted > expected) | ((counted == 0) & (expected > 0))).any():
        raise WrongResultError("The racy histogram counts what is not there.")
    fields["counted"] = float(counted.sum() / expected.sum())
    return lambda: launch(values, counts)


def histogram_rows() -> GpuRows | None:
    """The rows of a GPU here, else the recorded ones, else None."""
    return gpu_rows("histograms", lambda: record_histograms(LIVE_VALUES))
