"""Kernels on pictures: what their references compute, and what gray costs."""

import numpy as np
import pytest

import gpulearn as gl
from gpulearn import cuda
from gpulearn_lessons.threads.images import MIRROR, RGB_TO_GRAY, rgb_to_gray


def picture(h, w):
    rng = np.random.default_rng(h * w)
    return rng.integers(0, 256, size=(h, w, 3), dtype=np.uint8)


@pytest.mark.parametrize("shape", [(1, 1), (1, 50), (50, 1), (23, 37)])
def test_a_mirror_turns_each_row(shape):
    gray = picture(*shape)[:, :, 0].copy()
    (once,) = MIRROR.reference(gray, gray)
    assert once.tolist() == [row[::-1] for row in gray.tolist()]


def test_reference_agrees_with_the_standard_pixel_by_pixel():
    rgb = picture(3, 5)
    (gray,) = RGB_TO_GRAY.reference(rgb, np.empty((3, 5), np.float32))
    for y, x in np.ndindex(3, 5):
        red, green, blue = rgb[y, x].tolist()
        assert gray[y, x] == np.float32(0.299 * red + 0.587 * green + 0.114 * blue)


def test_gray_under_the_lens():
    rgb = cuda.to_device(picture(23, 37))
    gray = cuda.to_device(np.zeros((23, 37), dtype=np.float32))
    report = gl.xray(rgb_to_gray)[(3, 2), (16, 16)](rgb, gray)
    assert not report.findings
    assert (report.totals.flops32, report.totals.flops64) == (5 * 23 * 37, 0)
    assert report.arrays["rgb"].bytes_requested == 3 * 23 * 37
    assert report.arrays["gray"].bytes_requested == 4 * 23 * 37
