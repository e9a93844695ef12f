"""Answers to the exercises of notebook 06 by another hand than the catalogue's."""

import numpy as np

from gpulearn import cuda
from gpulearn_lessons.matmul.matmul_ladder import TILE
from gpulearn_lessons.matmul.matmul_registers import ALONG, COLUMNS, DOWN, HIGH, ROWS, WIDE


@cuda.jit(device=True)
def dot(a, b, r, s):
    total = np.float32(0)
    for k in range(b.shape[0]):
        total += a[r, k] * b[k, s]
    return total


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
