"""Kernels whose barriers not all threads meet, and threads that wait forever."""

import numpy as np
from numba import float32

from simt import cuda

from .wrong import Mistakes, f4

CASES = Mistakes()


@CASES.add((1, 64), lambda: (f4(64),), "barrier-divergence", "cuda.syncthreads()")
def barrier_for_one_warp(out):
    t = cuda.threadIdx.x
    if t < 32:
        cuda.syncthreads()
    out[t] = 1


@CASES.add((1, 32), lambda: (f4(32),), "barrier-divergence", "cuda.syncthreads()  # even")
def two_barriers_for_two_branches(out):
    t = cuda.threadIdx.x
    if t % 2 == 0:
        out[t] = 1
        cuda.syncthreads()  # even
    else:
        cuda.syncthreads()  # odd
        out[t] = 2


@CASES.add(
    (2, 32), lambda: (f4(50),), "left-before-barrier", "return", "cuda.syncthreads()",
    guilty=lambda who: bool(who) and all(b == (1, 0, 0) for b, _ in who),
)  # fmt: skip
def return_before_a_barrier(out):
    s = cuda.shared.array(32, float32)
    i = cuda.grid(1)
    if i >= out.size:
        return
    s[cuda.threadIdx.x] = out[i]
    cuda.syncthreads()
    out[i] = s[cuda.threadIdx.x]


@CASES.add((1, 32), lambda: (np.zeros(2, np.int32),), "no-progress", "while flag[0] == 0")
def spin_wait(flag):
    while flag[0] == 0:
        pass
    flag[1] = 1
