"""Array of structs against struct of arrays: the same numbers, three times the traffic."""

import math

import numpy as np
import pytest

from gpulearn.kernels.specification import poisoned
from gpulearn_lessons.coalescing.points import SOA_NORMS, STRETCH_POINTS
from tests.gpulearn.kernels.launched import launched
from tests.gpulearn.kernels.lesson_kernels import GRAY_INTERLEAVED, GRAY_PLANES


@pytest.mark.parametrize("shape", [(1, 1), (9, 33), (64, 96)])
def test_gray_both_ways(shape):
    colors = np.random.default_rng(1).random((*shape, 3), dtype=np.float32)
    planes = np.ascontiguousarray(np.moveaxis(colors, 2, 0))
    slow = launched(GRAY_INTERLEAVED, colors, poisoned(*shape), rtol=1e-6)
    fast = launched(GRAY_PLANES, planes, poisoned(*shape), rtol=1e-6)
    if shape == (64, 96):
        assert slow.arrays["colors"].sectors_per_load == 12
        assert fast.arrays["colors"].sectors_per_load == 4
    assert slow.totals.flops64 == fast.totals.flops64 == 0


def test_references_agree_with_plain_python():
    colors = np.random.default_rng(2).random((2, 3, 3), dtype=np.float32)
    expected = [[sum(map(float, pixel)) / 3 for pixel in row] for row in colors]
    planes = np.moveaxis(colors, 2, 0)
    for specification, given in ((GRAY_INTERLEAVED, colors), (GRAY_PLANES, planes)):
        (got,) = specification.reference(given, poisoned(2, 3))
        np.testing.assert_allclose(got, expected, rtol=1e-6)
    points = colors[1]
    (got,) = SOA_NORMS.reference(*points.T, poisoned(3))
    np.testing.assert_allclose(got, [math.hypot(*map(float, p)) for p in points], rtol=1e-6)
    (got,) = STRETCH_POINTS.reference(points, np.array([2, 3, 5], np.float32), None)
    assert got.tolist() == [
        [np.float32(f) * c for f, c in zip((2, 3, 5), p, strict=True)] for p in points
    ]
