"""Answers to the exercises of notebook 04 by another hand than the catalogue's."""

import math
from math import sqrt

import numpy as np
from numba import cuda as numba_cuda
from numba import float32

from gpulearn import cuda

STEP = 64


@cuda.jit(device=True)
def length(p, q, r):
    return math.sqrt(p * p + q * q + r * r)


@cuda.jit
def copy_zig(source, target):
    width = cuda.gridDim.x * cuda.blockDim.x
    me = cuda.threadIdx.x + cuda.blockDim.x * cuda.blockIdx.x
    done = 0
    while me + done < len(source):
        value = source[me + done]
        target[me + done] = value
        done += width


@numba_cuda.jit
def copy_numba_for(source, target):
    for position in range(numba_cuda.grid(1), target.shape[0], numba_cuda.gridsize(1)):
        target[position] = source[position]


def copy_warp_by_warp(source, target):
    # each warp has a run of its own; its lanes stay side by side in it
    warps = cuda.gridsize(1) // 32
    warp, lane = cuda.grid(1) // 32, cuda.grid(1) % 32
    each = (source.size // warps + 32) // 32 * 32
    i = warp * each + lane
    while i < (warp + 1) * each:
        if i < source.size:
            target[i] = source[i]
        i += 32


def sums_while(matrix, out):
    c = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    rows, columns = matrix.shape
    if c >= columns:
        return
    s, r = matrix[0, c], 1
    while r < rows:
        s = s + matrix[r, c]
        r += 1
    out[c] = s


def sums_from_below(matrix, out):
    c = cuda.grid(1)
    if c < matrix.shape[1]:
        total = float32(0.0)
        for r in range(matrix.shape[0] - 1, -1, -1):
            total += matrix[r][c]
        out[c] = total


def sums_view(matrix, out):
    c = cuda.grid(1)
    if c < len(out):
        column = matrix[:, c]
        total = np.float32(0)
        for value in column:
            total += value
        out[c] = total


def sums_strided(matrix, out):
    c = cuda.grid(1)
    while c < out.shape[0]:
        even = odd = np.float32(0)
        for r in range(0, matrix.shape[0], 2):
            even += matrix[r, c]
            if r + 1 < matrix.shape[0]:
                odd += matrix[r + 1, c]
        out[c] = even + odd
        c += cuda.gridsize(1)


def norms_helper(x, y, z, out):
    i = cuda.grid(1)
    out_size = out.size
    if i < out_size:
        out[i] = length(x[i], y[i], z[i])


def norms_loop(x, y, z, out):
    i = cuda.threadIdx.x + cuda.blockIdx.x * cuda.blockDim.x
    if i >= x.size:
        return
    s = np.float32(0)
    for v in (x[i], y[i], z[i]):
        s += v * v
    out[i] = sqrt(s)


def norms_hypot(x, y, z, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = math.hypot(math.hypot(x[i], y[i]), z[i])


def transpose_unpacked(image, out):
    (c, r), (rows, columns) = cuda.grid(2), image.shape
    if not (r < rows and c < columns):
        return
    out[c, r] = image[r, c]


def transpose_view(image, out):
    c, r = cuda.grid(2)
    if r < image.shape[0] and c < image.shape[1]:
        out.T[r, c] = image[r, c]


def transpose_rows_in_turn(image, out):
    c = cuda.grid(2)[0]
    if c < image.shape[1]:
        r = cuda.grid(2)[1]
        while r < image.shape[0]:
            out[c, r] = image[r, c]
            r += cuda.blockDim.y * cuda.gridDim.y


RIGHT = {
    "copy_coalesced": (copy_zig, copy_numba_for, copy_warp_by_warp),
    "column_sums": (sums_while, sums_from_below, sums_view, sums_strided),
    "soa_norms": (norms_helper, norms_loop, norms_hypot),
    "transpose_naive": (transpose_unpacked, transpose_view, transpose_rows_in_turn),
}


def copy_serial(source, target):
    if cuda.grid(1) == 0:
        for i in range(source.size):
            target[i] = source[i]


def copy_one_per_block(source, target):
    if cuda.threadIdx.x == 0:
        for i in range(cuda.blockIdx.x, source.size, cuda.gridDim.x):
            target[i] = source[i]


def copy_fixed_step(source, target):
    for i in range(cuda.grid(1), source.size, STEP):
        target[i] = source[i]


def copy_fixed_size(source, target):
    for i in range(cuda.grid(1), 4096, cuda.gridsize(1)):
        target[i] = source[i]


def copy_runs(source, target):
    each = -(-source.size // cuda.gridsize(1))
    for k in range(each):
        i = cuda.grid(1) * each + k
        if i < source.size:
            target[i] = source[i]


def copy_other_way(source, target):
    for i in range(cuda.grid(1), source.size, cuda.gridsize(1)):
        source[i] = target[i]


def copy_position(source, target):
    for i in range(cuda.grid(1), source.size, cuda.gridsize(1)):
        target[i] = i


def copy_skips_round(source, target):
    for i in range(cuda.grid(1), source.size, 2 * cuda.gridsize(1)):
        target[i] = source[i]


def copy_even_stride(source, target):
    # pairs of threads share a number
    for i in range(cuda.grid(1) * 2, source.size, cuda.gridsize(1) * 2):
        target[i] = source[i]
        if i + 1 < source.size:
            target[i + 1] = source[i + 1]


def copy_start_only(source, target):
    i = cuda.grid(1)
    if i < source.size:
        target[i] = source[i]


def copy_reads_twice(source, target):
    for i in range(cuda.grid(1), source.size, cuda.gridsize(1)):
        target[i] = source[i]
        target[i] = source[i]


def sums_of_rows(matrix, out):
    r = cuda.grid(1)
    if r < matrix.shape[0] and r < out.size:
        total = np.float32(0)
        for c in range(matrix.shape[1]):
            total += matrix[r, c]
        out[r] = total


def sums_double(matrix, out):
    c = cuda.grid(1)
    if c < out.size:
        total = 0.0
        for r in range(matrix.shape[0]):
            total += matrix[r, c]
        out[c] = total


def sums_in_out(matrix, out):
    c = cuda.grid(1)
    if c < out.size:
        for r in range(matrix.shape[0]):
            out[c] += matrix[r, c]


def sums_in_out_from_zero(matrix, out):
    c = cuda.grid(1)
    if c < out.size:
        out[c] = 0
        for r in range(matrix.shape[0]):
            out[c] += matrix[r, c]


def sums_written_inside(matrix, out):
    c = cuda.grid(1)
    total = np.float32(0)
    if c < out.size:
        for r in range(matrix.shape[0]):
            total += matrix[r, c]
            out[c] = total


def sums_misses_last_row(matrix, out):
    c = cuda.grid(1)
    total = np.float32(0)
    if c < out.size:
        for r in range(matrix.shape[0] - 1):
            total += matrix[r, c]
        out[c] = total


def sums_48_rows(matrix, out):
    c = cuda.grid(1)
    total = np.float32(0)
    if c < out.size:
        for r in range(48):
            total += matrix[r, c]
        out[c] = total


def sums_guard_rows(matrix, out):
    c = cuda.grid(1)
    total = np.float32(0)
    if c < matrix.shape[0]:
        for r in range(matrix.shape[0]):
            total += matrix[r, c]
        out[c] = total


def sums_means(matrix, out):
    c = cuda.grid(1)
    total = np.float32(0)
    if c < out.size:
        for r in range(matrix.shape[0]):
            total += matrix[r, c]
        out[c] = total / np.float32(matrix.shape[0])


def sums_return_inside(matrix, out):
    c = cuda.grid(1)
    total = np.float32(0)
    if c < out.size:
        for r in range(matrix.shape[0]):
            total += matrix[r, c]
            out[c] = total
            return


def sums_thread_per_row(matrix, out):
    r = cuda.grid(1)
    if r < matrix.shape[0]:
        for c in range(matrix.shape[1]):
            cuda.atomic.add(out, c, matrix[r, c])


def sums_one_thread(matrix, out):
    if cuda.grid(1) == 0:
        for c in range(out.size):
            total = np.float32(0)
            for r in range(matrix.shape[0]):
                total += matrix[r, c]
            out[c] = total


def norms_power_half(x, y, z, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = (x[i] ** 2 + y[i] ** 2 + z[i] ** 2) ** 0.5


def norms_numpy(x, y, z, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = np.linalg.norm(np.array([x[i], y[i], z[i]]))


def norms_abs(x, y, z, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = math.sqrt(x[i] + y[i] + z[i])


def norms_one_thread(x, y, z, out):
    if cuda.grid(1) == 0:
        for i in range(out.size):
            out[i] = math.sqrt(x[i] * x[i] + y[i] * y[i] + z[i] * z[i])


def norms_block_stride(x, y, z, out):
    i = cuda.threadIdx.x * cuda.gridDim.x + cuda.blockIdx.x
    if i < out.size:
        out[i] = math.sqrt(x[i] * x[i] + y[i] * y[i] + z[i] * z[i])


def norms_y_twice(x, y, z, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = math.sqrt(x[i] * x[i] + y[i] * y[i] + z[i] * y[i])


def norms_reciprocal(x, y, z, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = 1 / math.sqrt(x[i] * x[i] + y[i] * y[i] + z[i] * z[i])


def transpose_in_place_view(image, out):
    c, r = cuda.grid(2)
    if r < image.shape[0] and c < image.shape[1]:
        out[r, c] = image.T[r, c]


def transpose_whole(image, out):
    out = image.T  # noqa: F841


def transpose_whole_slice(image, out):
    out[:] = image.T


def transpose_one_thread(image, out):
    x, y = cuda.grid(2)
    if x == 0 and y == 0:
        for r in range(image.shape[0]):
            for c in range(image.shape[1]):
                out[c, r] = image[r, c]


def transpose_row_per_thread(image, out):
    r = cuda.grid(1)
    if r < image.shape[0]:
        for c in range(image.shape[1]):
            out[c, r] = image[r, c]


def transpose_x_block_only(image, out):
    c = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    r = cuda.threadIdx.y
    if r < image.shape[0] and c < image.shape[1]:
        out[c, r] = image[r, c]


def transpose_dims_crossed(image, out):
    c = cuda.blockIdx.x * cuda.blockDim.y + cuda.threadIdx.x
    r = cuda.blockIdx.y * cuda.blockDim.x + cuda.threadIdx.y
    if r < image.shape[0] and c < image.shape[1]:
        out[c, r] = image[r, c]


def transpose_guard_by_out_wrong(image, out):
    c, r = cuda.grid(2)
    if r < out.shape[0] and c < out.shape[1]:
        out[c, r] = image[r, c]


WRONG = [
    (name, answer, "")
    for name, answers in {
        "copy_coalesced": (
            copy_serial,
            copy_one_per_block,
            copy_fixed_step,
            copy_fixed_size,
            copy_runs,
            copy_other_way,
            copy_position,
            copy_skips_round,
            copy_even_stride,
            copy_start_only,
            copy_reads_twice,
        ),
        "column_sums": (
            sums_of_rows,
            sums_double,
            sums_in_out,
            sums_in_out_from_zero,
            sums_written_inside,
            sums_misses_last_row,
            sums_48_rows,
            sums_guard_rows,
            sums_means,
            sums_return_inside,
            sums_thread_per_row,
            sums_one_thread,
        ),
        "soa_norms": (
            norms_power_half,
            norms_numpy,
            norms_abs,
            norms_one_thread,
            norms_block_stride,
            norms_y_twice,
            norms_reciprocal,
        ),
        "transpose_naive": (
            transpose_in_place_view,
            transpose_whole,
            transpose_whole_slice,
            transpose_one_thread,
            transpose_row_per_thread,
            transpose_x_block_only,
            transpose_dims_crossed,
            transpose_guard_by_out_wrong,
        ),
    }.items()
    for answer in answers
]
