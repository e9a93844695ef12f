"""Right kernels whose threads meet in shared memory. None may get a finding."""

import numpy as np
from numba import float32, int32

from simt import cuda

from .cases import Catalogue, floats, zeros

CASES = Catalogue()
T = 8


@CASES.add(
    ((2, 2), (T, T)),
    lambda r: (floats(r, 13, 11), floats(r, 11, 10), zeros(13, 10)),
    lambda a, b, out: a @ b,
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
    (3, 64),
    lambda r: (floats(r, 180), zeros(3)),
    lambda a, out: [a[:64].sum(), a[64:128].sum(), a[128:].sum()],
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
    (3, 32),
    lambda r: (floats(r, 90), zeros(90)),
    lambda a, out: np.convolve(a, np.ones(3, np.float32), "same"),
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
    (2, 48),
    lambda r: (floats(r, 96), zeros(96)),
    lambda a, out: a.reshape(2, 48)[:, ::-1].ravel(),
    shared=48 * 4,
)
def dynamic_shared_reverse(a, out):
    s = cuda.shared.array(0, float32)
    t = cuda.threadIdx.x
    s[t] = a[cuda.grid(1)]
    cuda.syncthreads()
    out[cuda.grid(1)] = s[cuda.blockDim.x - 1 - t]


@CASES.add(
    (3, 64),
    lambda r: (r.integers(0, 16, 190), zeros(16, kind=np.int32)),
    lambda a, out: np.bincount(a, minlength=16),
)
def privatized_histogram(a, out):
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


@CASES.add((2, 40), lambda r: (floats(r, 80), zeros(2, 3, kind=np.int32)), _votes)
def barriers_that_count(a, out):
    i, b = cuda.grid(1), cuda.blockIdx.x
    n = cuda.syncthreads_count(1 if a[i] > 0 else 0)
    every = cuda.syncthreads_and(1 if a[i] > -9 else 0)
    some = cuda.syncthreads_or(1 if a[i] > 7 else 0)
    if cuda.threadIdx.x == 0:
        out[b, 0] = n
        out[b, 1] = 1 if every else 0
        out[b, 2] = 1 if some else 0
