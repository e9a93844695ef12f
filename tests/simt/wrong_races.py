"""Kernels whose threads race for memory: one writes what another reads or writes."""

import numpy as np
from numba import float32

from simt import cuda

from .wrong import Mistakes, f4, pair

CASES = Mistakes()
T = 8


@cuda.jit(device=True)
def shift(a, i):
    return a[i + 1]


@CASES.add(
    (1, 64), lambda: (f4(64),), "race", "s[t] = out[t]", "out[t] = s[63 - t]",
    guilty=pair(lambda a, b: a + b == 63), array="s",
)  # fmt: skip
def race_between_warps(out):
    s = cuda.shared.array(64, float32)
    t = cuda.threadIdx.x
    s[t] = out[t]
    out[t] = s[63 - t]


@CASES.add(
    (1, 64), lambda: (f4(64),), "race", "value = s[(t + 32) % 64]", "s[t] = value",
    guilty=pair(lambda a, b: (a + 32) % 64 == b), array="s",
)  # fmt: skip
def read_before_a_write(out):
    s = cuda.shared.array(64, float32)
    t = cuda.threadIdx.x
    s[t] = out[t]
    cuda.syncthreads()
    value = s[(t + 32) % 64]
    s[t] = value
    cuda.syncthreads()
    out[t] = s[t]


@CASES.add((4, 32), lambda: (np.zeros(1, np.int32),), "race", "out[0] = cuda.grid(1)", array="out")
def all_write_one_word(out):
    out[0] = cuda.grid(1)


@CASES.add(
    (1, 64), lambda: (np.zeros(1, np.int32), f4(64)), "race", "value = out[0]", "atomic.add",
    array="out",
)  # fmt: skip
def plain_read_beside_an_atomic(out, a):
    i = cuda.grid(1)
    cuda.atomic.add(out, 0, 1)
    value = out[0]
    a[i] = value


@CASES.add(
    ((2, 2), (T, T)), lambda: (f4(16, 16), f4(16, 16), f4(16, 16)), "race",
    "total += s[ty, j] * t[j, tx]", "= a[row, k * T + tx]", array="s",
)  # fmt: skip
def matmul_without_its_second_barrier(a, b, out):
    s = cuda.shared.array((T, T), float32)
    t = cuda.shared.array((T, T), float32)
    col, row = cuda.grid(2)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    total = float32(0)
    for k in range(2):
        s[ty, tx] = a[row, k * T + tx]
        t[ty, tx] = b[k * T + ty, col]
        cuda.syncthreads()
        for j in range(T):
            total += s[ty, j] * t[j, tx]
    out[row, col] = total


@CASES.add((2, 32), lambda: (f4(65),), "race", "out[i] = value", array="out")
def race_through_a_device_function(out):
    i = cuda.grid(1)
    value = shift(out, i)
    out[i] = value


@CASES.add(
    (1, 64), lambda: (f4(64),), "race", "s[t] = out[t]", "cuda.atomic.add(s, 63 - t",
    guilty=pair(lambda a, b: a + b == 63), array="s",
)  # fmt: skip
def atomic_beside_a_plain_write(out):
    s = cuda.shared.array(64, float32)
    t = cuda.threadIdx.x
    s[t] = out[t]
    cuda.atomic.add(s, 63 - t, float32(1))
    cuda.syncthreads()
    out[t] = s[t]
