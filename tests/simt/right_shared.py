"""Right kernels whose threads meet in shared memory. None may get a finding."""

from __future__ import annotations

import numpy as np
from numba import float32, int32, int64

from gpulearn import cuda

from .cases import Catalogue, floats
from .right_basic import _set, _zeros

CASES = Catalogue()
T = 8


@CASES.add(
    (2, 3),
    (T, T),
    lambda r: (floats(r, 24, 16), floats(r, 16, 16), _zeros(24, 16)),
    lambda a, b, out: _set(out, a @ b),
)
def tiled_matmul(a, b, out):
    s = cuda.shared.array((T, T), float32)
    t = cuda.shared.array((T, T), float32)
    col, row = cuda.grid(2)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    total = float32(0)
    for k in range(a.shape[1] // T):
        s[ty, tx] = a[row, k * T + tx]
        t[ty, tx] = b[k * T + ty, col]
        cuda.syncthreads()
        for j in range(T):
            total += s[ty, j] * t[j, tx]
        cuda.syncthreads()
    out[row, col] = total


@CASES.add(
    (2, 2),
    (T, T),
    lambda r: (floats(r, 13, 11), floats(r, 11, 10), _zeros(13, 10)),
    lambda a, b, out: _set(out, a @ b),
)
def tiled_matmul_of_any_size(a, b, out):
    s = cuda.shared.array((T, T), float32)
    t = cuda.shared.array((T, T), float32)
    col, row = cuda.grid(2)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    total = float32(0)
    for k in range(0, a.shape[1], T):
        s[ty, tx] = a[row, k + tx] if row < a.shape[0] and k + tx < a.shape[1] else float32(0)
        t[ty, tx] = b[k + ty, col] if k + ty < b.shape[0] and col < b.shape[1] else float32(0)
        cuda.syncthreads()
        for j in range(T):
            total += s[ty, j] * t[j, tx]
        cuda.syncthreads()
    if row < out.shape[0] and col < out.shape[1]:
        out[row, col] = total


@CASES.add(
    2,
    32,
    lambda r: (floats(r, 6 * 32), _zeros(64)),
    lambda a, out: _set(out, np.tile(a.reshape(6, 32)[:, ::-1].sum(0), 2)),
)
def double_buffer_with_one_barrier(a, out):
    tile = cuda.shared.array((2, 32), float32)
    t = cuda.threadIdx.x
    total = float32(0)
    for k in range(6):
        tile[k % 2, t] = a[k * 32 + t]
        cuda.syncthreads()
        total += tile[k % 2, 31 - t]
    out[cuda.grid(1)] = total


@CASES.add(
    (2, 2),
    (T, T),
    lambda r: (floats(r, 15, 12), _zeros(12, 15)),
    lambda a, out: _set(out, a.T),
)
def padded_transpose(a, out):
    tile = cuda.shared.array((8, 9), float32)
    x, y = cuda.grid(2)
    if y < a.shape[0] and x < a.shape[1]:
        tile[cuda.threadIdx.y, cuda.threadIdx.x] = a[y, x]
    cuda.syncthreads()
    x = cuda.blockIdx.y * T + cuda.threadIdx.x
    y = cuda.blockIdx.x * T + cuda.threadIdx.y
    if y < out.shape[0] and x < out.shape[1]:
        out[y, x] = tile[cuda.threadIdx.x, cuda.threadIdx.y]


@CASES.add(
    3,
    64,
    lambda r: (floats(r, 180), _zeros(3)),
    lambda a, out: _set(out, [a[:64].sum(), a[64:128].sum(), a[128:].sum()]),
)
def block_reduction(a, out):
    s = cuda.shared.array(64, float32)
    t, i = cuda.threadIdx.x, cuda.grid(1)
    s[t] = a[i] if i < a.size else float32(0)
    cuda.syncthreads()
    half = cuda.blockDim.x // 2
    while half > 0:
        if t < half:
            s[t] += s[t + half]
        cuda.syncthreads()
        half //= 2
    if t == 0:
        out[cuda.blockIdx.x] = s[0]


@CASES.add(
    3,
    32,
    lambda r: (floats(r, 90), _zeros(90)),
    lambda a, out: _set(out, np.convolve(a, np.ones(3, np.float32), "same")),
)
def halo_stencil(a, out):
    s = cuda.shared.array(34, float32)
    t, i = cuda.threadIdx.x, cuda.grid(1)
    n = a.size
    s[t + 1] = a[i] if i < n else float32(0)
    if t == 0:
        s[0] = a[i - 1] if i > 0 else float32(0)
    if t == 31:
        s[33] = a[i + 1] if i + 1 < n else float32(0)
    cuda.syncthreads()
    if i < n:
        out[i] = s[t] + s[t + 1] + s[t + 2]


@CASES.add(
    1,
    64,
    lambda r: (r.integers(0, 9, 64), _zeros(64, kind=np.int64)),
    lambda a, out: _set(out, np.cumsum(a)),
)
def scan_with_two_barriers(a, out):
    s = cuda.shared.array(64, int64)
    t = cuda.threadIdx.x
    s[t] = a[t]
    cuda.syncthreads()
    step = 1
    while step < 64:
        value = s[t]
        if t >= step:
            value += s[t - step]
        cuda.syncthreads()
        s[t] = value
        cuda.syncthreads()
        step *= 2
    out[t] = s[t]


@CASES.add(
    2,
    48,
    lambda r: (floats(r, 96), _zeros(96)),
    lambda a, out: _set(out, a.reshape(2, 48)[:, ::-1].ravel()),
    shared=48 * 4,
)
def dynamic_shared_reverse(a, out):
    s = cuda.shared.array(0, float32)
    t = cuda.threadIdx.x
    s[t] = a[cuda.grid(1)]
    cuda.syncthreads()
    out[cuda.grid(1)] = s[cuda.blockDim.x - 1 - t]


@CASES.add(
    3,
    64,
    lambda r: (r.integers(0, 16, 190), _zeros(16, kind=np.int32)),
    lambda a, out: _set(out, np.bincount(a, minlength=16)),
)
def privatised_histogram(a, out):
    s = cuda.shared.array(16, int32)
    t, i = cuda.threadIdx.x, cuda.grid(1)
    if t < 16:
        s[t] = 0
    cuda.syncthreads()
    if i < a.size:
        cuda.atomic.add(s, a[i], 1)
    cuda.syncthreads()
    if t < 16:
        cuda.atomic.add(out, t, s[t])


def _votes(a: np.ndarray, out: np.ndarray) -> None:
    for k, part in enumerate(a.reshape(2, 40)):
        out[k] = (part > 0).sum(), (part > -9).all(), (part > 7).any()


@CASES.add(
    2,
    40,
    lambda r: (floats(r, 80), _zeros(2, 3, kind=np.int32)),
    _votes,
)
def barriers_that_count(a, out):
    i, b = cuda.grid(1), cuda.blockIdx.x
    n = cuda.syncthreads_count(1 if a[i] > 0 else 0)
    every = cuda.syncthreads_and(1 if a[i] > -9 else 0)
    some = cuda.syncthreads_or(1 if a[i] > 7 else 0)
    if cuda.threadIdx.x == 0:
        out[b, 0] = n
        out[b, 1] = 1 if every else 0
        out[b, 2] = 1 if some else 0


@CASES.add(
    1,
    64,
    lambda r: (floats(r, 64),),
    lambda a: _set(a, np.sort(a)),
)
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


@CASES.add(
    1,
    40,
    lambda r: (r.integers(0, 99, 40, dtype=np.int32),),
    lambda a: _set(a, np.sort(a)),
)
def odd_even_sort(a):
    s = cuda.shared.array(40, int32)
    t = cuda.threadIdx.x
    s[t] = a[t]
    for step in range(40):
        cuda.syncthreads()
        if t % 2 == step % 2 and t + 1 < 40 and s[t] > s[t + 1]:
            keep = s[t]
            s[t] = s[t + 1]
            s[t + 1] = keep
    cuda.syncthreads()
    a[t] = s[t]


@CASES.add(
    3,
    50,
    lambda r: (floats(r, 3), _zeros(150)),
    lambda a, out: _set(out, np.repeat(a, 50)),
)
def one_writes_all_read(a, out):
    s = cuda.shared.array(1, float32)
    if cuda.threadIdx.x == 0:
        s[0] = a[cuda.blockIdx.x]
    cuda.syncthreads()
    out[cuda.grid(1)] = s[0]


@CASES.add(
    2,
    64,
    lambda r: (floats(r, 128), _zeros(128), 3),
    lambda a, out, n: _set(out, 4 * a + np.float32(3)),
)
def own_slot_needs_no_barrier(a, out, n):
    s = cuda.shared.array(64, float32)
    t = cuda.threadIdx.x
    s[t] = a[cuda.grid(1)]
    for _ in range(n):
        s[t] += a[cuda.grid(1)]
        s[t] += float32(1)
    out[cuda.grid(1)] = s[t]


@CASES.add(
    2,
    (4, 8),
    lambda r: (floats(r, 2, 8, 4), _zeros(2, 4)),
    lambda a, out: _set(out, a.sum(axis=1)),
)
def column_sums(a, out):
    s = cuda.shared.array((8, 4), float32)
    tx, ty, b = cuda.threadIdx.x, cuda.threadIdx.y, cuda.blockIdx.x
    s[ty, tx] = a[b, ty, tx]
    cuda.syncthreads()
    if ty == 0:
        total = float32(0)
        for k in range(8):
            total += s[k, tx]
        out[b, tx] = total


@CASES.add(
    2,
    32,
    lambda r: (floats(r, 64), _zeros(64), 2),
    lambda a, out, n: _set(out, a.reshape(2, 32)[:, ::-1].ravel()),
)
def barrier_under_a_condition_that_all_share(a, out, n):
    s = cuda.shared.array(32, float32)
    t, i = cuda.threadIdx.x, cuda.grid(1)
    s[t] = a[i]
    if n > 1:
        cuda.syncthreads()
        out[i] = s[31 - t]
    else:
        out[i] = float32(0)


@cuda.jit(device=True)
def rotate(tile, t, by):
    cuda.syncthreads()
    value = tile[(t + by) % tile.size]
    cuda.syncthreads()
    return value


@CASES.add(
    1,
    33,
    lambda r: (floats(r, 33), _zeros(33)),
    lambda a, out: _set(out, np.roll(a, -6)),
)
def barrier_in_a_device_function(a, out):
    tile = cuda.shared.array(33, float32)
    t = cuda.threadIdx.x
    tile[t] = a[t]
    value = rotate(tile, t, 2)
    tile[t] = value
    out[t] = rotate(tile, t, 4)


@CASES.add(
    2,
    40,
    lambda r: (floats(r, 70), _zeros(70)),
    lambda a, out: _set(out, np.concatenate([a[:40][::-1], a[40:][::-1]])),
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
    2,
    64,
    lambda r: (r.integers(0, 9, 128), _zeros(2, kind=np.int64)),
    lambda a, out: _set(out, a.reshape(2, 64).max(axis=1)),
)
def atomic_maximum_in_shared(a, out):
    s = cuda.shared.array(1, int64)
    t = cuda.threadIdx.x
    if t == 0:
        s[0] = -1
    cuda.syncthreads()
    cuda.atomic.max(s, 0, a[cuda.grid(1)])
    cuda.syncthreads()
    if t == 0:
        out[cuda.blockIdx.x] = s[0]


@CASES.add(
    4,
    32,
    lambda r: (floats(r, 128), _zeros(5), _zeros(1, kind=np.int32)),
    lambda a, out, done: (_set(out, [*a.reshape(4, 32).sum(1), a.sum()]), _set(done, 4)),
    simulator=False,
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
