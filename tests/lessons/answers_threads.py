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


def saxpy_while_true(alpha, x, y, out):
    i = cuda.grid(1)
    while True:
        if i >= out.size:
            break
        out[i] = alpha * x[i] + y[i]
        i += cuda.gridsize(1)


def index_prints(block, block_size, thread):
    print(block * block_size + thread)


def index_float(block, block_size, thread):
    return np.float32(block) * np.float32(block_size) + np.float32(thread)


def add_accumulates(a, b, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] += a[i] + b[i]


def add_serial(a, b, out):
    if cuda.grid(1) == 0:
        for i in range(out.size):
            out[i] = a[i] + b[i]


def add_guard_skips_first(a, b, out):
    i = cuda.grid(1)
    if 0 < i < out.size:
        out[i] = a[i] + b[i]


def add_floats(a, b, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = float(a[i]) + float(b[i])


def add_shifted(a, b, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = a[i] + b[i - 1]


def add_index_from_one(a, b, out):
    i = cuda.grid(1) + 1
    if i <= out.size:
        out[i] = a[i] + b[i]


def matrix_size_guard(a, b, out):
    x, y = cuda.grid(2)
    if x * y < out.size:
        out[y, x] = a[y, x] + b[y, x]


def gray_scaled(rgb, gray):
    x, y = cuda.grid(2)
    if x < gray.shape[1] and y < gray.shape[0]:
        s = RED * rgb[y, x, 0] + GREEN * rgb[y, x, 1] + BLUE * rgb[y, x, 2]
        gray[y, x] = s / np.float32(255)


def saxpy_step_of_grid_dim(alpha, x, y, out):
    for i in range(cuda.grid(1), out.size, cuda.gridDim.x):
        out[i] = alpha * x[i] + y[i]


def saxpy_plus_out(alpha, x, y, out):
    for i in range(cuda.grid(1), out.size, cuda.gridsize(1)):
        out[i] = alpha * x[i] + out[i]


def saxpy_one_thread(alpha, x, y, out):
    if cuda.grid(1) == 0:
        for i in range(out.size):
            out[i] = alpha * x[i] + y[i]


def mirror_early_return(picture, out):
    x, y = cuda.grid(2)
    if y >= out.shape[0] or x >= out.shape[1]:
        return
    out[y, out.shape[1] - x - 1] = picture[y, x]


def mirror_half(picture, out):
    rows, columns = picture.shape
    x, y = cuda.grid(2)
    if x < columns // 2 and y < rows:
        out[y, columns - 1 - x] = picture[y, x]


def guard_by_lists(n, block_size):
    threads = min(block_size, n % block_size or block_size)
    full = -(-n // block_size)
    split = threads != block_size and threads // 32 != threads / 32
    return full, block_size - threads, 1 if split else 0


def held_by_units(block_size, most_threads, most_blocks):
    room = -(-block_size // 32) * 32
    return sum(room // 32 for k in range(most_blocks) if (k + 1) * room <= most_threads)


def held_by_search(block_size, most_threads, most_blocks):
    warps = block_size // 32 + (block_size % 32 > 0)
    return warps * max(b for b in range(most_blocks + 1) if b * warps * 32 <= most_threads)


RIGHT = {
    "global_index": (index_sum_of_range,),
    "vector_add": (
        add_early_return,
        add_numbas_decorator,
        add_once_while,
        add_signature,
        add_floats,
    ),
    "blocks_for": (blocks_from_range,),
    "guard_cost": (guard_by_lists,),
    "matrix_add_2d": (matrix_flat_helper, matrix_two_returns),
    "rgb_to_gray": (gray_locals,),
    "mirror": (mirror_early_return,),
    "warps_held": (held_by_units, held_by_search),
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


def held_rounded(block_size, most_threads, most_blocks):
    warps = round(block_size / 32)
    return min(most_threads // (32 * warps), most_blocks) * warps


WRONG = [
    ("global_index", index_for_small_blocks, "it returns 516, expected 612"),
    ("vector_add", add_blocks_of_128, "multiplies blockIdx.x by 128, where blockDim.x is 32."),
    ("matrix_add_2d", matrix_blocks_of_16, "multiplies blockIdx.y by 16, where blockDim.y is 8."),
    ("rgb_to_gray", gray_total_from_zero, "np.float32(0) is a sum's beginning."),
    (
        "guard_cost",
        guard_two_numbers,
        "return three numbers, blocks, idle threads, warps that diverge",
    ),
    ("warps_held", held_rounded, "a block of 33 threads has two warps"),
    ("global_index", index_prints, "does it end with return?"),
    ("global_index", index_float, "expected 17179869189"),
    ("vector_add", add_serial, "are at work"),
    ("vector_add", add_accumulates, "before anything is written to it"),
    ("vector_add", add_shifted, "accesses b[-1]: a negative index counts from the end"),
    ("vector_add", add_guard_skips_first, "out[0] is never written; all others are right"),
    ("vector_add", add_index_from_one, "accesses a[97], out of bounds"),
    ("matrix_add_2d", matrix_size_guard, "accesses a[29, 0], out of bounds"),
    ("rgb_to_gray", gray_scaled, "every element of gray is 0.003922 times what it should be"),
    ("mirror", mirror_half, "are never written"),
    ("saxpy_grid_stride", saxpy_plus_out, "before anything is written to it"),
    ("saxpy_grid_stride", saxpy_one_thread, "are at work"),
    ("saxpy_grid_stride", saxpy_step_of_grid_dim, "Elements are done by several threads"),
]
