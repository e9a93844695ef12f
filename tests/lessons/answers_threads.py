"""Answers to the exercises of notebook 03 by another hand than the catalogue's."""

import numpy as np

from gpulearn import cuda
from gpulearn_lessons.threads.images import BLUE, GREEN, RED

WEIGHTS = (RED, GREEN, BLUE)


def index_float(block, block_size, thread):
    return np.float32(block) * np.float32(block_size) + np.float32(thread)


def saxpy_step_of_grid_dim(alpha, x, y, out):
    for i in range(cuda.grid(1), out.size, cuda.gridDim.x):
        out[i] = alpha * x[i] + y[i]


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
