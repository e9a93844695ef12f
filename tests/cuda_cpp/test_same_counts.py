"""A kernel costs the same in C++ and in Numba where both touch memory in the same way."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np
import pytest

import gpulearn as gl
from gpulearn import cuda
from gpulearn.cuda_cpp import cpp
from gpulearn.simt.observers.counters import Counts

from .classics import CLASSICS

pytestmark = pytest.mark.usefixtures("_nvrtc")

R = 3
ELSEWHERE = {"instructions", "active_lanes", "divergent_branches"}  # of statements, not of memory
ACCESSES = [f.name for f in fields(Counts) if f.name not in ELSEWHERE]
WEIGHT = np.array([1, 2, 3, 4, 3, 2, 1], np.float32)


@cuda.jit
def saxpy(n, a, x, y):
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        y[i] = a * x[i] + y[i]


@cuda.jit
def transpose(rows, cols, a, out):
    tile = cuda.shared.array((32, 33), np.float32)
    x = cuda.blockIdx.x * 32 + cuda.threadIdx.x
    for k in range(0, 32, 8):
        y = cuda.blockIdx.y * 32 + cuda.threadIdx.y + k
        if x < cols and y < rows:
            tile[cuda.threadIdx.y + k, cuda.threadIdx.x] = a[y, x]
    cuda.syncthreads()
    x = cuda.blockIdx.y * 32 + cuda.threadIdx.x
    for k in range(0, 32, 8):
        y = cuda.blockIdx.x * 32 + cuda.threadIdx.y + k
        if x < rows and y < cols:
            out[y, x] = tile[cuda.threadIdx.x, cuda.threadIdx.y + k]


@cuda.jit
def histogram(n, data, bins):
    mine = cuda.shared.array(64, np.uint32)
    for b in range(cuda.threadIdx.x, 64, cuda.blockDim.x):
        mine[b] = 0
    cuda.syncthreads()
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        cuda.atomic.add(mine, data[i] >> 2, 1)
    cuda.syncthreads()
    for b in range(cuda.threadIdx.x, 64, cuda.blockDim.x):
        cuda.atomic.add(bins, b, mine[b])


@cuda.jit
def matmul_tiled(m, n, p, a, b, c):
    s = cuda.shared.array((16, 16), np.float32)
    t = cuda.shared.array((16, 16), np.float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    col, row = cuda.grid(2)
    total = np.float32(0)
    for k in range(0, n, 16):
        s[ty, tx] = a[row, k + tx] if row < m and k + tx < n else np.float32(0)
        t[ty, tx] = b[k + ty, col] if k + ty < n and col < p else np.float32(0)
        cuda.syncthreads()
        for i in range(16):
            total += s[ty, i] * t[i, tx]
        cuda.syncthreads()
    if row < m and col < p:
        c[row, col] = total


@pytest.mark.parametrize(
    "kernel", [saxpy, transpose, histogram, matmul_tiled], ids=lambda k: k.__name__
)
def test_both_cost_the_same(kernel: Any) -> None:
    classic = CLASSICS[kernel.__name__]
    mine, theirs = classic.arguments(), classic.arguments()
    if kernel is saxpy:
        mine = (mine[0], np.float32(mine[1]), *mine[2:])
    machine = gl.xray(kernel)[classic.launch](*mine)
    compiled = gl.xray(cpp(classic.source)[kernel.__name__])[classic.launch](*theirs)
    assert machine.ok
    assert compiled.ok
    pairs = {n: (getattr(machine.totals, n), getattr(compiled.totals, n)) for n in ACCESSES}
    assert {n: pair for n, pair in pairs.items() if pair[0] != pair[1]} == {}
    np.testing.assert_allclose(mine[-1], theirs[-1], rtol=1e-5, atol=1e-5)
