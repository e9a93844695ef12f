"""Right kernels about numbers and flow: loops, device functions, types. No finding."""

import operator

import numpy as np

from simt import cuda

from .cases import Catalogue, floats, zeros

CASES = Catalogue()


def _collatz(n: np.ndarray, out: np.ndarray) -> None:
    for k, start in enumerate(n):
        value, steps = int(start), 0
        while value != 1:
            value, steps = (3 * value + 1 if value % 2 else value // 2), steps + 1
        out[k] = steps


@CASES.add((3, 32), lambda r: (r.integers(1, 60, 90), zeros(90, kind=np.int32)), _collatz)
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


@cuda.jit(device=True)
def fibonacci(n):
    if n < 2:
        return n
    return fibonacci(n - 1) + fibonacci(n - 2)


@CASES.add(
    (1, 12),
    lambda r: (zeros(12, kind=np.int64),),
    lambda out: [0, 1, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89],
)
def recursion(out):
    i = cuda.grid(1)
    out[i] = fibonacci(i)


@CASES.add(
    ((2, 1, 2), (3, 4, 2)),
    lambda r: (zeros(4, 4, 6, kind=np.int32),),
    lambda out: np.arange(96).reshape(4, 4, 6),
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
    (1, 32),
    lambda r: (r.integers(1, 2**32, 32, dtype=np.uint32), zeros(32, 4, kind=np.int64)),
    _bit_tricks,
)
def bit_tricks(a, out):
    i = cuda.grid(1)
    out[i, 0] = cuda.popc(a[i])
    out[i, 1] = cuda.brev(a[i])
    out[i, 2] = cuda.clz(a[i])
    out[i, 3] = cuda.ffs(a[i])


@CASES.add(
    (1, 16),
    lambda r: (floats(r, 16, kind=np.float64), zeros(16, kind=np.float64)),
    lambda a, out: a * 0.5 + 1.0,
)
def float64_that_is_meant(a, out):
    i = cuda.grid(1)
    out[i] = a[i] * 0.5 + 1.0


@CASES.add(
    (1, 8),
    lambda r: (np.arange(8) - 3, zeros(8, kind=np.int64)),
    lambda a, out: (a, [10 * (x < 2) + 100 * (x >= 1) - x + ~x + (not x) for x in a]),
)
def operators_by_name(a, out):
    i = cuda.grid(1)
    x = a[i]
    out[i] = 10 * operator.lt(x, 2) + 100 * operator.ge(x, 1)
    out[i] += operator.neg(x) + operator.invert(x) + operator.not_(x)


@CASES.add(
    (1, 6),
    lambda r: (np.arange(-3, 3).astype("m8[h]"), np.zeros(6, "m8[h]")),
    lambda a, out: (a, np.abs(a) - a),
)
def sizes_of_spans_of_time(a, out):
    i = cuda.grid(1)
    out[i] = abs(a[i]) - a[i]
