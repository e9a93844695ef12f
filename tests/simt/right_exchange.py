"""Right kernels that sort, vote and pass values on through shared memory. No finding."""

import numpy as np
from numba import float32, int32

from simt import cuda

from .cases import Catalogue, floats, zeros

CASES = Catalogue()


@CASES.add((1, 64), lambda r: (floats(r, 64),), lambda a: np.sort(a))
def bitonic_sort(a):
    s = cuda.shared.array(64, float32)
    t = cuda.threadIdx.x
    s[t] = a[t]
    cuda.syncthreads()
    k = 2
    while k <= 64:
        j = k // 2
        while j > 0:
            other = t ^ j
            if other > t:
                up = (t & k) == 0
                if (s[t] > s[other]) == up:
                    s[t], s[other] = s[other], s[t]
            cuda.syncthreads()
            j //= 2
        k *= 2
    a[t] = s[t]


@cuda.jit(device=True)
def rotate(tile, t, by):
    cuda.syncthreads()
    value = tile[(t + by) % tile.size]
    cuda.syncthreads()
    return value


@CASES.add((1, 33), lambda r: (floats(r, 33), zeros(33)), lambda a, out: np.roll(a, -6))
def barrier_in_a_device_function(a, out):
    tile = cuda.shared.array(33, float32)
    t = cuda.threadIdx.x
    tile[t] = a[t]
    value = rotate(tile, t, 2)
    tile[t] = value
    out[t] = rotate(tile, t, 4)


@CASES.add(
    (2, 40),
    lambda r: (floats(r, 70), zeros(70)),
    lambda a, out: np.concatenate([a[:40][::-1], a[40:][::-1]]),
)
def block_with_idle_threads(a, out):
    s = cuda.shared.array(40, float32)
    t, i = cuda.threadIdx.x, cuda.grid(1)
    left = a.size - cuda.blockIdx.x * 40
    count = left if left < 40 else 40
    if i < a.size:
        s[t] = a[i]
    cuda.syncthreads()
    if i < a.size:
        out[i] = s[count - 1 - t]


@CASES.add(
    (4, 32),
    lambda r: (floats(r, 128), zeros(5), zeros(1, kind=np.int32)),
    lambda a, out, done: ([*a.reshape(4, 32).sum(1), a.sum()], 0),
)
def last_block_adds_up(a, out, done):
    s = cuda.shared.array(32, float32)
    last = cuda.shared.array(1, int32)
    t, b = cuda.threadIdx.x, cuda.blockIdx.x
    s[t] = a[cuda.grid(1)]
    cuda.syncthreads()
    if t == 0:
        total = float32(0)
        for k in range(32):
            total += s[k]
        out[b] = total
        cuda.threadfence()
        last[0] = cuda.atomic.add(done, 0, 1)
    cuda.syncthreads()
    if last[0] == cuda.gridDim.x - 1 and t == 0:
        total = float32(0)
        for k in range(cuda.gridDim.x):
            total += out[k]
        out[cuda.gridDim.x] = total
        done[0] = 0  # for the next launch
