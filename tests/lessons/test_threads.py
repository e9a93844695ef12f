"""The exercises of notebook 03, with answers written by other hands than the catalogue's."""

import math

import numpy as np
import pytest

from gpulearn import cuda
from gpulearn.judge.catalogue import find
from gpulearn.judge.diagnosis import diagnose
from gpulearn_lessons.threads.images import BLUE, GREEN, RED

SHARES = np.array([0.299, 0.587, 0.114], dtype=np.float32)


@cuda.jit
def add_with_positions(p, q, r):
    me = cuda.blockDim.x * cuda.blockIdx.x
    me += cuda.threadIdx.x
    if me < p.shape[0]:
        s = p[me]
        s += q[me]
        r[me] = s


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


def matrices_turned_launch(p, q, r):
    # rows along x, and strides where the grid is too small for that
    k = cuda.grid(2)[0]
    while k < p.shape[0]:
        c = cuda.grid(2)[1]
        while c < p.shape[1]:
            r[k, c] = p[k, c] + q[k, c]
            c += cuda.gridsize(2)[1]
        k += cuda.gridsize(2)[0]


def gray_by_loop(colour, g):
    x, y = cuda.grid(2)
    if x < colour.shape[1] and y < colour.shape[0]:
        s = np.float32(0)
        for channel in range(3):
            s += SHARES[channel] * colour[y, x, channel]
        g[y, x] = s


def gray_from_green(colour, g):
    x, y = cuda.grid(2)
    height, width, _ = colour.shape
    if x >= width or y >= height:
        return
    red, green, blue = colour[y, x]
    g[y, x] = np.float32(green) * GREEN + np.float32(red) * RED + np.float32(blue) * BLUE


def gray_numbers_in_place(colour, g):
    x, y = cuda.grid(2)
    if x < g.shape[1] and y < g.shape[0]:
        g[y, x] = (
            np.float32(0.299) * colour[y, x, 0]
            + np.float32(0.587) * colour[y, x, 1]
            + np.float32(0.114) * colour[y, x, 2]
        )


def saxpy_by_fma(alpha, p, q, r):
    k = cuda.grid(1)
    while k < r.size:
        r[k] = cuda.fma(alpha, p[k], q[k])
        k = k + cuda.gridDim.x * cuda.blockDim.x


def saxpy_block_by_block(alpha, p, q, r):
    first = cuda.blockIdx.x * cuda.blockDim.x
    while first < r.size:
        k = first + cuda.threadIdx.x
        if k < r.size:
            r[k] = alpha * p[k] + q[k]
        first += cuda.gridDim.x * cuda.blockDim.x


def add_returns(p, q, r):
    i = cuda.grid(1)
    if i < r.size:
        return p[i] + q[i]


def add_whole_arrays(p, q, r):
    r = p + q  # noqa: F841


def add_by_hand_sized_blocks(p, q, r):
    k = cuda.blockIdx.x * 32 + cuda.threadIdx.x
    if k < r.size:
        r[k] = p[k] + q[k]


def add_length_by_hand(p, q, r):
    k = cuda.grid(1)
    if k < 97:
        r[k] = p[k] + q[k]


def add_other_guard(p, q, r):
    me = cuda.threadIdx.x + cuda.blockIdx.x * cuda.blockDim.x
    if me <= len(p):
        r[me] = p[me] + q[me]


def add_only_thread_zero(p, q, r):
    if cuda.threadIdx.x == 0:
        k = cuda.blockIdx.x
        if k < r.size:
            r[k] = p[k] + q[k]


def add_grid_of_two(p, q, r):
    k = cuda.grid(2)
    r[k] = p[k] + q[k]


def gray_by_a_third(colour, g):
    x, y = cuda.grid(2)
    if x < g.shape[1] and y < g.shape[0]:
        g[y, x] = colour[y, x, 0] / 3 + colour[y, x, 1] / 3 + colour[y, x, 2] / 3


def gray_rounded(colour, g):
    x, y = cuda.grid(2)
    if x < g.shape[1] and y < g.shape[0]:
        s = RED * colour[y, x, 0] + GREEN * colour[y, x, 1] + BLUE * colour[y, x, 2]
        g[y, x] = int(s)


def gray_bytes_that_wrap(colour, g):
    x, y = cuda.grid(2)
    if x < g.shape[1] and y < g.shape[0]:
        s = np.uint8(colour[y, x, 0] + colour[y, x, 1] + colour[y, x, 2])
        g[y, x] = s


def saxpy_for_ever(alpha, p, q, r):
    k = cuda.grid(1)
    step = cuda.gridsize(1)
    while k < r.size:
        r[k] = alpha * p[k] + q[k]
        k += 0 * step


@pytest.mark.parametrize(
    ("name", "answer", "said"),
    [
        ("global_index", lambda b, n, t: np.int64(b) * n + t, None),
        ("blocks_for", lambda n, size: int(np.ceil(n / size)), None),
        ("vector_add", add_with_positions, None),
        ("vector_add", add_chained, None),
        ("matrix_add_2d", matrices_nested, None),
        ("matrix_add_2d", matrices_turned_launch, None),
        ("rgb_to_gray", gray_by_loop, None),
        ("rgb_to_gray", gray_from_green, None),
        ("rgb_to_gray", gray_numbers_in_place, None),
        ("saxpy_grid_stride", saxpy_by_fma, None),
        ("saxpy_grid_stride", saxpy_block_by_block, None),
        ("global_index", lambda b, n, t: b * 128 + t, "it returns 263, expected 257"),
        ("blocks_for", lambda n, size: math.ceil(n / 1024), "it returns 1, expected 4"),
        ("vector_add", add_returns, "a kernel cannot return a value: write it to an array"),
        ("vector_add", add_whole_arrays, "a kernel cannot make a new array"),
        (
            "vector_add",
            add_by_hand_sized_blocks,
            "for 256 elements in 2 blocks of 128, 96 of 256 elements of r are never written",
        ),
        ("vector_add", add_length_by_hand, "for 1 element in 1 block of 64, line"),
        ("vector_add", add_other_guard, "accesses p[97], out of bounds"),
        ("vector_add", add_other_guard, "The guard lets one too many in"),
        ("vector_add", add_only_thread_zero, "it is the threads that are numbered"),
        ("vector_add", add_grid_of_two, "too many indices: the array has 1 dimension"),
        ("rgb_to_gray", gray_by_a_third, "plain mean"),
        ("rgb_to_gray", gray_rounded, "every element of g is cut off to a whole number"),
        ("rgb_to_gray", gray_bytes_that_wrap, "g[0, 0] is 69.0, expected 205.6"),
        ("saxpy_grid_stride", saxpy_for_ever, "i has to grow by cuda.gridsize(1)"),
    ],
)
def test_each_is_told_what_it_does(name, answer, said):
    diagnosis = diagnose(find(name), answer)
    assert diagnosis is None if said is None else said in diagnosis
