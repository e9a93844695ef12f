"""The rung with wide loads: two neighboring float32 travel as one 8-byte word.

CUDA C++ has `float4`, which one instruction loads as 16 bytes, from an address that is a multiple
of 16. For memory that comes as an argument Numba promises its compiler no more than a multiple of
an element's own size: arrays of `float32x4`, of records and of complex numbers compile to one load
for each part, and four neighboring float32 to four (read off the PTX and the sm_90 machine code of
numba-cuda 0.30). The widest element is an int64, which does compile to one load of 8 bytes, so this
kernel takes its matrices as int64 views, `a.view(np.int64)`, and takes each word apart in
registers. No byte less is moved: there are fewer instructions that move it.

Shared memory is another matter: the compiler places those arrays itself, and makes one load of 16
bytes of four neighbors that begin at a multiple of four, as in `matmul_warp_tiles`.
"""

from typing import Any

import numpy as np

from gpulearn import cuda
from gpulearn.kernels.specification import Array
from gpulearn_lessons.matmul.matmul_ladder import multiplies
from gpulearn_lessons.matmul.matmul_registers import ALONG, COLUMNS, DEPTH, DOWN, HIGH, ROWS, WIDE

# Numba's own; where it is not installed, only the kernels of this module cannot run
libdevice: Any = getattr(cuda, "libdevice", None)
PAIRS_DEEP, PAIRS_ACROSS, PAIRS_WIDE = DEPTH // 2, COLUMNS // 2, WIDE // 2


@cuda.jit(device=True)
def first(pair: np.int64) -> Any:
    """The float32 in the lower half of a word: the one that comes first in memory."""
    return libdevice.int_as_float(pair)


@cuda.jit(device=True)
def second(pair: np.int64) -> Any:
    """The float32 in the upper half of a word."""
    return libdevice.int_as_float(pair >> 32)


@cuda.jit(device=True)
def joined(low: np.float32, high: np.float32) -> Any:
    """Two float32 as one word."""
    word = np.int64(libdevice.float_as_int(high)) << 32
    return word | (np.int64(libdevice.float_as_int(low)) & 0xFFFFFFFF)


@cuda.jit
def matmul_vectorized(a: Array, b: Array, c: Array) -> None:
    """C = A·B as `matmul_register_tiled` computes it, with loads and stores of two elements.

    The matrices come as int64 words: `a` (m, n / 2), `b` (n, p / 2) and `c` (m, p / 2). Where a row
    has an odd length, a column of zeros completes the last pair. Launch: as
    `matmul_register_tiled`.

    Cost: half the load and store instructions, with 8 sectors each where the narrow ones
    have 4; the bytes are the same. In shared memory a warp's 8-byte words take two
    wavefronts, as many as two loads of 4 bytes, but one where neighboring lanes load the same
    word, as they do from the tile of `a`.

    >>> a, c = np.array([[1, 2], [3, 4]], np.float32), np.zeros((2, 2), np.float32)
    >>> matmul_vectorized[(1, 1), (ALONG, DOWN)](*(x.view(np.int64) for x in (a, a, c)))
    >>> c
    array([[ 7., 10.],
           [15., 22.]], dtype=float32)
    """
    tile_a = cuda.shared.array((ROWS, PAIRS_DEEP), np.int64)
    tile_b = cuda.shared.array((DEPTH, PAIRS_ACROSS), np.int64)
    total = cuda.local.array((HIGH, WIDE), np.float32)
    left_side = cuda.local.array(HIGH, np.int64)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    thread = y * ALONG + x
    top, left = cuda.blockIdx.y * ROWS, cuda.blockIdx.x * PAIRS_ACROSS
    for r in range(HIGH):
        for s in range(WIDE):
            total[r, s] = np.float32(0)
    for k in range(0, a.shape[1], PAIRS_DEEP):
        for n in range(thread, ROWS * PAIRS_DEEP, ALONG * DOWN):
            row, q = n // PAIRS_DEEP, n % PAIRS_DEEP
            inside = top + row < a.shape[0] and k + q < a.shape[1]
            tile_a[row, q] = a[top + row, k + q] if inside else 0  # the word of two zeros
        for n in range(thread, DEPTH * PAIRS_ACROSS, ALONG * DOWN):
            q, j = n // PAIRS_ACROSS, n % PAIRS_ACROSS
            inside = 2 * k + q < b.shape[0] and left + j < b.shape[1]
            tile_b[q, j] = b[2 * k + q, left + j] if inside else 0
        cuda.syncthreads()
        for q in range(PAIRS_DEEP):
            for r in range(HIGH):
                left_side[r] = tile_a[y + r * DOWN, q]
            for s in range(PAIRS_WIDE):
                above, below = tile_b[2 * q, x + s * ALONG], tile_b[2 * q + 1, x + s * ALONG]
                for r in range(HIGH):
                    pair = left_side[r]
                    total[r, 2 * s] += first(pair) * first(above)
                    total[r, 2 * s] += second(pair) * first(below)
                    total[r, 2 * s + 1] += first(pair) * second(above)
                    total[r, 2 * s + 1] += second(pair) * second(below)
        cuda.syncthreads()
    for r in range(HIGH):
        for s in range(PAIRS_WIDE):
            i, j = top + y + r * DOWN, left + x + s * ALONG
            if i < c.shape[0] and j < c.shape[1]:
                c[i, j] = joined(total[r, 2 * s], total[r, 2 * s + 1])


MATMUL_VECTORIZED = multiplies(matmul_vectorized, (ALONG, DOWN), PAIRS_ACROSS, ROWS)
