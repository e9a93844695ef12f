"""Answers to the exercises of notebook 04 by another hand than the catalogue's."""

import math
from math import sqrt

import numpy as np
from numba import cuda as numba_cuda

from gpulearn import cuda


@cuda.jit(device=True)
def length(p, q, r):
    return math.sqrt(p * p + q * q + r * r)


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


def copy_counted(source, target):
    done = 0
    while done * cuda.gridsize(1) + cuda.grid(1) < source.size:
        i = done * cuda.gridsize(1) + cuda.grid(1)
        target[i] = source[i]
        done += 1


def sectors_by_array(start, step_x, step_y, block_x):
    lanes = np.arange(32)
    places = start + lanes % block_x * step_x + lanes // block_x * step_y
    return np.unique(places // 32).size


def stretch_axis_by_axis(points, factors, out):
    n = points.shape[0] * points.shape[1]
    for part in range((n + cuda.gridsize(1) - 1) // cuda.gridsize(1)):
        k = part * cuda.gridsize(1) + cuda.grid(1)
        if k < n:
            factor = factors[k % 3]
            out[k // 3, k % 3] = factor * points[k // 3, k % 3]


RIGHT = {
    "copy_coalesced": (copy_numba_for, copy_counted),
    "sectors_of_a_warp": (sectors_by_array,),
    "column_sums": (sums_view, sums_strided),
    "soa_norms": (norms_helper, norms_loop, norms_hypot),
    "stretch_points": (stretch_axis_by_axis,),
    "transpose_naive": (transpose_view, transpose_rows_in_turn),
}


def copy_serial(source, target):
    if cuda.grid(1) == 0:
        for i in range(source.size):
            target[i] = source[i]


def copy_skips_round(source, target):
    for i in range(cuda.grid(1), source.size, 2 * cuda.gridsize(1)):
        target[i] = source[i]


def copy_even_stride(source, target):
    # pairs of threads share a number
    for i in range(cuda.grid(1) * 2, source.size, cuda.gridsize(1) * 2):
        target[i] = source[i]
        if i + 1 < source.size:
            target[i + 1] = source[i + 1]


def sums_return_inside(matrix, out):
    c = cuda.grid(1)
    total = np.float32(0)
    if c < out.size:
        for r in range(matrix.shape[0]):
            total += matrix[r, c]
            out[c] = total
            return


def sums_one_thread(matrix, out):
    if cuda.grid(1) == 0:
        for c in range(out.size):
            total = np.float32(0)
            for r in range(matrix.shape[0]):
                total += matrix[r, c]
            out[c] = total


def norms_abs(x, y, z, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = math.sqrt(x[i] + y[i] + z[i])


def norms_one_thread(x, y, z, out):
    if cuda.grid(1) == 0:
        for i in range(out.size):
            out[i] = math.sqrt(x[i] * x[i] + y[i] * y[i] + z[i] * z[i])


def transpose_whole(image, out):
    out = image.T  # noqa: F841


def transpose_x_block_only(image, out):
    c = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    r = cuda.threadIdx.y
    if r < image.shape[0] and c < image.shape[1]:
        out[c, r] = image[r, c]


def copy_for_blocks_of_128(source, target):
    first = cuda.blockIdx.x * 128 + cuda.threadIdx.x
    for i in range(first, source.size, 128 * cuda.gridDim.x):
        target[i] = source[i]


def sums_for_blocks_of_32(matrix, out):
    c = cuda.blockIdx.x * 32 + cuda.threadIdx.x
    if c < out.size:
        total = np.float32(0)
        for r in range(matrix.shape[0]):
            total += matrix[r, c]
        out[c] = total


def norms_for_blocks_of_32(x, y, z, out):
    i = 32 * cuda.blockIdx.x + cuda.threadIdx.x
    if i < out.size:
        out[i] = math.sqrt(x[i] * x[i] + y[i] * y[i] + z[i] * z[i])


def transpose_for_blocks_of_8_rows(image, out):
    c = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    r = cuda.blockIdx.y * 8 + cuda.threadIdx.y
    if r < image.shape[0] and c < image.shape[1]:
        out[c, r] = image[r, c]


def sectors_of_one_row(start, step_x, step_y, block_x):
    return len({(start + lane * step_x) // 32 for lane in range(min(32, block_x))})


def sectors_by_span(start, step_x, step_y, block_x):
    return 32 * step_x // 32 + (start % 32 > 0)


def stretch_first_factor_late(points, factors, out):
    for k in range(cuda.grid(1), points.size, cuda.gridsize(1)):
        out[k // 3, k % 3] = factors[cuda.grid(1) % 3] * points[k // 3, k % 3]


def stretch_one_block(points, factors, out):
    if cuda.blockIdx.x == 0:
        for k in range(cuda.threadIdx.x, points.size, cuda.blockDim.x):
            out[k // 3, k % 3] = factors[k % 3] * points[k // 3, k % 3]


WRONG = [
    ("copy_coalesced", copy_warp_by_warp, "for 90 elements, 1 × 20 threads"),
    ("copy_coalesced", copy_for_blocks_of_128, "multiplies blockIdx.x by 128, where blockDim.x is"),
    ("column_sums", sums_for_blocks_of_32, "multiplies blockIdx.x by 32, where blockDim.x is"),
    ("soa_norms", norms_for_blocks_of_32, "multiplies blockIdx.x by 32, where blockDim.x is 64"),
    ("transpose_naive", transpose_for_blocks_of_8_rows, "blockIdx.y by 8, where blockDim.y is"),
    ("sectors_of_a_warp", sectors_of_one_row, "it returns 2, expected 4"),
    ("sectors_of_a_warp", sectors_by_span, "it returns 2048, expected 32"),
    ("stretch_points", stretch_first_factor_late, "elements of out differ"),
    ("stretch_points", stretch_one_block, "so that none does that of others."),
    ("copy_coalesced", copy_serial, "are at work"),
    ("copy_coalesced", copy_even_stride, "neighbouring lanes are 8 bytes apart"),
    ("copy_coalesced", copy_skips_round, "832 of 1,700 elements of target are never written"),
    ("column_sums", sums_one_thread, "are at work"),
    ("column_sums", sums_return_inside, "all 37 elements of out differ"),
    ("soa_norms", norms_one_thread, "are at work"),
    ("soa_norms", norms_abs, "out[0] is nan"),
    ("transpose_naive", transpose_whole, "nothing is written to the elements of out"),
    ("transpose_naive", transpose_x_block_only, "only the first 8 columns of out are written"),
]
