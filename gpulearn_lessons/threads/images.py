"""Kernels on pictures and matrices: x counts columns, y counts rows; NumPy wants the row first."""

from dataclasses import replace

import numpy as np

from gpulearn import cuda
from gpulearn.kernels.indexing import blocks_over
from gpulearn.kernels.specification import Array, Specification
from gpulearn.kernels.vectors import added

# The weight of each color in luma, ITU-R BT.601-7, section 2.5.1. As float32: a plain 0.299
# in a kernel is a float64, and so is any result computed with it.
RED, GREEN, BLUE = np.float32(0.299), np.float32(0.587), np.float32(0.114)


@cuda.jit
def rgb_to_gray(rgb: Array, gray: Array) -> None:
    """gray[y, x] = 0.299 red + 0.587 green + 0.114 blue, one thread per pixel.

    `rgb` is uint8 (h, w, 3), `gray` float32 (h, w), from 0 to 255. Launch: two-dimensional, x over
    columns and y over rows, with at least w × h threads, such as
    `[(blocks_for(w, 16), blocks_for(h, 16)), (16, 16)]`.
    Cost: 5 operations for each pixel, 3 bytes read and 4 written.

    >>> gray = np.zeros((1, 2), dtype=np.float32)
    >>> rgb_to_gray[(1, 1), (4, 4)](np.array([[[255, 255, 255], [0, 100, 0]]], np.uint8), gray)
    >>> gray
    array([[255. , 58.7]], dtype=float32)
    """
    x, y = cuda.grid(2)
    if x < gray.shape[1] and y < gray.shape[0]:
        gray[y, x] = RED * rgb[y, x, 0] + GREEN * rgb[y, x, 1] + BLUE * rgb[y, x, 2]


def luma(rgb: Array, gray: Array) -> tuple[Array]:
    """What `rgb_to_gray` must leave in `gray`, computed in float64 from the standard's shares."""
    return ((rgb @ np.array([0.299, 0.587, 0.114])).astype(gray.dtype),)


RGB_TO_GRAY = Specification(rgb_to_gray, luma, grid=blocks_over(1), block=(16, 16), outputs=(1,))


@cuda.jit
def mirror(picture: Array, out: Array) -> None:
    """out[y, w - 1 - x] = picture[y, x], a thread for each pixel: left and right change places.

    Both have shape (h, w) and any dtype. Launch: as `rgb_to_gray`.

    >>> out = np.zeros((1, 3))
    >>> mirror[(1, 1), (4, 4)](np.array([[1.0, 2.0, 3.0]]), out)
    >>> out
    array([[3., 2., 1.]])
    """
    rows, columns = picture.shape
    x, y = cuda.grid(2)
    if x < columns and y < rows:
        out[y, columns - 1 - x] = picture[y, x]


MIRROR = replace(RGB_TO_GRAY, kernel=mirror, reference=lambda picture, out: (picture[:, ::-1],))


@cuda.jit
def matrix_add_2d(a: Array, b: Array, out: Array) -> None:
    """out[y, x] = a[y, x] + b[y, x], one thread per element; all three of shape (m, n).

    Launch: two-dimensional, x over columns and y over rows, with at least n × m threads, such
    as `[(blocks_for(n, 32), blocks_for(m, 8)), (32, 8)]`.
    Cost: 1 addition for each element, 2 elements read and 1 written.

    >>> out = np.zeros((2, 3))
    >>> matrix_add_2d[(1, 1), (4, 4)](np.ones((2, 3)), np.arange(6.0).reshape(2, 3), out)
    >>> out
    array([[1., 2., 3.],
           [4., 5., 6.]])
    """
    x, y = cuda.grid(2)
    if x < out.shape[1] and y < out.shape[0]:
        out[y, x] = a[y, x] + b[y, x]


MATRIX_ADD_2D = Specification(
    matrix_add_2d, added, grid=blocks_over(2), block=(32, 8), outputs=(2,)
)
