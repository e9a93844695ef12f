"""The transpose, and which side of it loses."""

from __future__ import annotations

import numpy as np
import pytest

from gpulearn import cuda, xray
from gpulearn.kernels.transpose import transpose_naive, transpose_to_rows

PICTURES = "void(float32[:, ::1], float32[:, ::1])"
SIGNATURES = dict.fromkeys((transpose_naive, transpose_to_rows), PICTURES)


def launched(kernel, shape, block):
    image = np.random.default_rng(sum(shape)).random(shape, dtype=np.float32)
    out = cuda.to_device(np.full(shape[::-1], np.nan, np.float32))
    covered = shape[::-1] if kernel is transpose_to_rows else shape
    grid = (-(-covered[1] // block[0]), -(-covered[0] // block[1]))
    report = xray(kernel)[grid, block](cuda.to_device(image), out)
    assert not report.findings, report
    np.testing.assert_array_equal(out.copy_to_host(), image.T)
    return report


@pytest.mark.parametrize("kernel", SIGNATURES, ids=lambda kernel: kernel.__name__)
@pytest.mark.parametrize("shape", [(1, 1), (37, 70), (70, 37), (40, 40), (1, 100), (100, 1)])
@pytest.mark.parametrize("block", [(32, 8), (16, 16), (5, 7)])
def test_equals_numpy(kernel, shape, block):
    launched(kernel, shape, block)


def test_the_write_loses():
    report = launched(transpose_naive, (128, 256), (32, 8))
    assert report.totals.sectors_per_load == 4
    assert report.totals.sectors_per_store == 32


def test_or_the_read_does():
    report = launched(transpose_to_rows, (128, 256), (32, 8))
    assert report.totals.sectors_per_load == 32
    assert report.totals.sectors_per_store == 4
