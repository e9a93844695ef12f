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


def copy_skips_round(source, target):
    for i in range(cuda.grid(1), source.size, 2 * cuda.gridsize(1)):
        target[i] = source[i]


def copy_even_stride(source, target):
    # pairs of threads share a number
    for i in range(cuda.grid(1) * 2, source.size, cuda.gridsize(1) * 2):
        target[i] = source[i]
        if i + 1 < source.size:
            target[i + 1] = source[i + 1]


def sums_in_out_from_zero(matrix, out):
    c = cuda.grid(1)
    if c < out.size:
        out[c] = 0
        for r in range(matrix.shape[0]):
            out[c] += matrix[r, c]


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


def transpose_guard_by_out_wrong(image, out):
    c, r = cuda.grid(2)
    if r < out.shape[0] and c < out.shape[1]:
        out[c, r] = image[r, c]


WRONG = [
    ("copy_coalesced", copy_serial, "are at work"),
    ("copy_coalesced", copy_even_stride, "neighbouring lanes are 8 bytes apart"),
    ("copy_coalesced", copy_skips_round, "832 of 1,700 elements of target are never written"),
    ("column_sums", sums_one_thread, "are at work"),
    ("column_sums", sums_in_out_from_zero, "in a variable of the thread"),
    ("column_sums", sums_return_inside, "all 37 elements of out differ"),
    ("soa_norms", norms_one_thread, "are at work"),
    ("soa_norms", norms_abs, "out[0] is nan"),
    ("transpose_naive", transpose_whole, "nothing is written to the elements of out"),
    ("transpose_naive", transpose_x_block_only, "only the first 8 columns of out are written"),
    ("transpose_naive", transpose_guard_by_out_wrong, "swapped in the guard"),
]
