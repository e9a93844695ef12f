"""Answers to the exercises of notebook 05 by another hand than the catalogue's."""

import numpy as np

from gpulearn import cuda
from gpulearn.kernels.blocks import BLOCK
from gpulearn.kernels.transpose import PADDED, TILE


def reverse_early_return(a):
    s = cuda.shared.array(BLOCK, np.float32)
    t, i = cuda.threadIdx.x, cuda.grid(1)
    if i >= a.size:
        return
    length = min(BLOCK, a.size - cuda.blockIdx.x * BLOCK)
    s[t] = a[i]
    cuda.syncthreads()
    a[i] = s[length - 1 - t]


def reverse_stores_unguarded(a):
    s = cuda.shared.array(BLOCK, np.float32)
    t, start = cuda.threadIdx.x, cuda.blockIdx.x * BLOCK
    length = min(BLOCK, a.size - start)
    if t < length:
        s[length - 1 - t] = a[start + t]
    cuda.syncthreads()
    a[start + t] = s[t]


def turned_same_guard(image, out):
    tile = cuda.shared.array((TILE, PADDED), np.float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    c0, r0 = cuda.blockIdx.x * TILE, cuda.blockIdx.y * TILE
    inside = r0 + y < image.shape[0] and c0 + x < image.shape[1]
    if inside:
        tile[y, x] = image[r0 + y, c0 + x]
    cuda.syncthreads()
    if inside:
        out[c0 + y, r0 + x] = tile[x, y]


def reverse_names_the_barrier(a):
    cells = cuda.shared.array(BLOCK, np.float32)
    t, start = cuda.threadIdx.x, cuda.blockIdx.x * BLOCK
    length = min(BLOCK, a.size - start)
    if t < length:
        cells[t] = a[start + t]
    cuda.syncthreads  # noqa: B018
    if t < length:
        a[start + t] = cells[length - 1 - t]


def reverse_waits_for_its_warp(a):
    cells = cuda.shared.array(BLOCK, np.float32)
    t, start = cuda.threadIdx.x, cuda.blockIdx.x * BLOCK
    length = min(BLOCK, a.size - start)
    if t < length:
        cells[t] = a[start + t]
    cuda.syncwarp()
    if t < length:
        a[start + t] = cells[length - 1 - t]


def passes_of_rows(side, width):
    return -(-32 // width)


WRONG = [
    ("reverse_block", reverse_names_the_barrier, "write cuda.syncthreads() with parentheses."),
    ("reverse_block", reverse_waits_for_its_warp, "a warp's holds for its own lanes."),
    ("column_passes", passes_of_rows, "for side, width = 32, 32, it returns 1, expected 32"),
    ("reverse_block", reverse_stores_unguarded, "only its first `length` threads load and store"),
    ("reverse_block", reverse_early_return, "reach the barrier. Guard the load"),
    ("transpose_tiled", turned_same_guard, "which nobody has written"),
]
