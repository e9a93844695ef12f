"""Right kernels that lean on the language: names, arrays as values, device functions, barriers
that not every block meets. None may get a finding."""

import numpy as np
from numba import float32

from simt import cuda

from .cases import Catalogue, floats, zeros

CASES = Catalogue()


def _smooth(a: np.ndarray, b: np.ndarray, n: int) -> None:
    for k in range(n):
        src, dst = (a, b) if k % 2 == 0 else (b, a)
        for part in range(2):
            row = src[part * 32 : part * 32 + 32]
            dst[part * 32 : part * 32 + 32] = row + np.roll(row, -1)


@CASES.add((2, 32), lambda r: (floats(r, 64), zeros(64), 3), _smooth)
def ping_pong_by_swapping_names(a, b, n):
    t, start = cuda.threadIdx.x, cuda.blockIdx.x * 32
    src, dst = a, b
    for _ in range(n):
        dst[start + t] = src[start + t] + src[start + (t + 1) % 32]
        cuda.syncthreads()
        src, dst = dst, src


@CASES.add(
    (2, 32), lambda r: (floats(r, 64), zeros(64)), lambda a, out: a.reshape(2, 32)[:, ::-1].ravel()
)
def global_memory_within_a_block(a, out):
    i, t = cuda.grid(1), cuda.threadIdx.x
    out[i] = a[i]
    cuda.syncthreads()
    value = out[cuda.blockIdx.x * 32 + 31 - t]
    cuda.syncthreads()
    out[i] = value


@CASES.add(
    (4, 32),
    lambda r: (floats(r, 128), zeros(128)),
    lambda a, out: np.append(a[:32][::-1], zeros(96)),
)
def barrier_for_one_block_only(a, out):
    s = cuda.shared.array(32, float32)
    t = cuda.threadIdx.x
    if cuda.blockIdx.x == 0:
        s[t] = a[t]
        cuda.syncthreads()
        out[t] = s[31 - t]


def _turns(a: np.ndarray, out: np.ndarray) -> None:
    for b, row in enumerate(a.reshape(3, 32)):
        out[b * 32 : b * 32 + 32] = np.roll(row, -b)


@CASES.add((3, 32), lambda r: (floats(r, 96), zeros(96)), _turns)
def barriers_in_a_loop_that_each_block_runs_differently(a, out):
    s = cuda.shared.array(32, float32)
    t = cuda.threadIdx.x
    s[t] = a[cuda.grid(1)]
    for _ in range(cuda.blockIdx.x):
        cuda.syncthreads()
        value = s[(t + 1) % 32]
        cuda.syncthreads()
        s[t] = value
    out[cuda.grid(1)] = s[t]


PAIR = np.dtype([("left", np.int32), ("right", np.int32)])


def _fields(out: np.ndarray) -> None:
    out["left"], out["right"] = np.arange(16), -np.arange(16)


@CASES.add((1, 32), lambda r: (np.zeros(16, PAIR),), _fields)
def two_threads_write_two_fields(out):
    t = cuda.threadIdx.x
    if t % 2 == 0:
        out[t // 2].left = t // 2
    else:
        out[t // 2].right = -(t // 2)


@CASES.add(
    (1, 64),
    lambda r: (r.integers(0, 99, 64, dtype=np.uint8), zeros(64, kind=np.uint8)),
    lambda a, out: a[::-1],
)
def neighbors_in_one_word(a, out):
    s = cuda.shared.array(64, np.uint8)
    t = cuda.threadIdx.x
    s[t] = a[t]
    cuda.syncthreads()
    out[t] = s[63 - t]


@CASES.add(
    (3, 32),
    lambda r: (floats(r, 50), zeros(50)),
    lambda a, out: np.concatenate([a[:32][::-1], a[32:][::-1]]),
)
def a_part_for_each_block(a, out):  # the last block's part is empty, and begins at the end
    start = cuda.blockIdx.x * 32
    mine, theirs = a[start : start + 32], out[start : start + 32]
    t = cuda.threadIdx.x
    if t < mine.size:
        theirs[t] = mine[mine.size - 1 - t]


@cuda.jit(device=True)
def find(a, row, wanted):
    for k in range(a.shape[1]):
        if a[row, k] == wanted:
            return k
        if a[row, k] < 0:
            break
    return -1


def _finds(a: np.ndarray, out: np.ndarray) -> None:
    for k, row in enumerate(a):
        stop = np.flatnonzero((row == 3) | (row < 0))
        out[k] = stop[0] if stop.size and row[stop[0]] == 3 else -1


@CASES.add((1, 40), lambda r: (r.integers(-1, 5, (40, 6)), zeros(40, kind=np.int64)), _finds)
def device_function_that_returns_from_a_loop(a, out):
    i = cuda.grid(1)
    out[i] = find(a, i, 3)


@cuda.jit(device=True)
def store(out, i, value):
    if value > 0:
        out[i] = value
        return
    out[i] = -value


@cuda.jit(device=True)
def scaled(x, by=2, plus=1):
    return x * by + plus


@CASES.add(
    (1, 32),
    lambda r: (r.integers(-9, 9, 32), zeros(32, kind=np.int64)),
    lambda a, out: np.abs(3 * (2 * a + 1) + 1),
    alone=False,  # it has no defaults; numba-cuda has
)
def device_functions_with_defaults_and_no_result(a, out):
    i = cuda.grid(1)
    store(out, i, scaled(scaled(a[i]), by=3))


@CASES.add(
    (1, 32),
    lambda r: (r.integers(0, 9, 32), zeros(32, kind=np.int64)),
    lambda a, out: np.where(a > 4, a * 10, np.where(a > 2, 7, -1)),
)
def uniform_variable_that_stops_being_uniform(a, out):
    i = cuda.grid(1)
    value = -1
    k = 0
    while k < 3:
        k += 1
        if a[i] > 4:
            value = a[i] * 10
            break
        if a[i] > 2:
            value = 7
            continue
    out[i] = value


@CASES.add(
    (2, 32),
    lambda r: (np.asfortranarray(floats(r, 8, 8)), np.asfortranarray(zeros(8, 8))),
    lambda a, out: 2 * a,
)
def fortran_order(a, out):
    i = cuda.grid(1)
    out[i // 8, i % 8] = a[i // 8, i % 8] * float32(2)


@CASES.add(
    (2, 32), lambda r: (floats(r, 64), zeros(64)), lambda a, out: np.where(np.arange(64) % 2, a, -a)
)
def nested_functions(a, out):
    def signed(x, k):
        return x if k % 2 else -x

    i = cuda.grid(1)
    out[i] = signed(a[i], i)
