"""The 2-D convolution, naive and tiled: same numbers, other costs."""

import numpy as np
import pytest

from gpulearn.kernels.specification import poisoned
from gpulearn.kernels.transpose import TILE
from gpulearn_lessons.shared_memory.convolution import CONV2D_NAIVE, CONV2D_TILED, REACH, SIDE
from tests.gpulearn.kernels.launched import launched


def test_the_reference_weighs_each_pixel_by_its_place_in_the_filter():
    rng = np.random.default_rng(2)
    image = rng.integers(-9, 10, (4, 7)).astype(np.float32)
    weights = rng.integers(-9, 10, (5, 5)).astype(np.float32)
    (weighed,) = CONV2D_TILED.reference(image, weights, None)
    for (y, x), found in np.ndenumerate(weighed):
        total = 0.0
        for (row, column), pixel in np.ndenumerate(image):
            i, j = row - y + REACH, column - x + REACH
            if 0 <= i < 5 and 0 <= j < 5:
                total += float(weights[i, j]) * float(pixel)
        assert found == total


@pytest.mark.parametrize("shape", [(1, 70), (33, 31), (40, 72)])
def test_neighborhoods_are_weighed(shape):
    rng = np.random.default_rng(1)
    image = rng.normal(size=shape).astype(np.float32)
    weights = rng.normal(size=(5, 5)).astype(np.float32)
    launched(CONV2D_NAIVE, image, weights, poisoned(*shape), rtol=1e-4, atol=1e-4)


def test_the_tile_is_read_once():
    image, weights = np.ones((4 * TILE, 3 * TILE), np.float32), np.ones((5, 5), np.float32)
    report = launched(CONV2D_TILED, image, weights, poisoned(*image.shape), rtol=1e-4)
    reads = (report.arrays["image"].bytes_requested) // 4
    inside = (4 * SIDE - 2 * REACH) * (3 * SIDE - 2 * REACH)  # beyond the edges nothing is read
    assert reads == inside
    totals = report.totals
    assert totals.shared_load_conflicts == totals.shared_store_conflicts == 0
    assert totals.barriers == 12 * TILE
    assert report.arrays["image"].sectors_per_load <= 5
    assert totals.flops64 == 0
