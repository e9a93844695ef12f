"""Kernels on pictures, against NumPy on pictures that no block divides."""

import numpy as np
import pytest

import gpulearn as gl
from gpulearn import cuda
from gpulearn.kernels.images import BLUE, GREEN, RED, rgb_to_gray
from gpulearn.kernels.indexing import blocks_for

SIGNATURES = {rgb_to_gray: "void(uint8[:, :, ::1], float32[:, ::1])"}


def picture(h, w):
    rng = np.random.default_rng(h * w)
    return rng.integers(0, 256, size=(h, w, 3), dtype=np.uint8)


@pytest.mark.parametrize("block", [(16, 16), (32, 8), (7, 3), (1, 1)])
@pytest.mark.parametrize("shape", [(1, 1), (1, 50), (50, 1), (16, 16), (23, 37)])
def test_gray_equals_numpy(shape, block):
    h, w = shape
    rgb, gray = picture(h, w), np.full(shape, np.nan, dtype=np.float32)
    grid = blocks_for(w, block[0]), blocks_for(h, block[1])
    rgb_to_gray[grid, block](rgb, gray)
    np.testing.assert_allclose(gray, rgb @ np.array([0.299, 0.587, 0.114]), rtol=1e-5)


def test_the_shares_make_a_whole():
    assert RED.dtype == GREEN.dtype == BLUE.dtype == np.float32
    assert np.isclose(RED + GREEN + BLUE, 1)


def test_gray_under_the_lens():
    rgb = cuda.to_device(picture(23, 37))
    gray = cuda.to_device(np.zeros((23, 37), dtype=np.float32))
    report = gl.xray(rgb_to_gray)[(3, 2), (16, 16)](rgb, gray)
    assert not report.findings
    assert (report.totals.flops32, report.totals.flops64) == (5 * 23 * 37, 0)
    assert report.arrays["rgb"].bytes_requested == 3 * 23 * 37
    assert report.arrays["gray"].bytes_requested == 4 * 23 * 37
