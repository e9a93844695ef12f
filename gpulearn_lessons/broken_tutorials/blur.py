"""A blur: each pixel becomes the mean of itself and its four neighbors."""

from __future__ import annotations

import numpy as np

from gpulearn import cuda
from gpulearn.kernels.indexing import blocks_over
from gpulearn.kernels.specification import Array, Specification


@cuda.jit
def case_blur(image: Array, out: Array) -> None:
    """out[y, x] = (image[y, x] + left + right + above + below) / 5, a thread for each pixel.

    A neighbor that would lie beyond the edge is the pixel itself. `image` and `out` are float32
    (h, w). Launch: two-dimensional, x over columns and y over rows, with at least w × h threads.

    >>> image, out = np.zeros((2, 3, 3), np.float32)
    >>> image[1, 1] = 1
    >>> case_blur[1, (4, 4)](image, out)
    >>> out[1]
    array([0.2, 0.2, 0.2], dtype=float32)
    """
    x, y = cuda.grid(2)
    height, width = image.shape
    if x < width and y < height:
        left, right = max(x - 1, 0), min(x + 1, width - 1)
        above, below = max(y - 1, 0), min(y + 1, height - 1)
        total = image[y, x] + image[y, left] + image[y, right]
        total += image[above, x] + image[below, x]
        out[y, x] = total * np.float32(0.2)


def blurred(image: Array, out: Array) -> tuple[Array]:
    """The same, from shifted copies of the picture with its edge repeated."""
    wide = np.pad(image.astype(np.float64), 1, mode="edge")
    middle = wide[1:-1, 1:-1]
    around = wide[1:-1, :-2] + wide[1:-1, 2:] + wide[:-2, 1:-1] + wide[2:, 1:-1]
    return (((middle + around) / 5).astype(out.dtype),)


BLUR = Specification(case_blur, blurred, grid=blocks_over(1), block=(16, 16), outputs=(1,))
