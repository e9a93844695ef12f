"""Rows and columns: the same numbers as NumPy, and eight times the traffic for rows."""

from __future__ import annotations

import numpy as np
import pytest

from gpulearn import cuda, xray
from gpulearn_lessons.coalescing.columns import COLUMN_SUMS
from tests.gpulearn.kernels.lesson_kernels import COLUMN_MAXIMA, ROW_MAXIMA

SPECIFICATIONS = (ROW_MAXIMA, COLUMN_MAXIMA, COLUMN_SUMS)


def launched(specification, matrix):
    """The report of a launch, held against the reference."""
    size = matrix.shape[0 if specification is ROW_MAXIMA else 1]
    args = (matrix, np.full(size, np.nan, np.float32))
    there = [cuda.to_device(a) for a in args]
    report = xray(specification.kernel)[specification.shape(*args, block=64)](*there)
    assert not report.findings, report
    expected = specification.expected(*args)[1]
    np.testing.assert_allclose(there[1].copy_to_host(), expected, rtol=1e-5, atol=1e-4)
    return report


@pytest.mark.parametrize("specification", SPECIFICATIONS, ids=lambda s: s.name)
@pytest.mark.parametrize("shape", [(1, 1), (1, 70), (70, 1), (37, 70), (200, 65)])
def test_equals_numpy(specification, shape):
    matrix = np.random.default_rng(sum(shape)).normal(size=shape).astype(np.float32)
    launched(specification, matrix)


def test_references_agree_with_plain_python():
    matrix = np.random.default_rng(3).normal(size=(4, 7)).astype(np.float32)
    rows = matrix.tolist()
    columns = list(zip(*rows, strict=True))
    assert ROW_MAXIMA.reference(matrix, None)[0].tolist() == [max(row) for row in rows]
    assert COLUMN_MAXIMA.reference(matrix, None)[0].tolist() == [max(c) for c in columns]
    (got,) = COLUMN_SUMS.reference(matrix, np.empty(7, np.float32))
    np.testing.assert_allclose(got, [sum(c) for c in columns], rtol=1e-6)


def test_a_walk_along_rows_costs_eight_times_as_much():
    matrix = np.ones((256, 256), np.float32)
    rows, columns = launched(ROW_MAXIMA, matrix), launched(COLUMN_MAXIMA, matrix)
    assert rows.arrays["matrix"].sectors_per_load == 32
    assert columns.arrays["matrix"].sectors_per_load == 4


def test_sums_are_float32_throughout():
    report = launched(COLUMN_SUMS, np.ones((256, 256), np.float32))
    assert report.arrays["matrix"].sectors_per_load == 4
    assert report.totals.flops64 == 0
    assert report.totals.flops32 == 256 * 256
