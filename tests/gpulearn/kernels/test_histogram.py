"""Histograms: what is counted, what is lost, and what the atomics cost."""

import numpy as np

import gpulearn as gl
from gpulearn import cuda
from gpulearn.kernels.histogram import BINS, HISTOGRAM_SHARED, histogram_shared


def values(n: int, bins: int = BINS, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, bins, n).astype(np.uint8)


def xrayed(kernel, grid, block, given, bins=BINS):
    counts = cuda.to_device(np.zeros(bins, np.int32))
    report = gl.xray(kernel)[grid, block](cuda.to_device(given), counts)
    return report, counts.copy_to_host()


def test_the_reference_equals_a_loop_over_the_values():
    given, counts = values(1000, 10), [5] * 12
    for value in given.tolist():
        counts[value] += 1
    assert HISTOGRAM_SHARED.reference(given, np.full(12, 5, np.int32))[0].tolist() == counts


def test_merging_private_counts_takes_one_atomic_for_each_bin_and_block():
    given = values(100_000)
    few, _ = xrayed(histogram_shared, 16, 256, given)
    many, _ = xrayed(histogram_shared, 391, 256, given)
    assert few.arrays["counts"].atomics == 16 * BINS
    assert few.arrays["private"].atomics == 100_000
    assert many.arrays["counts"].atomics == 391 * BINS > 100_000  # a block for 256 values
