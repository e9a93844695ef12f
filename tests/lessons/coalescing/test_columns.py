"""Rows and columns: the same numbers as NumPy, and eight times the traffic for rows."""

from __future__ import annotations

import numpy as np
import pytest

from gpulearn.kernels.specification import poisoned
from gpulearn_lessons.coalescing.columns import COLUMN_SUMS, column_sums
from tools.gpu.cases.lesson_kernels import COLUMN_MAXIMA, ROW_MAXIMA, column_maxima, row_maxima

from tests.gpulearn.kernels.launched import launched

SIGNATURES = dict.fromkeys(
    (row_maxima, column_maxima, column_sums), "void(float32[:, ::1], float32[::1])"
)
SPECIFICATIONS = (ROW_MAXIMA, COLUMN_MAXIMA, COLUMN_SUMS)


@pytest.mark.parametrize("specification", SPECIFICATIONS, ids=lambda s: s.name)
@pytest.mark.parametrize("shape", [(1, 1), (1, 70), (70, 1), (37, 70), (200, 65)])
def test_equals_numpy(specification, shape):
    matrix = np.random.default_rng(sum(shape)).normal(size=shape).astype(np.float32)
    out = poisoned(shape[0 if specification is ROW_MAXIMA else 1])
    launched(specification, matrix, out, block=64, rtol=1e-5, atol=1e-4)


def test_a_walk_along_rows_costs_eight_times_as_much():
    args = np.ones((256, 256), np.float32), poisoned(256)
    rows, columns, sums = (launched(s, *args) for s in SPECIFICATIONS)
    assert rows.arrays["matrix"].sectors_per_load == 32
    assert columns.arrays["matrix"].sectors_per_load == 4
    assert sums.arrays["matrix"].sectors_per_load == 4
    assert (sums.totals.flops64, sums.totals.flops32) == (0, 256 * 256)
