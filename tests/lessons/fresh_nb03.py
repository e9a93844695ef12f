"""Answers to the exercises of notebook 03 by another hand than the catalogue's."""

import math

import numba
import numpy as np
from numba import cuda as numba_cuda
from numba import float32, int32

from gpulearn import cuda
from gpulearn.kernels.images import BLUE, GREEN, RED

WEIGHTS = (RED, GREEN, BLUE)


@cuda.jit(device=True)
def my_place(axis):
    if axis == 0:
        return cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    return cuda.blockIdx.y * cuda.blockDim.y + cuda.threadIdx.y


@cuda.jit(device=True)
def inside(array, r, c):
    return 0 <= r < array.shape[0] and 0 <= c < array.shape[1]


def index_keywords(block, block_size, thread):
    here = 0
    while block > 0:
        here += block_size
        block -= 1
        if here > 10**6:  # far out: the rest at once
            here += block * block_size
            break
    return here + thread


def index_sum_of_range(block, block_size, thread):
    return sum((block * block_size, thread))


def blocks_with_if(n, block_size):
    whole = n // block_size
    if n - whole * block_size > 0:
        whole += 1
    return whole


def blocks_from_range(n, block_size):
    return len(range(0, n, block_size))


@cuda.jit
def add_early_return(first, second, result):
    me = my_place(0)
    if me >= len(result):
        return
    result[me] = first[me] + second[me]


@numba_cuda.jit
def add_numbas_decorator(a, b, out):
    t = numba_cuda.threadIdx.x
    i = t + numba_cuda.blockIdx.x * numba_cuda.blockDim.x
    if i < out.shape[0]:
        out[i] = float32(a[i]) + float32(b[i])


def add_once_while(a, b, out):
    i = cuda.grid(1)
    while i < out.size:
        out[i] = a[i] + b[i]
        break


@cuda.jit("void(float32[:], float32[:], float32[:])")
def add_signature(a, b, out):
    tid = cuda.threadIdx.x
    bid = cuda.blockIdx.x
    width = cuda.blockDim.x
    position = int32(bid * width + tid)
    if position < a.size and position < b.size and position < out.size:
        out[position] = a[position] + b[position]


def matrix_flat_helper(a, b, out):
    r, c = my_place(1), my_place(0)
    if inside(out, r, c):
        spot = r, c
        out[spot] = a[spot] + b[spot]


def matrix_two_returns(a, b, out):
    where = cuda.grid(2)
    if where[0] >= a.shape[1]:
        return
    if where[1] >= a.shape[0]:
        return
    out[where[1], where[0]] = b[where[1], where[0]] + a[where[1], where[0]]


def gray_locals(rgb, gray):
    col, row = cuda.grid(2)
    tall, wide = gray.shape
    if row < tall and col < wide:
        parts = cuda.local.array(3, numba.float32)
        for k in range(3):
            parts[k] = rgb[row, col, k]
        gray[row, col] = parts[0] * RED + parts[1] * GREEN + parts[2] * BLUE


def gray_row_view(rgb, gray):
    col, row = cuda.grid(2)
    if row < rgb.shape[0]:
        if col < rgb.shape[1]:
            pixel = rgb[row, col]
            total = np.float32(0)
            for k in range(pixel.size):
                total += WEIGHTS[k] * pixel[k]
            gray[row, col] = total


def gray_in_strides(rgb, gray):
    col, row = cuda.grid(2)
    for r in range(row, gray.shape[0], cuda.blockDim.y * cuda.gridDim.y):
        for c in range(col, gray.shape[1], cuda.blockDim.x * cuda.gridDim.x):
            gray[r, c] = RED * rgb[r, c, 0]
            gray[r, c] += GREEN * rgb[r, c, 1]
            gray[r, c] += BLUE * rgb[r, c, 2]


def saxpy_chunks(alpha, x, y, out):
    everybody = cuda.blockDim.x * cuda.gridDim.x
    rounds = (out.size + everybody - 1) // everybody
    me = my_place(0)
    for k in range(rounds):
        i = k * everybody + me
        out[i if i < out.size else me] = (
            (alpha * x[i] + y[i] if i < out.size else alpha * x[me] + y[me])
            if me < out.size
            else np.float32(0)
        )


