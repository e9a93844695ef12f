"""Kernels on vectors: their references, and what they cost."""

import numpy as np

import gpulearn as gl
from gpulearn import cuda
from gpulearn.kernels.vectors import SAXPY_GRID_STRIDE, VECTOR_ADD, saxpy_grid_stride, vector_add


def vectors(n):
    rng = np.random.default_rng(n)
    x, y = (9 * rng.normal(size=(2, n))).astype(np.float32)
    return x, y, np.full(n, 77, np.float32)


def test_references_agree_with_plain_python():
    x, y, out = vectors(41)
    each = list(zip(x.tolist(), y.tolist(), strict=True))
    sums, scaled = [a + b for a, b in each], [2.5 * a + b for a, b in each]
    np.testing.assert_allclose(*VECTOR_ADD.reference(x, y, out), sums, rtol=1e-6, atol=1e-6)
    (got,) = SAXPY_GRID_STRIDE.reference(np.float32(2.5), x, y, out)
    np.testing.assert_allclose(got, scaled, rtol=1e-6, atol=1e-6)


def test_costs():
    totals = gl.xray(vector_add)[4, 128](*map(cuda.to_device, vectors(500))).totals
    assert (totals.flops32, totals.flops64) == (500, 0)
    assert totals.divergent_branches == 1  # 500 ends inside a warp
    assert totals.bytes_requested == 3 * 4 * 500
    x, y, out = map(cuda.to_device, vectors(1024))
    totals = gl.xray(saxpy_grid_stride)[2, 64](np.float32(2), x, y, out).totals
    assert (totals.flops32, totals.flops64) == (2 * 1024, 0)
    # neighboring threads do neighboring elements, so every request is a full one
    assert totals.sectors_per_load == totals.sectors_per_store == 4
    report = gl.xray(saxpy_grid_stride)[1, 64](2.0, x, y, out)  # a Python float
    assert [f.kind for f in report.findings] == ["float64-leak"]
