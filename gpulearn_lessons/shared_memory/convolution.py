"""A 2-D convolution with a small filter: every input read 25 times, then about once.

As in neural networks, the filter is not flipped: `weights[0, 0]` belongs to the neighbor
above and to the left. `image` and `out` are float32 (h, w), `weights` is (5, 5). Both kernels are
launched with blocks of (TILE, TILE) threads in a grid of (ceil(w / TILE), ceil(h / TILE)).
"""

from dataclasses import replace

import numpy as np

from gpulearn import cuda
from gpulearn.kernels.indexing import blocks_over
from gpulearn.kernels.specification import Array, Specification
from gpulearn.kernels.transpose import TILE

REACH = 2  # pixels on each side of the one in the middle: filters have the shape (5, 5)
SIDE = TILE + 2 * REACH  # a tile with its halo


@cuda.jit
def conv2d_naive(image: Array, weights: Array, out: Array) -> None:
    """Weigh each pixel's neighborhood: out[y, x] = Σ_ij weights[i, j]·image[y+i−2, x+j−2].

    Beyond the image's edges is zero. Cost: 25 reads of the image for each output.

    >>> image, out = np.ones((2, 3, 3), np.float32)
    >>> conv2d_naive[1, (TILE, TILE)](image, np.ones((5, 5), np.float32), out)
    >>> out.max()
    np.float32(9.0)
    """
    x, y = cuda.grid(2)
    if y < out.shape[0] and x < out.shape[1]:
        total = np.float32(0)
        for i in range(2 * REACH + 1):
            for j in range(2 * REACH + 1):
                row, column = y + i - REACH, x + j - REACH
                if 0 <= row < image.shape[0] and 0 <= column < image.shape[1]:
                    total += weights[i, j] * image[row, column]
        out[y, x] = total


@cuda.jit
def conv2d_tiled(image: Array, weights: Array, out: Array) -> None:
    """As `conv2d_naive`; each block brings its tile and the halo to shared memory first.

    Cost: SIDE² / TILE² = 1.27 reads of the image for each output, one barrier, no bank
    conflict. A row of a tile starts 2 floats before a sector does, so that it spans 5.
    """
    tile = cuda.shared.array((SIDE, SIDE), np.float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x0, y0 = cuda.blockIdx.x * TILE, cuda.blockIdx.y * TILE
    for i in range(ty, SIDE, TILE):
        for j in range(tx, SIDE, TILE):
            row, column = y0 + i - REACH, x0 + j - REACH
            if 0 <= row < image.shape[0] and 0 <= column < image.shape[1]:
                tile[i, j] = image[row, column]
            else:
                tile[i, j] = 0
    cuda.syncthreads()
    if y0 + ty < out.shape[0] and x0 + tx < out.shape[1]:
        total = np.float32(0)
        for i in range(2 * REACH + 1):
            for j in range(2 * REACH + 1):
                total += weights[i, j] * tile[ty + i, tx + j]
        out[y0 + ty, x0 + tx] = total


def weighed(image: Array, weights: Array, out: Array) -> tuple[Array]:
    """What both kernels compute, added in float64."""
    h, w = image.shape
    padded = np.pad(image, REACH)
    total = np.zeros((h, w))
    for (i, j), weight in np.ndenumerate(weights):
        total += np.float64(weight) * padded[i : i + h, j : j + w]
    return (total.astype(image.dtype),)


CONV2D_NAIVE = Specification(
    conv2d_naive, weighed, grid=blocks_over(2, (TILE, TILE)), block=(TILE, TILE), outputs=(2,)
)
CONV2D_TILED = replace(CONV2D_NAIVE, kernel=conv2d_tiled)