def saxpy_contiguous(alpha, x, y, out):
    share = math.ceil(out.size / cuda.gridsize(1))
    for i in range(cuda.grid(1) * share, min(out.size, (cuda.grid(1) + 1) * share)):
        out[i] = alpha * x[i] + y[i]


def saxpy_while_true(alpha, x, y, out):
    i = cuda.grid(1)
    while True:
        if i >= out.size:
            break
        out[i] = alpha * x[i] + y[i]
        i += cuda.gridsize(1)


def saxpy_downwards(alpha, x, y, out):
    i = out.size - 1 - cuda.grid(1)
    while i >= 0:
        ax = alpha * x[i]
        out[i] = ax + y[i]
        i -= cuda.gridsize(1)


RIGHT = {
    "global_index": (index_keywords, index_sum_of_range),
    "blocks_for": (blocks_with_if, blocks_from_range),
    "vector_add": (add_early_return, add_numbas_decorator, add_once_while, add_signature),
    "matrix_add_2d": (matrix_flat_helper, matrix_two_returns),
    "rgb_to_gray": (gray_locals, gray_row_view, gray_in_strides),
    "saxpy_grid_stride": (saxpy_contiguous, saxpy_while_true, saxpy_downwards),
}


def index_prints(block, block_size, thread):
    print(block * block_size + thread)


def index_of_128(block, block_size, thread):
    return block * 128 + thread


def index_power(block, block_size, thread):
    return block_size**block + thread


def index_float(block, block_size, thread):
    return np.float32(block) * np.float32(block_size) + np.float32(thread)


def blocks_text(n, block_size):
    return f"{n // block_size + 1}"


