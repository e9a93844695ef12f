"""A kernel in which a few threads, warps or blocks do the work of all is right, and is refused."""

import math

import numpy as np
import pytest

from gpulearn import cuda
from gpulearn.judge.budgets import ALONE
from gpulearn.judge.catalogue import find
from gpulearn.judge.diagnosis import diagnose
from gpulearn.judge.kernel_exercise import SHARE
from gpulearn_lessons.threads.images import BLUE, GREEN, RED


def first_warp_of_each_block(a, b, out):
    first, thread = cuda.blockIdx.x * cuda.blockDim.x, cuda.threadIdx.x
    if thread < 32:
        for i in range(first + thread, min(first + cuda.blockDim.x, out.size), 32):
            out[i] = a[i] + b[i]


def thread_for_each_row(a, b, out):
    x, y = cuda.grid(2)
    if x == 0 and y < out.shape[0]:
        for j in range(out.shape[1]):
            out[y, j] = a[y, j] + b[y, j]


def left_blocks_of_a_picture(rgb, gray):
    x, y = cuda.grid(2)
    if cuda.blockIdx.x == 0 and y < gray.shape[0]:
        for j in range(x, gray.shape[1], cuda.blockDim.x):
            gray[y, j] = RED * rgb[y, j, 0] + GREEN * rgb[y, j, 1] + BLUE * rgb[y, j, 2]


def upper_blocks(picture, out):
    rows, columns = picture.shape
    x, y = cuda.grid(2)
    if x < columns and cuda.blockIdx.y == 0:
        for i in range(y, rows, cuda.blockDim.y):
            out[i, columns - 1 - x] = picture[i, x]


def last_block(alpha, x, y, out):
    if cuda.blockIdx.x == cuda.gridDim.x - 1:
        for i in range(cuda.threadIdx.x, out.size, cuda.blockDim.x):
            out[i] = alpha * x[i] + y[i]


def first_warp_copies(source, target):
    start = cuda.grid(1)
    if start < 32:
        for i in range(start, source.size, min(32, cuda.gridsize(1))):
            target[i] = source[i]


def first_block_measures(x, y, z, out):
    if cuda.blockIdx.x == 0:
        for i in range(cuda.threadIdx.x, out.size, cuda.blockDim.x):
            out[i] = math.sqrt(x[i] * x[i] + y[i] * y[i] + z[i] * z[i])


def first_warp_sums(matrix, out):
    start = cuda.grid(1)
    if start < 32:
        for column in range(start, out.size, min(32, cuda.gridsize(1))):
            total = np.float32(0)
            for row in range(matrix.shape[0]):
                total += matrix[row, column]
            out[column] = total


def thread_for_each_column_turns(image, out):
    x, y = cuda.grid(2)
    if y == 0 and x < image.shape[1]:
        for i in range(image.shape[0]):
            out[x, i] = image[i, x]


def first_warp_loads(image, out):
    tile = cuda.shared.array((32, 33), np.float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    left, top = 32 * cuda.blockIdx.x, 32 * cuda.blockIdx.y
    if y == 0 and left + x < image.shape[1]:
        for k in range(min(32, image.shape[0] - top)):
            tile[k, x] = image[top + k, left + x]
    cuda.syncthreads()
    if left + y < out.shape[0] and top + x < out.shape[1]:
        out[left + y, top + x] = tile[x, y]


@pytest.mark.parametrize(
    ("name", "answer"),
    [
        ("vector_add", first_warp_of_each_block),
        ("matrix_add_2d", thread_for_each_row),
        ("rgb_to_gray", left_blocks_of_a_picture),
        ("mirror", upper_blocks),
        ("saxpy_grid_stride", last_block),
        ("copy_coalesced", first_warp_copies),
        ("soa_norms", first_block_measures),
        ("column_sums", first_warp_sums),
        ("transpose_naive", thread_for_each_column_turns),
        ("transpose_tiled", first_warp_loads),
    ],
)
def test_a_few_that_do_everything_are_refused(name, answer):
    said = diagnose(find(name), answer)
    assert said.startswith("the results are right, but for ")
    assert said.endswith((SHARE, ALONE)), said
