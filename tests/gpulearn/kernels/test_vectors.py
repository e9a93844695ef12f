"""Kernels on vectors, against NumPy on sizes that no block divides."""

import numpy as np
import pytest

import gpulearn as gl
from gpulearn import cuda
from gpulearn.kernels.vectors import (
    SAXPY_GRID_STRIDE,
    VECTOR_ADD,
    saxpy_grid_stride,
    vector_add,
)


def vectors(n, dtype=np.float32):
    rng = np.random.default_rng(n)
    x, y = (9 * rng.normal(size=(2, n))).astype(dtype)
    return x, y, np.full(n, 77, dtype=dtype)


@pytest.mark.parametrize(
    ("n", "dtype"), [(1, np.float32), (128, np.float64), (129, np.int32), (1000, np.float32)]
)
def test_sum_equals_numpy(n, dtype):
    a, b, out = vectors(n, dtype)
    vector_add[VECTOR_ADD.shape(a, b, out)](a, b, out)
    np.testing.assert_array_equal(out, *VECTOR_ADD.reference(a, b, out))


@pytest.mark.parametrize(
    ("n", "launch"), [(1, (3, 32)), (97, (1, 1)), (97, (40, 32)), (1000, (1, 7)), (1000, (5, 200))]
)
def test_saxpy_equals_numpy_for_every_launch(n, launch):
    x, y, out = vectors(n)
    saxpy_grid_stride[launch](np.float32(2.5), x, y, out)
    (expected,) = SAXPY_GRID_STRIDE.reference(np.float32(2.5), x, y, out)
    np.testing.assert_allclose(out, expected, rtol=1e-6, atol=1e-5)


def test_references_agree_with_plain_python():
    x, y, out = vectors(41)
    each = list(zip(x.tolist(), y.tolist(), strict=True))
    sums, scaled = [a + b for a, b in each], [2.5 * a + b for a, b in each]
    np.testing.assert_allclose(*VECTOR_ADD.reference(x, y, out), sums, rtol=1e-6, atol=1e-6)
    (got,) = SAXPY_GRID_STRIDE.reference(np.float32(2.5), x, y, out)
    np.testing.assert_allclose(got, scaled, rtol=1e-6, atol=1e-6)


def test_sum_under_the_lens():
    a, b, out = map(cuda.to_device, vectors(500))
    report = gl.xray(vector_add)[4, 128](a, b, out)
    assert not report.findings
    assert (report.totals.flops32, report.totals.flops64) == (500, 0)
    assert report.totals.divergent_branches == 1  # 500 ends inside a warp
    assert report.totals.bytes_requested == 3 * 4 * 500


def test_saxpy_under_the_lens():
    x, y, out = map(cuda.to_device, vectors(1024))
    report = gl.xray(saxpy_grid_stride)[2, 64](np.float32(2), x, y, out)
    assert not report.findings
    assert (report.totals.flops32, report.totals.flops64) == (2 * 1024, 0)
    # neighbouring threads do neighbouring elements, so every request is a full one
    assert report.totals.sectors_per_load == report.totals.sectors_per_store == 4


def test_a_python_float_leaks_float64():
    x, y, out = map(cuda.to_device, vectors(64))
    report = gl.xray(saxpy_grid_stride)[1, 64](2.0, x, y, out)
    assert [f.kind for f in report.findings] == ["float64-leak"]