def blocks_capped(n, block_size):
    return min(1024, (n + block_size - 1) // block_size)


def blocks_of_float32(n, block_size):
    return int(np.ceil(np.float32(n) / np.float32(block_size)))


def add_thread_id_only_block_id(a, b, out):
    i = cuda.blockIdx.x
    if i < out.size:
        out[i] = a[i] + b[i]


def add_block_as_offset(a, b, out):
    i = cuda.threadIdx.x + cuda.blockIdx.x
    if i < out.size:
        out[i] = a[i] + b[i]


def add_grid_dim_for_block_dim(a, b, out):
    i = cuda.threadIdx.x + cuda.blockIdx.x * cuda.gridDim.x
    if i < out.size:
        out[i] = a[i] + b[i]


def add_first_to_itself(a, b, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = a[i] + a[i]


def add_accumulates(a, b, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] += a[i] + b[i]


def add_into_first(a, b, out):
    i = cuda.grid(1)
    if i < out.size:
        a[i] += b[i]


def add_serial(a, b, out):
    if cuda.grid(1) == 0:
        for i in range(out.size):
            out[i] = a[i] + b[i]


def add_block_zero_serial(a, b, out):
    if cuda.threadIdx.x == 0:
        start = cuda.blockIdx.x * cuda.blockDim.x
        for i in range(start, min(start + cuda.blockDim.x, out.size)):
            out[i] = a[i] + b[i]


def add_guard_skips_last(a, b, out):
    i = cuda.grid(1)
    if i < out.size - 1:
        out[i] = a[i] + b[i]


def add_guard_skips_first(a, b, out):
    i = cuda.grid(1)
    if 0 < i < out.size:
        out[i] = a[i] + b[i]


def add_full_blocks_only(a, b, out):
    i = cuda.grid(1)
    if i < out.size // cuda.blockDim.x * cuda.blockDim.x:
        out[i] = a[i] + b[i]


def add_constant_sum(a, b, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = 3.0


def add_times(a, b, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = a[i] * b[i]


def add_as_doubles(a, b, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = float(a[i]) + float(b[i])


def add_shifted(a, b, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = a[i] + b[i - 1]


def add_clamped(a, b, out):
    # every thread beyond the end does the last element once more, with a value of its own
    i = min(cuda.grid(1), out.size - 1)
    out[i] = a[i] + b[i] + (cuda.grid(1) - i)


def add_index_from_one(a, b, out):
    i = cuda.grid(1) + 1
    if i <= out.size:
        out[i] = a[i] + b[i]


def add_misspelt(a, b, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = a[i] + c[i]  # noqa: F821


def add_size_as_call(a, b, out):
    i = cuda.grid(1)
    if i < out.size():
        out[i] = a[i] + b[i]


def matrix_size_guard(a, b, out):
    x, y = cuda.grid(2)
    if x * y < out.size:
        out[y, x] = a[y, x] + b[y, x]


def matrix_one_dimension(a, b, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = a[i] + b[i]


def matrix_flat_wrong_width(a, b, out):
    x, y = cuda.grid(2)
    i = y * cuda.gridDim.x * cuda.blockDim.x + x
    if i < out.size:
        out[i // out.shape[1], i % out.shape[1]] = (
            a[i // out.shape[1], i % out.shape[1]] + b[i // out.shape[1], i % out.shape[1]]
        )


def matrix_guard_off_in_rows(a, b, out):
    x, y = cuda.grid(2)
    if x < out.shape[1] and y <= out.shape[0]:
        out[y, x] = a[y, x] + b[y, x]


def matrix_row_per_thread(a, b, out):
    x, y = cuda.grid(2)
    if y < out.shape[0]:
        for k in range(out.shape[1]):
            out[y, k] = a[y, k] + b[y, k]


def matrix_transposed_inputs(a, b, out):
    x, y = cuda.grid(2)
    if x < out.shape[1] and y < out.shape[0]:
        out[y, x] = a[x, y] + b[x, y]


def gray_mean_of_two(rgb, gray):
    x, y = cuda.grid(2)
    if x < gray.shape[1] and y < gray.shape[0]:
        gray[y, x] = (rgb[y, x, 0] + rgb[y, x, 1]) / 2


def gray_bgr(rgb, gray):
    x, y = cuda.grid(2)
    if x < gray.shape[1] and y < gray.shape[0]:
        gray[y, x] = BLUE * rgb[y, x, 0] + GREEN * rgb[y, x, 1] + RED * rgb[y, x, 2]


def gray_from_one(rgb, gray):
    x, y = cuda.grid(2)
    if x < gray.shape[1] and y < gray.shape[0]:
        gray[y, x] = RED * rgb[y, x, 1] + GREEN * rgb[y, x, 2] + BLUE * rgb[y, x, 3]


def gray_scaled(rgb, gray):
    x, y = cuda.grid(2)
    if x < gray.shape[1] and y < gray.shape[0]:
        s = RED * rgb[y, x, 0] + GREEN * rgb[y, x, 1] + BLUE * rgb[y, x, 2]
        gray[y, x] = s / np.float32(255)


def gray_channel_first(rgb, gray):
    x, y = cuda.grid(2)
    if x < gray.shape[1] and y < gray.shape[0]:
        gray[y, x] = RED * rgb[0, y, x] + GREEN * rgb[1, y, x] + BLUE * rgb[2, y, x]


def gray_swapped_read(rgb, gray):
    x, y = cuda.grid(2)
    if x < gray.shape[1] and y < gray.shape[0]:
        gray[y, x] = RED * rgb[x, y, 0] + GREEN * rgb[x, y, 1] + BLUE * rgb[x, y, 2]


def gray_double_weights(rgb, gray):
    x, y = cuda.grid(2)
    if x < gray.shape[1] and y < gray.shape[0]:
        gray[y, x] = 0.299 * rgb[y, x, 0] + 0.587 * rgb[y, x, 1] + 0.114 * rgb[y, x, 2]


def saxpy_blocks_share(alpha, x, y, out):
    for i in range(cuda.threadIdx.x, out.size, cuda.gridsize(1)):
        out[i] = alpha * x[i] + y[i]


def saxpy_step_of_grid_dim(alpha, x, y, out):
    for i in range(cuda.grid(1), out.size, cuda.gridDim.x):
        out[i] = alpha * x[i] + y[i]


def saxpy_alpha_on_both(alpha, x, y, out):
    for i in range(cuda.grid(1), out.size, cuda.gridsize(1)):
        out[i] = alpha * (x[i] + y[i])


def saxpy_alpha_two(alpha, x, y, out):
    for i in range(cuda.grid(1), out.size, cuda.gridsize(1)):
        out[i] = 2 * x[i] + y[i]


def saxpy_plus_out(alpha, x, y, out):
    for i in range(cuda.grid(1), out.size, cuda.gridsize(1)):
        out[i] = alpha * x[i] + out[i]


def saxpy_two_rounds(alpha, x, y, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = alpha * x[i] + y[i]
    i += cuda.gridsize(1)
    if i < out.size:
        out[i] = alpha * x[i] + y[i]


def saxpy_one_thread(alpha, x, y, out):
    if cuda.grid(1) == 0:
        for i in range(out.size):
            out[i] = alpha * x[i] + y[i]


def saxpy_everybody_all(alpha, x, y, out):
    for i in range(out.size):
        out[i] = alpha * x[i] + y[i]


def saxpy_step_fixed(alpha, x, y, out):
    for i in range(cuda.grid(1), out.size, 128):
        out[i] = alpha * x[i] + y[i]


def saxpy_inclusive(alpha, x, y, out):
    i = cuda.grid(1)
    while i <= out.size:
        out[i] = alpha * x[i] + y[i]
        i += cuda.gridsize(1)


WRONG = [
    ("global_index", index_prints, ""),
    ("global_index", index_of_128, ""),
    ("global_index", index_power, ""),
    ("global_index", index_float, ""),
    ("blocks_for", blocks_text, ""),
    ("blocks_for", blocks_capped, ""),
    ("blocks_for", blocks_of_float32, ""),
    ("vector_add", add_thread_id_only_block_id, ""),
    ("vector_add", add_block_as_offset, ""),
    ("vector_add", add_grid_dim_for_block_dim, ""),
    ("vector_add", add_first_to_itself, ""),
    ("vector_add", add_accumulates, ""),
    ("vector_add", add_into_first, ""),
    ("vector_add", add_serial, ""),
    ("vector_add", add_block_zero_serial, ""),
    ("vector_add", add_guard_skips_last, ""),
    ("vector_add", add_guard_skips_first, ""),
    ("vector_add", add_full_blocks_only, ""),
    ("vector_add", add_constant_sum, ""),
    ("vector_add", add_times, ""),
    ("vector_add", add_as_doubles, ""),
    ("vector_add", add_shifted, ""),
    ("vector_add", add_clamped, ""),
    ("vector_add", add_index_from_one, ""),
    ("vector_add", add_misspelt, ""),
    ("vector_add", add_size_as_call, ""),
    ("matrix_add_2d", matrix_size_guard, ""),
    ("matrix_add_2d", matrix_one_dimension, ""),
    ("matrix_add_2d", matrix_flat_wrong_width, ""),
    ("matrix_add_2d", matrix_guard_off_in_rows, ""),
    ("matrix_add_2d", matrix_row_per_thread, ""),
    ("matrix_add_2d", matrix_transposed_inputs, ""),
    ("rgb_to_gray", gray_mean_of_two, ""),
    ("rgb_to_gray", gray_bgr, ""),
    ("rgb_to_gray", gray_from_one, ""),
    ("rgb_to_gray", gray_scaled, ""),
    ("rgb_to_gray", gray_channel_first, ""),
    ("rgb_to_gray", gray_swapped_read, ""),
    ("rgb_to_gray", gray_double_weights, ""),
    ("saxpy_grid_stride", saxpy_chunks, ""),
    ("saxpy_grid_stride", saxpy_blocks_share, ""),
    ("saxpy_grid_stride", saxpy_step_of_grid_dim, ""),
    ("saxpy_grid_stride", saxpy_alpha_on_both, ""),
    ("saxpy_grid_stride", saxpy_alpha_two, ""),
    ("saxpy_grid_stride", saxpy_plus_out, ""),
    ("saxpy_grid_stride", saxpy_two_rounds, ""),
    ("saxpy_grid_stride", saxpy_one_thread, ""),
    ("saxpy_grid_stride", saxpy_everybody_all, ""),
    ("saxpy_grid_stride", saxpy_step_fixed, ""),
    ("saxpy_grid_stride", saxpy_inclusive, ""),
]
