"""Rows and columns: the same numbers as NumPy, and eight times the traffic for rows."""

from __future__ import annotations

import numpy as np
import pytest

from gpulearn import cuda, xray
from gpulearn.kernels.columns import column_maxima, column_sums, row_maxima

SIGNATURES = dict.fromkeys(
    (row_maxima, column_maxima, column_sums), "void(float32[:, ::1], float32[::1])"
)
SPECIFICATIONS = {
    row_maxima: lambda m: m.max(axis=1),
    column_maxima: lambda m: m.max(axis=0),
    column_sums: lambda m: m.sum(axis=0, dtype=np.float64),
}


def launched(kernel, matrix):
    expected = SPECIFICATIONS[kernel](matrix)
    out = cuda.to_device(np.full(expected.size, np.nan, np.float32))
    report = xray(kernel)[-(-expected.size // 64), 64](cuda.to_device(matrix), out)
    assert not report.findings, report
    return report, out.copy_to_host(), expected


@pytest.mark.parametrize("kernel", SPECIFICATIONS, ids=lambda kernel: kernel.__name__)
@pytest.mark.parametrize("shape", [(1, 1), (1, 70), (70, 1), (37, 70), (200, 65)])
def test_equals_numpy(kernel, shape):
    matrix = np.random.default_rng(sum(shape)).normal(size=shape).astype(np.float32)
    _, out, expected = launched(kernel, matrix)
    np.testing.assert_allclose(out, expected, rtol=1e-5, atol=1e-4)


def test_a_walk_along_rows_costs_eight_times_as_much():
    matrix = np.ones((256, 256), np.float32)
    rows, _, _ = launched(row_maxima, matrix)
    columns, _, _ = launched(column_maxima, matrix)
    assert rows.arrays["matrix"].sectors_per_load == 32
    assert columns.arrays["matrix"].sectors_per_load == 4


def test_sums_are_float32_throughout():
    report, _, _ = launched(column_sums, np.ones((256, 256), np.float32))
    assert report.arrays["matrix"].sectors_per_load == 4
    assert report.totals.flops64 == 0
    assert report.totals.flops32 == 256 * 256
