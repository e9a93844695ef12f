"""Array of structs against struct of arrays: the same numbers, three times the traffic."""

from __future__ import annotations

import math

import numpy as np
import pytest

from gpulearn import cuda, xray
from gpulearn_lessons.coalescing.points import SOA_NORMS, STRETCH_POINTS
from tests.gpulearn.kernels.lesson_kernels import GREY_INTERLEAVED, GREY_PLANES


def launched(specification, *arrays):
    """The report of the usual launch, held against the reference."""
    *given, out = map(cuda.to_device, arrays)
    report = xray(specification.kernel)[specification.shape(*arrays)](*given, out)
    assert not report.findings, report
    np.testing.assert_allclose(out, *specification.reference(*arrays), rtol=1e-6)
    return report


def empty(*shape):
    return np.full(shape, np.nan, np.float32)


@pytest.mark.parametrize("shape", [(1, 1), (9, 33), (64, 96)])
def test_grey_both_ways(shape):
    colours = np.random.default_rng(1).random((*shape, 3), dtype=np.float32)
    planes = np.ascontiguousarray(np.moveaxis(colours, 2, 0))
    slow = launched(GREY_INTERLEAVED, colours, empty(*shape))
    fast = launched(GREY_PLANES, planes, empty(*shape))
    if shape == (64, 96):
        assert slow.arrays["colours"].sectors_per_load == 12
        assert fast.arrays["colours"].sectors_per_load == 4
    assert slow.totals.flops64 == fast.totals.flops64 == 0


@pytest.mark.parametrize("n", [1, 31, 129, 1024])
def test_norms(n):
    x, y, z = np.random.default_rng(n).normal(size=(3, n)).astype(np.float32)
    totals = launched(SOA_NORMS, x, y, z, empty(n)).totals
    if n == 1024:
        assert totals.sectors_per_load == totals.sectors_per_store == 4
    assert totals.flops64 == 0


@pytest.mark.parametrize("n", [1, 31, 129, 1024])
def test_points_stretched_in_an_array_of_structs(n):
    points = np.random.default_rng(n).normal(size=(n, 3)).astype(np.float32)
    report = launched(STRETCH_POINTS, points, np.array([2, 3, 5], np.float32), empty(n, 3))
    if n == 1024:
        assert report.arrays["points"].sectors_per_load == report.totals.sectors_per_store == 4
    (got,) = STRETCH_POINTS.reference(points, np.array([2, 3, 5], np.float32), None)
    assert got.tolist() == [
        [np.float32(f) * c for f, c in zip((2, 3, 5), p, strict=True)] for p in points
    ]


def test_references_agree_with_plain_python():
    colours = np.random.default_rng(2).random((2, 3, 3), dtype=np.float32)
    expected = [[sum(map(float, pixel)) / 3 for pixel in row] for row in colours]
    planes = np.moveaxis(colours, 2, 0)
    for specification, given in ((GREY_INTERLEAVED, colours), (GREY_PLANES, planes)):
        (got,) = specification.reference(given, empty(2, 3))
        np.testing.assert_allclose(got, expected, rtol=1e-6)
    expected = [[math.hypot(*map(float, point)) for point in row] for row in colours]
    (got,) = SOA_NORMS.reference(*colours[1].T, empty(3))
    np.testing.assert_allclose(got, expected[1], rtol=1e-6)
