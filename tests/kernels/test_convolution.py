"""The 2-D convolution, naive and tiled: same numbers, other costs."""

import numpy as np
import pytest

import gpulearn as gl
from gpulearn import cuda
from gpulearn.kernels.convolution import REACH, SIDE, conv2d_naive, conv2d_tiled
from gpulearn.kernels.transpose_tiled import TILE

SIGNATURES = {
    conv2d_naive: "void(float32[:, ::1], float32[:, ::1], float32[:, ::1])",
    conv2d_tiled: "void(float32[:, ::1], float32[:, ::1], float32[:, ::1])",
}


def launch(kernel, image, weights):
    h, w = image.shape
    out = cuda.to_device(np.full((h, w), np.nan, np.float32))
    grid = -(-w // TILE), -(-h // TILE)
    there = cuda.to_device(image), cuda.to_device(weights)
    report = gl.xray(kernel)[grid, (TILE, TILE)](*there, out)
    return out.copy_to_host(), report


@pytest.mark.parametrize("kernel", SIGNATURES)
@pytest.mark.parametrize("shape", [(1, 1), (1, 70), (70, 1), (32, 64), (33, 31), (40, 72)])
def test_neighbourhoods_are_weighed(kernel, shape):
    rng = np.random.default_rng(1)
    image = rng.normal(size=shape).astype(np.float32)
    weights = rng.normal(size=(5, 5)).astype(np.float32)
    out, report = launch(kernel, image, weights)
    h, w = shape
    padded = np.pad(image.astype(np.float64), REACH)
    expected = sum(weights[i, j] * padded[i : i + h, j : j + w] for i in range(5) for j in range(5))
    assert not report.findings
    np.testing.assert_allclose(out, expected, rtol=1e-4, atol=1e-4)


def test_the_tile_is_read_once():
    image, weights = np.ones((4 * TILE, 3 * TILE), np.float32), np.ones((5, 5), np.float32)
    _, report = launch(conv2d_tiled, image, weights)
    reads = (report.arrays["image"].bytes_requested) // 4
    inside = (4 * SIDE - 2 * REACH) * (3 * SIDE - 2 * REACH)  # beyond the edges nothing is read
    assert reads == inside
    totals = report.totals
    assert totals.shared_load_conflicts == totals.shared_store_conflicts == 0
    assert totals.barriers == 12 * TILE
    assert report.arrays["image"].sectors_per_load <= 5
    assert totals.flops64 == 0
