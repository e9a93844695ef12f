"""The exercises of notebook 03, with answers written by other hands than the catalogue's."""

import math

import numpy as np
import pytest

from gpulearn import check, cuda
from gpulearn.judge.catalogue import find
from gpulearn.judge.diagnosis import diagnose
from gpulearn_lessons.threads.images import BLUE, GREEN, RED

SHARES = np.array([0.299, 0.587, 0.114], dtype=np.float32)


def index_by_parts(b, n, t):
    total = t
    total += n * b
    return total


def index_from_numpy(b, n, t):
    return np.int64(b) * n + t


def blocks_by_counting_down(n, size):
    return -((-n) // size)


def blocks_by_bool(n, size):
    return n // size + bool(n % size)


def blocks_by_numpy(n, size):
    return int(np.ceil(n / size))


@cuda.jit
def add_with_positions(p, q, r):
    me = cuda.blockDim.x * cuda.blockIdx.x
    me += cuda.threadIdx.x
    if me < p.shape[0]:
        s = p[me]
        s += q[me]
        r[me] = s


@cuda.jit
def add_guard_turned_round(p, q, r):
    k = cuda.grid(1)
    if not k >= r.size:
        r[k] = p[k] + q[k]


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


def matrices_rows_in_strides(p, q, r):
    c = cuda.threadIdx.x + cuda.blockDim.x * cuda.blockIdx.x
    if c < p.shape[1]:
        first = cuda.threadIdx.y + cuda.blockDim.y * cuda.blockIdx.y
        for k in range(first, p.shape[0], cuda.blockDim.y * cuda.gridDim.y):
            r[k, c] = q[k, c] + p[k, c]


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


def saxpy_counted(alpha, p, q, r):
    start, step = cuda.grid(1), cuda.gridsize(1)
    for k in range(start, len(r), step):
        r[k] = q[k]
        r[k] += alpha * p[k]


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


RIGHT = {
    "global_index": (index_by_parts, index_from_numpy),
    "blocks_for": (blocks_by_counting_down, blocks_by_bool, blocks_by_numpy),
    "vector_add": (add_with_positions, add_guard_turned_round, add_chained),
    "matrix_add_2d": (matrices_nested, matrices_rows_in_strides, matrices_turned_launch),
    "rgb_to_gray": (gray_by_loop, gray_from_green, gray_numbers_in_place),
    "saxpy_grid_stride": (saxpy_counted, saxpy_by_fma, saxpy_block_by_block),
}


@pytest.mark.parametrize(
    ("name", "answer"), [(n, a) for n, answers in RIGHT.items() for a in answers]
)
def test_right_answers_by_other_hands_pass(name, answer):
    assert check(name, answer).name == name


def index_of_a_wave(b, n, t):
    return b * 128 + t


def blocks_of_1024(n, size):
    return math.ceil(n / 1024)


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


def matrices_swapped_again(p, q, r):
    row, column = cuda.grid(2)
    if row < p.shape[0] and column < p.shape[1]:
        r[row, column] = p[row, column] + q[row, column]


def matrices_own_block(p, q, r):
    column, row = cuda.threadIdx.x, cuda.threadIdx.y
    if column < p.shape[1] and row < p.shape[0]:
        r[row, column] = p[row, column] + q[row, column]


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


def saxpy_once(alpha, p, q, r):
    k = cuda.threadIdx.x + cuda.blockIdx.x * cuda.blockDim.x
    if k < len(r):
        r[k] = q[k] + alpha * p[k]


def saxpy_for_ever(alpha, p, q, r):
    k = cuda.grid(1)
    step = cuda.gridsize(1)
    while k < r.size:
        r[k] = alpha * p[k] + q[k]
        k += 0 * step


WRONG = [
    ("global_index", index_of_a_wave, "it returns 263, expected 257"),
    ("blocks_for", blocks_of_1024, "it returns 1, expected 4"),
    ("vector_add", add_returns, "a kernel cannot return a value: write it to an array"),
    (
        "vector_add",
        add_whole_arrays,
        "a kernel cannot make a new array",
    ),
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
    ("matrix_add_2d", matrices_swapped_again, "x and y are swapped"),
    ("matrix_add_2d", matrices_own_block, "only block (0, 0) is right"),
    ("rgb_to_gray", gray_by_a_third, "plain mean"),
    ("rgb_to_gray", gray_rounded, "every element of g is cut off to a whole number"),
    ("rgb_to_gray", gray_bytes_that_wrap, "g[0, 0] is 69.0, expected 205.6"),
    ("saxpy_grid_stride", saxpy_once, "each thread does one element only"),
    ("saxpy_grid_stride", saxpy_for_ever, "i has to grow by cuda.gridsize(1)"),
]


@pytest.mark.parametrize(("name", "answer", "said"), WRONG)
def test_wrong_answers_by_other_hands_are_told_what_they_do(name, answer, said):
    found = diagnose(find(name), answer)
    assert found is not None
    assert said in found
