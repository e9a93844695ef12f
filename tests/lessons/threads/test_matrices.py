"""Kernels on matrices, against NumPy on shapes that no block divides."""

import numpy as np
import pytest

import gpulearn as gl
from gpulearn import cuda
from gpulearn_lessons.threads.images import MATRIX_ADD_2D, matrix_add_2d


def matrices(m, n, dtype=np.float32):
    rng = np.random.default_rng(m * n)
    a, b = (9 * rng.normal(size=(2, m, n))).astype(dtype)
    return a, b, np.full((m, n), 77, dtype=dtype)


@pytest.mark.parametrize(
    ("shape", "block", "dtype"), [((1, 70), (16, 16), np.int64), ((70, 1), (5, 3), np.float64)]
)
def test_sum_equals_numpy(shape, block, dtype):
    m, n = shape
    a, b, out = matrices(m, n, dtype)
    matrix_add_2d[MATRIX_ADD_2D.shape(a, b, out, block=block)](a, b, out)
    np.testing.assert_array_equal(out, *MATRIX_ADD_2D.reference(a, b, out))


def test_reference_and_shape_agree_with_known_values():
    a, b, out = matrices(2, 70, np.int64)
    rows = [[p + q for p, q in zip(*row, strict=True)] for row in zip(a, b, strict=True)]
    assert MATRIX_ADD_2D.reference(a, b, out)[0].tolist() == rows
    assert MATRIX_ADD_2D.shape(a, b, out) == ((3, 1), (32, 8))  # x over columns


def test_sum_under_the_lens():
    a, b, out = map(cuda.to_device, matrices(64, 96))
    report = gl.xray(matrix_add_2d)[(3, 8), (32, 8)](a, b, out)
    assert not report.findings
    assert (report.totals.flops32, report.totals.flops64) == (64 * 96, 0)
    # x counts columns, so a warp's 32 lanes stand in one row
    assert report.totals.sectors_per_load == report.totals.sectors_per_store == 4
    assert report.totals.divergent_branches == 0
