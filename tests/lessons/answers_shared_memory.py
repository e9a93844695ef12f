"""Answers to the exercises of notebook 05 by another hand than the catalogue's."""

import numpy as np
from numba import cuda as numba_cuda
from numba import float32

from gpulearn import cuda
from gpulearn.kernels.blocks import BLOCK
from gpulearn.kernels.transpose import PADDED, TILE
from gpulearn_lessons.shared_memory.convolution import REACH, SIDE
from gpulearn_lessons.shared_memory.stencil import RADIUS, WINDOW

sync = cuda.syncthreads
CELLS = TILE * PADDED
HALVES = (64, 32, 16, 8, 4, 2, 1)
FRAMED = BLOCK + 2


@cuda.jit(device=True)
def pixel(image, r, c):
    if r < 0 or c < 0 or r >= image.shape[0] or c >= image.shape[1]:
        return np.float32(0)
    return image[r, c]


def stencil_center_and_ends(a, out):
    w = cuda.shared.array(WINDOW, float32)
    t, i = cuda.threadIdx.x, cuda.grid(1)
    zero = np.float32(0)
    w[t + RADIUS] = a[i] if i < a.size else zero
    if t < RADIUS:
        w[t] = a[i - RADIUS] if 0 <= i - RADIUS < a.size else zero
    if t >= BLOCK - RADIUS:
        w[t + 2 * RADIUS] = a[i + RADIUS] if i + RADIUS < a.size else zero
    cuda.syncthreads()
    if i >= out.size:
        return
    out[i] = w[t] + w[t + 1] + w[t + 2] + w[t + 3] + w[t + 4] + w[t + 5] + w[t + 6]


def turned_flat_tile(image, out):
    tile = cuda.shared.array(CELLS, np.float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    left, top = cuda.blockIdx.x * TILE, cuda.blockIdx.y * TILE
    rows, columns = image.shape
    tile[y * PADDED + x] = pixel(image, top + y, left + x)
    cuda.syncthreads()
    if left + y < columns and top + x < rows:
        out[left + y, top + x] = tile[x * PADDED + y]


def sum_by_tuple(a, out):
    part = cuda.shared.array(BLOCK, np.float32)
    t, i = cuda.threadIdx.x, cuda.grid(1)
    part[t] = a[i] if i < a.size else np.float32(0)
    for half in HALVES:
        cuda.syncthreads()
        if t < half:
            part[t] = part[t] + part[t + half]
    if t < 1:
        out[cuda.blockIdx.x] = part[t]


def blur_zero_then_fill(image, weights, out):
    tile = cuda.shared.array((SIDE, SIDE), float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    c0, r0 = cuda.blockIdx.x * TILE - REACH, cuda.blockIdx.y * TILE - REACH
    for dy in range(0, SIDE, TILE):
        for dx in range(0, SIDE, TILE):
            if y + dy < SIDE and x + dx < SIDE:
                r, c = r0 + y + dy, c0 + x + dx
                inside = r >= 0 and c >= 0 and r < image.shape[0] and c < image.shape[1]
                tile[y + dy, x + dx] = image[r, c] if inside else float32(0)
    cuda.syncthreads()
    if r0 + REACH + y < image.shape[0] and c0 + REACH + x < image.shape[1]:
        s = float32(0)
        for k in range(25):
            s += weights[k // 5, k % 5] * tile[y + k // 5, x + k % 5]
        out[r0 + REACH + y, c0 + REACH + x] = s


@numba_cuda.jit
def reverse_numba(a):
    s = numba_cuda.shared.array(shape=BLOCK, dtype=float32)
    t = numba_cuda.threadIdx.x
    start = numba_cuda.blockIdx.x * BLOCK
    n = min(BLOCK, a.size - start)
    if t < n:
        s[t] = a[start + t]
    numba_cuda.syncthreads()
    if t < n:
        a[start + t] = s[n - t - 1]


def smooth_padded(a, out):
    cells = cuda.shared.array(FRAMED, np.float32)
    t, i = cuda.threadIdx.x, cuda.grid(1)
    length = min(BLOCK, a.size - i + t)
    mine = a[i] if t < length else np.float32(0)
    for _ in range(3):
        if t < length:
            cells[t + 1] = mine
            if t == 0:
                cells[0] = mine
            if t == length - 1:
                cells[length + 1] = mine
        sync()
        if t < length:
            mine = (cells[t] + mine + cells[t + 2]) / np.float32(3)
        sync()
    if t < length:
        out[i] = mine


def passes_by_numpy(side, width):
    lane = np.arange(32)
    words = np.unique(lane % side * width + lane // side)
    return np.bincount(words % 32).max()


def reverse_early_return(a):
    s = cuda.shared.array(BLOCK, np.float32)
    t, i = cuda.threadIdx.x, cuda.grid(1)
    if i >= a.size:
        return
    length = min(BLOCK, a.size - cuda.blockIdx.x * BLOCK)
    s[t] = a[i]
    cuda.syncthreads()
    a[i] = s[length - 1 - t]


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


def reverse_views(a):
    cells = cuda.shared.array(BLOCK, np.float32)
    t, start = cuda.threadIdx.x, cuda.blockIdx.x * BLOCK
    mine = a[start : start + BLOCK]  # of a block beyond the end: empty
    if t < mine.size:
        cells[t] = mine[mine.size - 1 - t]
    cuda.syncthreads()
    if t < mine.size:
        mine[t] = cells[t]


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


RIGHT = {
    "reverse_block": (reverse_numba, reverse_views),
    "smooth_block": (smooth_padded,),
    "block_sum": (sum_by_tuple,),
    "column_passes": (passes_by_numpy,),
    "transpose_tiled": (turned_flat_tile,),
    "stencil_1d": (stencil_center_and_ends,),
    "conv2d_tiled": (blur_zero_then_fill,),
}

WRONG = [
    ("reverse_block", reverse_names_the_barrier, "write cuda.syncthreads() with parentheses."),
    ("reverse_block", reverse_waits_for_its_warp, "a warp's holds for its own lanes."),
    ("column_passes", passes_of_rows, "for side, width = 32, 32, it returns 1, expected 32"),
    ("reverse_block", reverse_early_return, "reach the barrier. Guard the load"),
    ("transpose_tiled", turned_same_guard, "which nobody has written"),
]
