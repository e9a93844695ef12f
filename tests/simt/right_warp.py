"""Right kernels whose lanes talk within a warp, or whose blocks meet. No finding either."""

import numpy as np
from numba import float32

from simt import cuda

from .cases import Catalogue, floats, zeros

CASES = Catalogue()
FULL = 0xFFFFFFFF


@CASES.add((2, 64), lambda r: (floats(r, 128), zeros(4)), lambda a, out: a.reshape(4, 32).sum(1))
def warp_sum_by_shuffles(a, out):
    i = cuda.grid(1)
    value = a[i]
    step = 16
    while step > 0:
        value += cuda.shfl_down_sync(FULL, value, step)
        step //= 2
    if i % 32 == 0:
        out[i // 32] = value


@CASES.add((2, 64), lambda r: (floats(r, 128), zeros(4)), lambda a, out: a.reshape(4, 32).sum(1))
def warp_synchronous_tree(a, out):
    s = cuda.shared.array(64, float32)
    t = cuda.threadIdx.x
    lane = t % 32
    s[t] = a[cuda.grid(1)]
    cuda.syncwarp()
    for step in (16, 8, 4, 2, 1):
        value = s[t]
        if lane < step:
            value += s[t + step]
        cuda.syncwarp()
        s[t] = value
        cuda.syncwarp()
    if lane == 0:
        out[cuda.grid(1) // 32] = s[t]


def _compact(a: np.ndarray, out: np.ndarray, count: np.ndarray) -> None:
    keep = a[a > 0]
    out[: keep.size] = keep
    count[0] = keep.size


@CASES.add((1, 32), lambda r: (floats(r, 32), zeros(32), zeros(1, kind=np.int64)), _compact)
def compaction_by_ballot(a, out, count):
    t = cuda.threadIdx.x
    keep = a[t] > 0
    mask = cuda.ballot_sync(FULL, keep)
    place = cuda.popc(mask & cuda.lanemask_lt())
    if keep:
        out[place] = a[t]
    if t == 0:
        count[0] = cuda.popc(mask)


@CASES.add(
    (2, 64),
    lambda r: (r.integers(0, 4, 128, dtype=np.int32), zeros(4, kind=np.int32)),
    lambda a, out: np.bincount(a, minlength=4),
)
def histogram_by_matching(a, out):
    i = cuda.grid(1)
    mask = cuda.match_any_sync(FULL, a[i])
    if cuda.ffs(mask) - 1 == cuda.laneid:
        cuda.atomic.add(out, a[i], cuda.popc(mask))


@CASES.add(
    (1, 32), lambda r: (zeros(32, kind=np.int64),), lambda out: np.where(np.arange(32) < 8, 8, 24)
)
def active_lanes_of_a_branch(out):
    t = cuda.threadIdx.x
    if t < 8:
        out[t] = cuda.popc(cuda.activemask())
    else:
        out[t] = cuda.popc(cuda.activemask())


@CASES.add((4, 32), lambda r: (floats(r, 128), zeros(128)), lambda a, out: (a * 2, a[::-1] * 2))
def whole_grid_sync(a, out):
    i = cuda.grid(1)
    a[i] = a[i] * float32(2)
    cuda.cg.this_grid().sync()
    out[i] = a[a.size - 1 - i]


def _jacobi(a: np.ndarray, b: np.ndarray, n: int) -> None:
    for _ in range(n):
        b[1:-1] = (a[:-2] + a[2:]) * np.float32(0.5)
        a[1:-1] = b[1:-1]


@CASES.add((3, 16), lambda r: (floats(r, 48), zeros(48), 4), _jacobi)
def relaxation_over_the_grid(a, b, n):
    i = cuda.grid(1)
    g = cuda.cg.this_grid()
    for _ in range(n):
        if 0 < i < a.size - 1:
            b[i] = (a[i - 1] + a[i + 1]) * float32(0.5)
        g.sync()
        if 0 < i < a.size - 1:
            a[i] = b[i]
        g.sync()


@CASES.add(
    (2, 32),
    lambda r: (r.integers(0, 9, 64), zeros(1, kind=np.int64), zeros(1, kind=np.int32)),
    lambda a, total, lock: (a.sum(), 0),
)
def lock_that_lets_one_thread_in(a, total, lock):
    """Taken by compare-and-swap, given back by an exchange behind a fence."""
    i = cuda.grid(1)
    done = False
    while not done:
        if cuda.atomic.cas(lock, 0, 0, 1) == 0:
            cuda.threadfence()
            total[0] += a[i]
            cuda.threadfence()
            cuda.atomic.exch(lock, 0, 0)
            done = True
