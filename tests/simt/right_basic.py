"""Right kernels without shared memory: one thread, one answer. None may get a finding."""

import numpy as np
from numba import float32, int32

from simt import cuda

from .cases import Catalogue, floats, zeros

CASES = Catalogue()
TABLE = np.arange(10, dtype=np.int32) ** 2


@CASES.add(
    (3, 40), lambda r: (np.float32(2.5), floats(r, 111), floats(r, 111)), lambda a, x, y: a * x + y
)
def saxpy_returns_early(a, x, y):
    i = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    if i >= x.shape[0]:
        return
    y[i] = a * x[i] + y[i]


@CASES.add((2, 32), lambda r: (floats(r, 333), zeros(333)), lambda a, out: a * np.float32(2))
def grid_stride(a, out):
    for i in range(cuda.grid(1), a.size, cuda.gridsize(1)):
        out[i] = a[i] * float32(2)


@CASES.add(
    (4, 32),
    lambda r: (r.integers(-99, 99, 128, dtype=np.int32), np.array([-999, 999], np.int32)),
    lambda a, out: [a.max(), a.min()],
)
def atomic_extremes(a, out):
    i = cuda.grid(1)
    cuda.atomic.max(out, 0, a[i])
    cuda.atomic.min(out, 1, a[i])


@CASES.add(
    (2, 32),
    lambda r: (r.integers(1, 99, 64, dtype=np.int32), np.zeros(1, np.int32)),
    lambda a, out: a.max(),
)
def maximum_by_compare_and_swap(a, out):
    mine = a[cuda.grid(1)]
    old = cuda.atomic.cas(out, 0, 0, 0)
    while old < mine:
        seen = cuda.atomic.cas(out, 0, old, mine)
        if seen == old:
            break
        old = seen


PARTICLE = np.dtype([("x", np.float32), ("v", np.float32), ("hits", np.int32)])


def _particles(r: np.random.Generator) -> np.ndarray:
    out = np.zeros(50, PARTICLE)
    out["x"], out["v"] = floats(r, 50), floats(r, 50)
    return out


def _move(p: np.ndarray) -> None:
    p["x"] += p["v"]
    p["hits"] += 1


@CASES.add((2, 32), lambda r: (_particles(r),), _move)
def struct_fields(p):
    i = cuda.grid(1)
    if i < p.size:
        p[i].x = p[i].x + p[i].v
        p[i]["hits"] += int32(1)


@CASES.add(
    (1, 32), lambda r: (r.integers(0, 10, 32), zeros(32, kind=np.int32)), lambda a, out: TABLE[a]
)
def constant_table(a, out):
    table = cuda.const.array_like(TABLE)
    i = cuda.grid(1)
    out[i] = table[a[i]]


@CASES.add((2, 16), lambda r: (floats(r, 32, 5), zeros(32, 5)), lambda a, out: np.sort(a))
def sort_in_local_memory(a, out):
    i = cuda.grid(1)
    box = cuda.local.array(5, float32)
    for k in range(5):
        box[k] = a[i, k]
    for k in range(1, 5):
        value = box[k]
        j = k - 1
        while j >= 0 and box[j] > value:
            box[j + 1] = box[j]
            j -= 1
        box[j + 1] = value
    for k in range(5):
        out[i, k] = box[k]
