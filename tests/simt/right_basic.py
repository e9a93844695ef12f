"""Right kernels without shared memory: one thread, one answer. None may get a finding."""

from __future__ import annotations

import math

import numpy as np
from numba import float32, int32

from gpulearn import cuda

from .cases import Catalogue, floats

CASES = Catalogue()
SCALE = 3
TABLE = np.arange(10, dtype=np.int32) ** 2


def _zeros(*shape: int, kind: object = np.float32) -> np.ndarray:
    return np.zeros(shape, kind)


def _set(out: np.ndarray, value: object) -> None:
    out[...] = value


@CASES.add(
    4,
    32,
    lambda r: (floats(r, 100), floats(r, 100), _zeros(100)),
    lambda a, b, out: _set(out, a + b),
)
def vector_add(a, b, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = a[i] + b[i]


@CASES.add(
    3,
    40,
    lambda r: (np.float32(2.5), floats(r, 111), floats(r, 111)),
    lambda a, x, y: _set(y, a * x + y),
)
def saxpy_returns_early(a, x, y):
    i = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    if i >= x.shape[0]:
        return
    y[i] = a * x[i] + y[i]


@CASES.add(
    2,
    32,
    lambda r: (floats(r, 333), _zeros(333)),
    lambda a, out: _set(out, a * np.float32(2)),
)
def grid_stride(a, out):
    for i in range(cuda.grid(1), a.size, cuda.gridsize(1)):
        out[i] = a[i] * float32(2)


@CASES.add(
    (3, 2),
    (8, 8),
    lambda r: (floats(r, 13, 20), floats(r, 13, 20), _zeros(13, 20)),
    lambda a, b, out: _set(out, a - b),
)
def matrix_subtract(a, b, out):
    x, y = cuda.grid(2)
    if y < out.shape[0] and x < out.shape[1]:
        out[y, x] = a[y, x] - b[y, x]


@CASES.add(
    (2, 3),
    (8, 4),
    lambda r: (floats(r, 12, 15), _zeros(15, 12)),
    lambda a, out: _set(out, a.T),
)
def naive_transpose(a, out):
    x, y = cuda.grid(2)
    if x < a.shape[1] and y < a.shape[0]:
        out[x, y] = a[y, x]


@CASES.add(
    (2, 2),
    (8, 8),
    lambda r: (floats(r, 11, 9), floats(r, 9, 14), _zeros(11, 14)),
    lambda a, b, out: _set(out, a @ b),
)
def naive_matmul(a, b, out):
    col, row = cuda.grid(2)
    if row < out.shape[0] and col < out.shape[1]:
        total = float32(0)
        for k in range(a.shape[1]):
            total += a[row, k] * b[k, col]
        out[row, col] = total


@CASES.add(
    3,
    32,
    lambda r: (floats(r, 80), _zeros(80)),
    lambda a, out: _set(out[1:-1], a[:-2] + a[1:-1] + a[2:]),
)
def stencil(a, out):
    i = cuda.grid(1)
    if 0 < i < a.size - 1:
        out[i] = a[i - 1] + a[i] + a[i + 1]


@CASES.add(
    2,
    32,
    lambda r: (floats(r, 1), _zeros(64)),
    lambda a, out: _set(out, a[0]),
)
def everyone_reads_one(a, out):
    out[cuda.grid(1)] = a[0]


@CASES.add(
    4,
    32,
    lambda r: (r.integers(0, 7, 120), _zeros(7, kind=np.int64)),
    lambda a, out: _set(out, np.bincount(a, minlength=7)),
)
def atomic_histogram(a, out):
    i = cuda.grid(1)
    if i < a.size:
        cuda.atomic.add(out, a[i], 1)


@CASES.add(
    4,
    64,
    lambda r: (floats(r, 250), _zeros(1)),
    lambda a, out: _set(out, a.sum()),
)
def atomic_sum_in_one_place(a, out):
    i = cuda.grid(1)
    if i < a.size:
        cuda.atomic.add(out, 0, a[i])


@CASES.add(
    4,
    32,
    lambda r: (r.integers(-99, 99, 128, dtype=np.int32), np.array([-999, 999], np.int32)),
    lambda a, out: _set(out, [a.max(), a.min()]),
)
def atomic_extremes(a, out):
    i = cuda.grid(1)
    cuda.atomic.max(out, 0, a[i])
    cuda.atomic.min(out, 1, a[i])


@CASES.add(
    2,
    32,
    lambda r: (r.integers(1, 99, 64, dtype=np.int32), np.zeros(1, np.int32)),
    lambda a, out: _set(out, a.max()),
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


@CASES.add(2, 32, lambda r: (_particles(r),), _move)
def struct_fields(p):
    i = cuda.grid(1)
    if i < p.size:
        p[i].x = p[i].x + p[i].v
        p[i]["hits"] += int32(1)


@CASES.add(
    1,
    32,
    lambda r: (r.integers(0, 10, 32), _zeros(32, kind=np.int32)),
    lambda a, out: _set(out, TABLE[a]),
)
def constant_table(a, out):
    table = cuda.const.array_like(TABLE)
    i = cuda.grid(1)
    out[i] = table[a[i]]


@CASES.add(
    2,
    16,
    lambda r: (floats(r, 32, 5), _zeros(32, 5)),
    lambda a, out: _set(out, np.sort(a)),
)
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


def _collatz(n: np.ndarray, out: np.ndarray) -> None:
    for k, start in enumerate(n):
        value, steps = int(start), 0
        while value != 1:
            value, steps = (3 * value + 1 if value % 2 else value // 2), steps + 1
        out[k] = steps


@CASES.add(3, 32, lambda r: (r.integers(1, 60, 90), _zeros(90, kind=np.int32)), _collatz)
def collatz(n, out):
    i = cuda.grid(1)
    if i < n.size:
        value = n[i]
        steps = 0
        while value != 1:
            if value % 2 == 0:
                value //= 2
            else:
                value = 3 * value + 1
            steps += 1
        out[i] = steps


def _mandelbrot(c: np.ndarray, out: np.ndarray) -> None:
    for k, (x, y) in enumerate(c):
        a = b = 0.0
        for n in range(20):
            a, b = a * a - b * b + x, 2.0 * a * b + y
            if a * a + b * b > 4.0:
                out[k] = n
                break
        else:
            out[k] = 20


@CASES.add(2, 32, lambda r: (r.uniform(-2, 1, (64, 2)), _zeros(64, kind=np.int64)), _mandelbrot)
def mandelbrot(c, out):
    i = cuda.grid(1)
    a = b = 0.0
    for n in range(20):
        a, b = a * a - b * b + c[i, 0], 2.0 * a * b + c[i, 1]
        if a * a + b * b > 4.0:
            out[i] = n
            break
    else:
        out[i] = 20


@cuda.jit(device=True)
def divide(a, b):
    return a // b, a % b


@CASES.add(
    1,
    40,
    lambda r: (r.integers(-50, 50, 40), _zeros(40, 2, kind=np.int64)),
    lambda a, out: _set(out, np.stack(np.divmod(a, 7), axis=1)),
)
def device_function_with_two_results(a, out):
    i = cuda.grid(1)
    out[i, 0], out[i, 1] = divide(a[i], 7)


@cuda.jit(device=True)
def fibonacci(n):
    if n < 2:
        return n
    return fibonacci(n - 1) + fibonacci(n - 2)


@CASES.add(
    1,
    12,
    lambda r: (_zeros(12, kind=np.int64),),
    lambda out: _set(out, [0, 1, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89]),
    reference=False,
)
def recursion(out):
    i = cuda.grid(1)
    out[i] = fibonacci(i)


@CASES.add(
    (2, 1, 2),
    (3, 4, 2),
    lambda r: (_zeros(4, 4, 6, kind=np.int32),),
    lambda out: _set(out, np.arange(96).reshape(4, 4, 6)),
)
def three_dimensions(out):
    x, y, z = cuda.grid(3)
    wide, high, _ = cuda.gridsize(3)
    out[z, y, x] = x + wide * (y + high * z)


def _bit_tricks(a: np.ndarray, out: np.ndarray) -> None:
    for k, v in enumerate(a):
        bits = f"{int(v):032b}"
        low = (int(v) & -int(v)).bit_length()
        clz = 32 - int(v).bit_length()
        out[k] = bits.count("1"), int(bits[::-1], 2), clz, low


@CASES.add(
    1,
    32,
    lambda r: (r.integers(1, 2**32, 32, dtype=np.uint32), _zeros(32, 4, kind=np.int64)),
    _bit_tricks,
    simulator=False,
)
def bit_tricks(a, out):
    i = cuda.grid(1)
    out[i, 0] = cuda.popc(a[i])
    out[i, 1] = cuda.brev(a[i])
    out[i, 2] = cuda.clz(a[i])
    out[i, 3] = cuda.ffs(a[i])


@CASES.add(
    2,
    32,
    lambda r: (floats(r, 64), _zeros(64)),
    lambda a, out: _set(out, np.clip(a, -2, 2)),
)
def clamp_by_ternaries(a, out):
    i = cuda.grid(1)
    low, high = float32(-2), float32(2)
    out[i] = a[i] if low < a[i] < high else (low if a[i] <= low else high)


@CASES.add(
    1,
    20,
    lambda r: (
        (floats(r, 20) + 1j * floats(r, 20)).astype(np.complex64),
        _zeros(20, kind=np.complex64),
    ),
    lambda a, out: _set(out, a * a),
)
def complex_square(a, out):
    i = cuda.grid(1)
    out[i] = a[i] * a[i]


@CASES.add(
    2,
    32,
    lambda r: (floats(r, 64), _zeros(64, kind=np.bool_)),
    lambda a, out: _set(out, (a > 1) | (a < -1)),
)
def boolean_mask(a, out):
    i = cuda.grid(1)
    out[i] = a[i] > 1 or a[i] < -1


@CASES.add(
    (2, 2),
    (8, 8),
    lambda r: (r.integers(0, 256, (13, 11, 3), dtype=np.uint8), _zeros(13, 11, kind=np.uint8)),
    lambda a, out: _set(out, (a.astype(int) @ [77, 150, 29]) >> 8),
    simulator=False,  # it lets NumPy's uint8 overflow
)
def grey_image(a, out):
    x, y = cuda.grid(2)
    if y < a.shape[0] and x < a.shape[1]:
        grey = 77 * a[y, x, 0] + 150 * a[y, x, 1] + 29 * a[y, x, 2]
        out[y, x] = grey >> 8


@CASES.add(
    1,
    8,
    lambda r: (floats(r, 8, 6), _zeros(8, 6)),
    lambda a, out: _set(out, a[:, ::-1]),
)
def backwards(a, out):
    i = cuda.grid(1)
    for k in range(a.shape[1] - 1, -1, -1):
        out[i, a.shape[1] - 1 - k] = a[i, k]


def _first(a: np.ndarray, out: np.ndarray) -> None:
    for k, row in enumerate(a):
        hits = np.flatnonzero(row == 3)
        out[k] = hits[0] if hits.size else -1


@CASES.add(1, 40, lambda r: (r.integers(0, 6, (40, 7)), _zeros(40, kind=np.int64)), _first)
def search_with_for_else(a, out):
    i = cuda.grid(1)
    for k in range(a.shape[1]):
        if a[i, k] != 3:
            continue
        out[i] = k
        break
    else:
        out[i] = -1


def _make(add: int) -> object:
    def closure_and_globals(a, out):
        i = cuda.grid(1)
        out[i] = a[i] * SCALE + add

    return closure_and_globals


CASES.add(
    1,
    32,
    lambda r: (r.integers(0, 9, 32), _zeros(32, kind=np.int64)),
    lambda a, out: _set(out, a * SCALE + 4),
)(_make(4))


@CASES.add(
    1,
    9,
    lambda r: (floats(r, 9, 12), _zeros(9)),
    lambda a, out: _set(out, a[:, 1:11:2].sum(1)),
)
def slices_of_rows(a, out):
    i = cuda.grid(1)
    row = a[i]
    part = row[1:11:2]
    total = float32(0)
    for k in range(len(part)):
        total += part[k]
    out[i] = total


@CASES.add(
    1,
    10,
    lambda r: (floats(r, 30)[::3], _zeros(10)),
    lambda a, out: _set(out, -a),
)
def strided_argument(a, out):
    i = cuda.grid(1)
    out[i] = -a[i]


@CASES.add(
    1,
    32,
    lambda r: (floats(r, 32), _zeros(32)),
    lambda a, out: _set(out, np.sqrt(np.abs(a)) + np.floor(a)),
    rtol=1e-6,
)
def mathematics(a, out):
    i = cuda.grid(1)
    out[i] = math.sqrt(abs(a[i])) + math.floor(a[i])


@CASES.add(
    1,
    32,
    lambda r: (r.integers(0, 99, 32), _zeros(32, kind=np.int64)),
    lambda a, out: _set(out, np.where(a > 50, a * 2 - 10, 7)),
)
def variables_in_branches(a, out):
    i = cuda.grid(1)
    twice, shift = 2 * a[i], 10
    if a[i] > 50:  # noqa: SIM108
        value = twice - shift
    else:
        value = 7
    out[i] = value


@CASES.add(
    1,
    16,
    lambda r: (floats(r, 16, kind=np.float64), _zeros(16, kind=np.float64)),
    lambda a, out: _set(out, a * 0.5 + 1.0),
)
def float64_that_is_meant(a, out):
    i = cuda.grid(1)
    out[i] = a[i] * 0.5 + 1.0


@CASES.add(
    2,
    24,
    lambda r: (_zeros(48, kind=np.int32), r.integers(0, 5, 48, dtype=np.int32)),
    lambda out, a: _set(out, np.array([0, 1, 2 * 2, 3 * 6, 4 * 24])[a]),
)
def nested_loops(out, a):
    i = cuda.grid(1)
    total = int32(0)
    for _ in range(a[i]):
        product = 1
        for k in range(a[i], 0, -1):
            if k == 1:
                continue
            product *= k
        total += product
    out[i] = total
