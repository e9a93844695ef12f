"""Rows and columns: the same numbers as NumPy, and eight times the traffic for rows."""

import numpy as np
import pytest

from gpulearn.kernels.specification import poisoned
from gpulearn_lessons.coalescing.columns import COLUMN_SUMS
from tests.gpulearn.kernels.launched import launched
from tests.gpulearn.kernels.lesson_kernels import COLUMN_MAXIMA, ROW_MAXIMA


@pytest.mark.parametrize("shape", [(1, 1), (1, 70), (70, 1), (37, 70), (200, 65)])
def test_maxima_equal_numpys(shape):
    matrix = np.random.default_rng(sum(shape)).normal(size=shape).astype(np.float32)
    launched(ROW_MAXIMA, matrix, poisoned(shape[0]), block=64)
    launched(COLUMN_MAXIMA, matrix, poisoned(shape[1]), block=64)


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
    for specification, sectors in ((ROW_MAXIMA, 32), (COLUMN_MAXIMA, 4)):
        report = launched(specification, matrix, poisoned(256), block=64)
        assert report.arrays["matrix"].sectors_per_load == sectors
