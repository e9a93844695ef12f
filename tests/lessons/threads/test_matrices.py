"""Kernels on matrices, against NumPy on shapes that no block divides."""

import numpy as np
import pytest

import gpulearn as gl
from gpulearn import cuda
from gpulearn_lessons.threads.matrices import MATRIX_ADD_2D, matrix_add_2d

from tests.gpulearn.kernels.launched import launched

SIGNATURES = {matrix_add_2d: "void(float32[:, ::1], float32[:, ::1], float32[:, ::1])"}


def matrices(m, n, dtype=np.float32):
    rng = np.random.default_rng(m * n)
    a, b = (9 * rng.normal(size=(2, m, n))).astype(dtype)
    return a, b, np.full((m, n), 77, dtype=dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
@pytest.mark.parametrize("block", [(32, 8), (16, 16), (5, 3)])
@pytest.mark.parametrize("shape", [(1, 1), (1, 70), (70, 1), (32, 32), (29, 43)])
def test_sum_equals_numpy(shape, block, dtype):
    launched(MATRIX_ADD_2D, *matrices(*shape, dtype), block=block)


def test_x_covers_columns():
    assert MATRIX_ADD_2D.shape(*matrices(2, 70)) == ((3, 1), (32, 8))


def test_sum_under_the_lens():
    a, b, out = map(cuda.to_device, matrices(64, 96))
    report = gl.xray(matrix_add_2d)[(3, 8), (32, 8)](a, b, out)
    assert not report.findings
    assert (report.totals.flops32, report.totals.flops64) == (64 * 96, 0)
    # x counts columns, so a warp's 32 lanes stand in one row
    assert report.totals.sectors_per_load == report.totals.sectors_per_store == 4
    assert report.totals.divergent_branches == 0
