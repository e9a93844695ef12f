"""A blur: each pixel becomes the mean of itself and its four neighbours."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpulearn import cuda
from gpulearn.kernels.specification import Specification, blocks_along

__all__ = ["BLUR", "case_blur"]

Picture = np.ndarray[tuple[int, int], Any]


@cuda.jit
def case_blur(image: Picture, out: Picture) -> None:
    """out[y, x] = (image[y, x] + left + right + above + below) / 5, a thread for each pixel.

    A neighbour that would lie beyond the edge is the pixel itself.

    Args:
        image: float32 (h, w).
        out: float32 (h, w), overwritten.

    Launch: two-dimensional, x over columns and y over rows, with at least w × h threads.
    Cost: 5 reads for each pixel, one write.

    >>> image, out = np.zeros((3, 3), np.float32), cuda.device_array((3, 3), np.float32)
    >>> image[1, 1] = 1
    >>> case_blur[1, (4, 4)](cuda.to_device(image), out)
    >>> out.copy_to_host().round(1).tolist()[1]
    [0.20000000298023224, 0.20000000298023224, 0.20000000298023224]
    """
    x, y = cuda.grid(2)
    height, width = image.shape
    if x < width and y < height:
        left, right = max(x - 1, 0), min(x + 1, width - 1)
        above, below = max(y - 1, 0), min(y + 1, height - 1)
        total = image[y, x] + image[y, left] + image[y, right]
        total += image[above, x] + image[below, x]
        out[y, x] = total * np.float32(0.2)


def blurred(image: Picture, out: Picture) -> tuple[Picture]:
    """The same, from shifted copies of the picture with its edge repeated."""
    wide = np.pad(image.astype(np.float64), 1, mode="edge")
    middle = wide[1:-1, 1:-1]
    around = wide[1:-1, :-2] + wide[1:-1, 2:] + wide[:-2, 1:-1] + wide[2:, 1:-1]
    return (((middle + around) / 5).astype(out.dtype),)


BLUR = Specification(
    case_blur,
    blurred,
    grid=lambda image, out, block: blocks_along(out.shape[::-1], block),
    block=(16, 16),
    outputs=(1,),
)
