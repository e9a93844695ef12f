"""Answers to the exercises of notebook 03 by another hand than the catalogue's."""

import numba
import numpy as np
from numba import cuda as numba_cuda
from numba import float32, int32

from gpulearn import cuda
from gpulearn_lessons.threads.images import BLUE, GREEN, RED

WEIGHTS = (RED, GREEN, BLUE)


@cuda.jit(device=True)
def my_place(axis):
    if axis == 0:
        return cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    return cuda.blockIdx.y * cuda.blockDim.y + cuda.threadIdx.y


@cuda.jit(device=True)
def inside(array, r, c):
    return 0 <= r < array.shape[0] and 0 <= c < array.shape[1]


def index_sum_of_range(block, block_size, thread):
    return sum((block * block_size, thread))


def blocks_from_range(n, block_size):
    return len(range(0, n, block_size))


@numba_cuda.jit
def add_numbas_decorator(a, b, out):
    t = numba_cuda.threadIdx.x
    i = t + numba_cuda.blockIdx.x * numba_cuda.blockDim.x
    if i < out.shape[0]:
        out[i] = float32(a[i]) + float32(b[i])


@cuda.jit("void(float32[:], float32[:], float32[:])")
def add_signature(a, b, out):
    tid = cuda.threadIdx.x
    bid = cuda.blockIdx.x
    width = cuda.blockDim.x
    position = int32(bid * width + tid)
    if position < a.size and position < b.size and position < out.size:
        out[position] = a[position] + b[position]


def add_chained(p, q, r):
    k = cuda.grid(1)
    if 0 <= k < q.size:
        r[k] = p[k]
        r[k] += q[k]


def matrices_nested(p, q, r):
    column, row = cuda.grid(2)
    m, n = p.shape
    if row < m and column < n:
        r[row][column] = p[row][column] + q[row][column]


def matrix_flat_helper(a, b, out):
    r, c = my_place(1), my_place(0)
    if inside(out, r, c):
        spot = r, c
        out[spot] = a[spot] + b[spot]


def gray_from_green(color, g):
    x, y = cuda.grid(2)
    height, width, _ = color.shape
    if x >= width or y >= height:
        return
    red, green, blue = color[y, x]
    g[y, x] = np.float32(green) * GREEN + np.float32(red) * RED + np.float32(blue) * BLUE


def gray_locals(rgb, gray):
    col, row = cuda.grid(2)
    tall, wide = gray.shape
    if row < tall and col < wide:
        parts = cuda.local.array(3, numba.float32)
        for k in range(3):
            parts[k] = rgb[row, col, k]
        gray[row, col] = parts[0] * RED + parts[1] * GREEN + parts[2] * BLUE


def saxpy_while_true(alpha, x, y, out):
    i = cuda.grid(1)
    while True:
        if i >= out.size:
            break
        out[i] = alpha * x[i] + y[i]
        i += cuda.gridsize(1)


def index_float(block, block_size, thread):
    return np.float32(block) * np.float32(block_size) + np.float32(thread)


def saxpy_step_of_grid_dim(alpha, x, y, out):
    for i in range(cuda.grid(1), out.size, cuda.gridDim.x):
        out[i] = alpha * x[i] + y[i]


def mirror_early_return(picture, out):
    x, y = cuda.grid(2)
    if y >= out.shape[0] or x >= out.shape[1]:
        return
    out[y, out.shape[1] - x - 1] = picture[y, x]


def guard_by_lists(n, block_size):
    threads = min(block_size, n % block_size or block_size)
    full = -(-n // block_size)
    split = threads != block_size and threads // 32 != threads / 32
    return full, block_size - threads, 1 if split else 0


def held_by_units(block_size, most_threads, most_blocks):
    room = -(-block_size // 32) * 32
    return sum(room // 32 for k in range(most_blocks) if (k + 1) * room <= most_threads)


RIGHT = {
    "global_index": (index_sum_of_range,),
    "vector_add": (add_numbas_decorator, add_signature, add_chained),
    "blocks_for": (blocks_from_range,),
    "guard_cost": (guard_by_lists,),
    "matrix_add_2d": (matrix_flat_helper, matrices_nested),
    "rgb_to_gray": (gray_locals, gray_from_green),
    "mirror": (mirror_early_return,),
    "warps_held": (held_by_units,),
    "saxpy_grid_stride": (saxpy_while_true,),
}


def index_for_small_blocks(block, block_size, thread):
    return block * block_size + thread % 32


def add_blocks_of_128(a, b, out):
    i = cuda.blockIdx.x * 128 + cuda.threadIdx.x
    if i < out.size:
        out[i] = a[i] + b[i]


def matrix_blocks_of_16(a, b, out):
    x = cuda.blockIdx.x * 16 + cuda.threadIdx.x
    y = cuda.blockIdx.y * 16 + cuda.threadIdx.y
    if x < out.shape[1] and y < out.shape[0]:
        out[y, x] = a[y, x] + b[y, x]


def gray_total_from_zero(rgb, gray):
    x, y = cuda.grid(2)
    if x < gray.shape[1] and y < gray.shape[0]:
        total = 0.0
        for k in range(3):
            total += WEIGHTS[k] * rgb[y, x, k]
        gray[y, x] = total


def guard_two_numbers(n, block_size):
    return -(-n // block_size), -n % block_size


WRONG = [
    ("global_index", index_for_small_blocks, "it returns 516, expected 612"),
    ("vector_add", add_blocks_of_128, "multiplies blockIdx.x by 128, where blockDim.x is 32."),
    ("matrix_add_2d", matrix_blocks_of_16, "multiplies blockIdx.y by 16, where blockDim.y is 8."),
    ("rgb_to_gray", gray_total_from_zero, "start a sum at np.float32(0)."),
    (
        "guard_cost",
        guard_two_numbers,
        "return three numbers, blocks, idle threads, warps that diverge",
    ),
    ("global_index", index_float, "expected 17179869189"),
    ("saxpy_grid_stride", saxpy_step_of_grid_dim, "Several threads compute the same elements"),
]
