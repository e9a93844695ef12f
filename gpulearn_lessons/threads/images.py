"""Kernels on pictures: x counts columns, y counts rows, and NumPy wants the row first."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpulearn import cuda
from gpulearn.kernels.specification import Specification, blocks_along

__all__ = ["BLUE", "GREEN", "MIRROR", "RED", "RGB_TO_GRAY", "mirror", "rgb_to_gray"]

Image = np.ndarray[tuple[int, int, int], Any]
Plane = np.ndarray[tuple[int, int], Any]

# The share of each colour in luma, ITU-R BT.601-7, section 2.5.1. As float32: a plain 0.299
# in a kernel is a float64, and so is whatever is computed with it.
RED, GREEN, BLUE = np.float32(0.299), np.float32(0.587), np.float32(0.114)


@cuda.jit
def rgb_to_gray(rgb: Image, gray: Plane) -> None:
    """gray[y, x] = 0.299 red + 0.587 green + 0.114 blue, a thread for each pixel.

    Launch: two-dimensional, x over columns and y over rows, with at least w × h threads, such
    as `[(blocks_for(w, 16), blocks_for(h, 16)), (16, 16)]`.

    Cost: 5 operations for each pixel, 3 bytes read and 4 written.

    Args:
        rgb: picture of shape (h, w, 3), uint8.
        gray: picture of shape (h, w), float32, overwritten; from 0 to 255.

    >>> gray = np.zeros((1, 2), dtype=np.float32)
    >>> rgb_to_gray[(1, 1), (4, 4)](np.array([[[255, 255, 255], [0, 100, 0]]], np.uint8), gray)
    >>> gray
    array([[255. , 58.7]], dtype=float32)
    """
    x, y = cuda.grid(2)
    if x < gray.shape[1] and y < gray.shape[0]:
        gray[y, x] = RED * rgb[y, x, 0] + GREEN * rgb[y, x, 1] + BLUE * rgb[y, x, 2]


def luma(rgb: Image, gray: Plane) -> tuple[Plane]:
    """What `rgb_to_gray` must leave in `gray`, computed in float64 from the standard's shares."""
    return ((rgb @ np.array([0.299, 0.587, 0.114])).astype(gray.dtype),)


RGB_TO_GRAY = Specification(
    rgb_to_gray,
    luma,
    grid=lambda rgb, gray, block: blocks_along(gray.shape[::-1], block),
    block=(16, 16),
    outputs=(1,),
)


@cuda.jit
def mirror(picture: Plane, out: Plane) -> None:
    """out[y, w - 1 - x] = picture[y, x], a thread for each pixel: left and right change places.

    Launch: two-dimensional, x over columns and y over rows, with at least w × h threads.

    Cost: every pixel read once and written once.

    Args:
        picture: shape (h, w), any dtype.
        out: shape (h, w), overwritten.

    >>> out = np.zeros((1, 3))
    >>> mirror[(1, 1), (4, 4)](np.array([[1.0, 2.0, 3.0]]), out)
    >>> out
    array([[3., 2., 1.]])
    """
    rows, columns = picture.shape
    x, y = cuda.grid(2)
    if x < columns and y < rows:
        out[y, columns - 1 - x] = picture[y, x]


MIRROR = Specification(
    mirror,
    lambda picture, out: (picture[:, ::-1],),
    grid=lambda picture, out, block: blocks_along(out.shape[::-1], block),
    block=(16, 16),
    outputs=(1,),
)
