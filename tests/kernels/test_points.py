"""Array of structs against struct of arrays: the same numbers, three times the traffic."""

from __future__ import annotations

import numpy as np
import pytest

from gpulearn import cuda, xray
from gpulearn.kernels.points import aos_norms, grey_interleaved, grey_planes, soa_norms

SIGNATURES = {
    grey_interleaved: "void(float32[:, :, ::1], float32[:, ::1])",
    grey_planes: "void(float32[:, :, ::1], float32[:, ::1])",
    aos_norms: "void(float32[:, ::1], float32[::1])",
    soa_norms: "void(float32[::1], float32[::1], float32[::1], float32[::1])",
}


def launched(kernel, grid, block, shape, *arrays):
    out = cuda.to_device(np.full(shape, np.nan, np.float32))
    report = xray(kernel)[grid, block](*map(cuda.to_device, arrays), out)
    assert not report.findings, report
    return report, out.copy_to_host()


@pytest.mark.parametrize("shape", [(1, 1), (9, 33), (64, 96)])
def test_grey_both_ways(shape):
    colours = np.random.default_rng(1).random((*shape, 3), dtype=np.float32)
    planes = np.ascontiguousarray(np.moveaxis(colours, 2, 0))
    grid = (-(-shape[1] // 32), -(-shape[0] // 8))
    expected = colours.mean(axis=2, dtype=np.float64)
    slow, out = launched(grey_interleaved, grid, (32, 8), shape, colours)
    np.testing.assert_allclose(out, expected, rtol=1e-6)
    fast, out = launched(grey_planes, grid, (32, 8), shape, planes)
    np.testing.assert_allclose(out, expected, rtol=1e-6)
    if shape == (64, 96):
        assert slow.arrays["colours"].sectors_per_load == 12
        assert fast.arrays["colours"].sectors_per_load == 4
    assert slow.totals.flops64 == fast.totals.flops64 == 0


@pytest.mark.parametrize("n", [1, 31, 129, 1024])
def test_norms_both_ways(n):
    points = np.random.default_rng(n).normal(size=(n, 3)).astype(np.float32)
    x, y, z = np.ascontiguousarray(points.T)
    expected = np.linalg.norm(points.astype(np.float64), axis=1)
    slow, out = launched(aos_norms, -(-n // 128), 128, n, points)
    np.testing.assert_allclose(out, expected, rtol=1e-6)
    fast, out = launched(soa_norms, -(-n // 128), 128, n, x, y, z)
    np.testing.assert_allclose(out, expected, rtol=1e-6)
    if n == 1024:
        assert slow.arrays["points"].sectors_per_load == 12
        assert fast.totals.sectors_per_load == fast.totals.sectors_per_store == 4
    assert slow.totals.flops64 == fast.totals.flops64 == 0
