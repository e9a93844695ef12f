"""Answers to the exercises of notebook 06 by another hand than the catalogue's."""

import numpy as np
from numba import cuda as numba_cuda
from numba import float32

from gpulearn import cuda
from gpulearn_lessons.matmul.matmul_ladder import TILE
from gpulearn_lessons.matmul.matmul_registers import (
    ALONG,
    COLUMNS,
    DEPTH,
    DOWN,
    HIGH,
    ROWS,
    STRIP,
    WIDE,
)

EDGE = TILE + 1
ELEMENTS = ROWS * DEPTH


@cuda.jit(device=True)
def dot(a, b, r, s):
    total = np.float32(0)
    for k in range(b.shape[0]):
        total += a[r, k] * b[k, s]
    return total


@cuda.jit(device=True)
def cell(matrix, r, s):
    if r >= matrix.shape[0] or s >= matrix.shape[1]:
        return np.float32(0)
    return matrix[r, s]


def naive_by_helper(a, b, c):
    row, column = cuda.grid(2)
    if row >= c.shape[0]:
        return
    if column < c.shape[1]:
        c[row, column] = dot(a, b, row, column)


@numba_cuda.jit
def coalesced_numba(a, b, c):
    s, r = numba_cuda.grid(2)
    if s < b.shape[1] and r < a.shape[0]:
        row = a[r]
        total = row[0] * b[0, s]
        for k in range(1, row.size):
            total += row[k] * b[k, s]
        c[r, s] = total


def tiled_while_padded(a, b, c):
    left = cuda.shared.array((TILE, EDGE), np.float32)
    right = cuda.shared.array((TILE, EDGE), np.float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    s, r = cuda.grid(2)
    total, first = np.float32(0), 0
    while first < b.shape[0]:
        left[y, x] = 0
        right[y, x] = 0
        if r < a.shape[0] and first + x < a.shape[1]:
            left[y, x] = a[r, first + x]
        if first + y < b.shape[0] and s < b.shape[1]:
            right[y, x] = b[first + y, s]
        cuda.syncthreads()
        last = min(TILE, b.shape[0] - first)
        k = 0
        while k < last:
            total += left[y, k] * right[k, x]
            k += 1
        first += TILE
        if first < b.shape[0]:
            cuda.syncthreads()
    if r < c.shape[0] and s < c.shape[1]:
        c[r, s] = total


def registers_row_by_row(a, b, c):
    left = cuda.shared.array((ROWS, DEPTH), float32)
    right = cuda.shared.array((DEPTH, COLUMNS), float32)
    sums = cuda.local.array((HIGH, WIDE), float32)
    up = cuda.local.array(HIGH, float32)
    side = cuda.local.array(WIDE, float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    sums[:, :] = 0
    for first in range(0, b.shape[0], DEPTH):
        # a warp is (8, 4) threads: x goes along a row of a, which holds DEPTH = 8 elements
        for r in range(y, ROWS, DOWN):
            left[r, x] = cell(a, cuda.blockIdx.y * ROWS + r, first + x)
        # and 64 threads are as many as b has columns in a tile
        for q in range(DEPTH):
            s = x + ALONG * y
            right[q, s] = cell(b, first + q, cuda.blockIdx.x * COLUMNS + s)
        cuda.syncthreads()
        for q in range(DEPTH):
            for r in range(HIGH):
                up[r] = left[y + r * DOWN, q]
            for s in range(WIDE):
                side[s] = right[q, x + s * ALONG]
            for s in range(WIDE):
                for r in range(HIGH):
                    sums[r, s] += up[r] * side[s]
        cuda.syncthreads()
    for s in range(WIDE):
        for r in range(HIGH):
            i, j = cuda.blockIdx.y * ROWS + y + r * DOWN, cuda.blockIdx.x * COLUMNS + x + s * ALONG
            if i < c.shape[0] and j < c.shape[1]:
                c[i, j] = sums[r, s]


def intensity_of_a_block(rows, columns, n):
    flops, moved = 0, 4 * rows * columns
    for _ in range(n):
        flops += 2 * rows * columns
        moved += 4 * (rows + columns)
    return flops / moved


def strip_by_halves(a, b, c):
    tiles = cuda.shared.array((2, ELEMENTS), np.float32)
    sums = cuda.local.array(STRIP, np.float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    me = y * COLUMNS + x
    row, left = cuda.blockIdx.y * ROWS, cuda.blockIdx.x * COLUMNS
    for r in range(STRIP):
        sums[r] = 0
    for k in range(0, a.shape[1], DEPTH):
        i, q = row + me // DEPTH, k + me % DEPTH
        tiles[0, me] = a[i, q] if i < a.shape[0] and q < a.shape[1] else np.float32(0)
        q, j = k + y, left + x
        tiles[1, me] = b[q, j] if q < b.shape[0] and j < b.shape[1] else np.float32(0)
        cuda.syncthreads()
        for q in range(DEPTH):
            above = tiles[1, q * COLUMNS + x]
            for r in range(STRIP):
                sums[r] += tiles[0, (y * STRIP + r) * DEPTH + q] * above
        cuda.syncthreads()
    for r in range(STRIP):
        if row + y * STRIP + r < c.shape[0] and left + x < c.shape[1]:
            c[row + y * STRIP + r, left + x] = sums[r]


RIGHT = {
    "matmul_naive": (naive_by_helper,),
    "matmul_coalesced": (coalesced_numba,),
    "matmul_tiled": (tiled_while_padded,),
    "tile_intensity": (intensity_of_a_block,),
    "matmul_register_strip": (strip_by_halves,),
    "matmul_register_tiled": (registers_row_by_row,),
}


def tiled_shared_unread(a, b, c):
    left = cuda.shared.array((TILE, TILE), np.float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    s, r = cuda.grid(2)
    left[y, x] = 0
    if r < c.shape[0] and s < c.shape[1]:
        c[r, s] = dot(a, b, r, s)


def registers_straight(a, b, c):
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    top, edge = cuda.blockIdx.y * ROWS, cuda.blockIdx.x * COLUMNS
    for r in range(HIGH):
        for s in range(WIDE):
            i, j = top + y + r * DOWN, edge + x + s * ALONG
            if i < c.shape[0] and j < c.shape[1]:
                c[i, j] = dot(a, b, i, j)


WRONG = [
    ("matmul_tiled", tiled_shared_unread, "it never reads what it writes to shared memory"),
    ("matmul_register_tiled", registers_straight, "it never writes to shared memory"),
]
