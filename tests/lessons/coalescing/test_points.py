"""Array of structs against struct of arrays: the same numbers, three times the traffic."""

from __future__ import annotations

import numpy as np
import pytest

from gpulearn.kernels.specification import poisoned
from gpulearn_lessons.coalescing.points import SOA_NORMS, STRETCH_POINTS, soa_norms, stretch_points
from tools.gpu.cases.lesson_kernels import (
    AOS_NORMS,
    GREY_INTERLEAVED,
    GREY_PLANES,
    aos_norms,
    grey_interleaved,
    grey_planes,
)

from tests.gpulearn.kernels.launched import launched

SIGNATURES = {
    grey_interleaved: "void(float32[:, :, ::1], float32[:, ::1])",
    grey_planes: "void(float32[:, :, ::1], float32[:, ::1])",
    aos_norms: "void(float32[:, ::1], float32[::1])",
    soa_norms: "void(float32[::1], float32[::1], float32[::1], float32[::1])",
    stretch_points: "void(float32[:, ::1], float32[::1], float32[:, ::1])",
}


@pytest.mark.parametrize("shape", [(1, 1), (9, 33), (64, 96)])
def test_grey_both_ways(shape):
    colours = np.random.default_rng(1).random((*shape, 3), dtype=np.float32)
    planes = np.ascontiguousarray(np.moveaxis(colours, 2, 0))
    slow = launched(GREY_INTERLEAVED, colours, poisoned(*shape), rtol=1e-6)
    fast = launched(GREY_PLANES, planes, poisoned(*shape), rtol=1e-6)
    if shape == (64, 96):
        assert slow.arrays["colours"].sectors_per_load == 12
        assert fast.arrays["colours"].sectors_per_load == 4
    assert slow.totals.flops64 == fast.totals.flops64 == 0


@pytest.mark.parametrize("n", [1, 31, 129, 1024])
def test_norms_both_ways(n):
    points = np.random.default_rng(n).normal(size=(n, 3)).astype(np.float32)
    x, y, z = np.ascontiguousarray(points.T)
    slow = launched(AOS_NORMS, points, poisoned(n), rtol=1e-6)
    fast = launched(SOA_NORMS, x, y, z, poisoned(n), rtol=1e-6)
    if n == 1024:
        assert slow.arrays["points"].sectors_per_load == 12
        assert fast.totals.sectors_per_load == fast.totals.sectors_per_store == 4
    assert slow.totals.flops64 == fast.totals.flops64 == 0


@pytest.mark.parametrize("n", [1, 31, 129, 1024])
def test_points_stretched_in_an_array_of_structs(n):
    points = np.random.default_rng(n).normal(size=(n, 3)).astype(np.float32)
    report = launched(STRETCH_POINTS, points, np.array([2, 3, 5], np.float32), poisoned(n, 3))
    if n == 1024:
        assert report.arrays["points"].sectors_per_load == report.totals.sectors_per_store == 4
