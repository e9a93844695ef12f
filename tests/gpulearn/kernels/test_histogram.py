"""Histograms: what is counted, what is lost, and what the atomics cost."""

import numpy as np

import gpulearn as gl
from gpulearn import cuda
from gpulearn.kernels.histogram import (
    BINS,
    HISTOGRAM_SHARED,
    histogram_global,
    histogram_racy,
    histogram_shared,
)


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


def test_without_atomics_updates_are_lost_and_the_race_is_found():
    given = values(4096)
    report, counts = xrayed(histogram_racy, 16, 256, given)
    assert {f.kind for f in report.findings} == {"race"}
    assert {f.array for f in report.findings} == {"counts"}
    assert counts.sum() < given.size


def test_merging_private_counts_takes_one_atomic_for_each_bin_and_block():
    given = values(100_000)
    everywhere, _ = xrayed(histogram_global, 391, 256, given)
    few, _ = xrayed(histogram_shared, 16, 256, given)
    many, _ = xrayed(histogram_shared, 391, 256, given)
    assert everywhere.arrays["counts"].atomics == 100_000
    assert few.arrays["counts"].atomics == 16 * BINS
    assert few.arrays["private"].atomics == 100_000
    assert many.arrays["counts"].atomics == 391 * BINS > 100_000  # a block for 256 values


def test_contention_is_the_crowd_in_one_bin():
    same, different = np.full(512, 7, np.uint8), np.arange(512).astype(np.uint8)
    assert xrayed(histogram_global, 2, 256, same)[0].totals.atomic_contention == 32
    assert xrayed(histogram_global, 2, 256, different)[0].totals.atomic_contention == 1
