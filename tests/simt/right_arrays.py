"""Right kernels with arrays of their own: shapes and types in all the ways they are written,
records, dynamic shared memory under several views, arrays in functions that call themselves."""

import numpy as np
from numba import float32, int32, int64

from simt import cuda

from .cases import Catalogue, floats, zeros

CASES = Catalogue()

SHAPE = (4, 8)
POINT = np.dtype([("x", np.int32), ("at", np.float64, (2,)), ("y", np.float32)], align=True)


@cuda.jit(device=True)
def reversed_by(values, n, kind):
    t = cuda.threadIdx.x
    s = cuda.shared.array(n, kind)
    s[t % n] = values[t % n]
    cuda.syncthreads()
    found = s[n - 1 - t % n]
    cuda.syncthreads()
    return np.float64(found) + s.size


@CASES.add(
    (1, 32),
    lambda r: (floats(r, 32), zeros(32, kind=np.float64)),
    lambda a, out: a[::-1] + 32 + np.trunc(a[15 - np.arange(32) % 16]) + 16,
)
def shapes_and_types_that_a_device_function_is_given(a, out):
    out[cuda.threadIdx.x] = reversed_by(a, 32, float32) + reversed_by(a, 16, int32)


@CASES.add((1, 4), lambda r: (zeros(4),), lambda out: np.arange(4) * 111.0 + 32, alone=False)
def several_arrays_on_a_line_by_name_and_by_string(out):
    a, b = cuda.shared.array(4, float32), cuda.shared.array(shape=(4,), dtype=np.int32)
    c = cuda.local.array(shape=SHAPE, dtype="float32", alignment=64)
    t = cuda.threadIdx.x
    a[t], b[t], c[3, t] = t, 10 * t, 100 * t
    out[t] = np.float32(b[t] + c.size) + a[t] + c[3, t]


@CASES.add((2, 4), lambda r: (zeros(8, kind=np.float64),), lambda out: 4 * np.arange(8) + 9.5)
def local_records(out):
    i = cuda.grid(1)
    own = cuda.local.array(3, POINT)
    own[1].x = i  # and at[0] stays as it is: a copy of the record is no use of it
    own[1].at[1] = 2.5 + i
    own[1]["y"] = 7
    own[2] = own[1]
    own[1].x = 0
    out[i] = 2 * own[2].x + own[2].at[1] + own[2].y + own[0:2][1].x + i


@CASES.add((2, 4), lambda r: (zeros(8),), lambda out: 11.5 * (3 - np.arange(8) % 4), shared=32)
def dynamic_shared_memory_of_two_types(out):
    space = cuda.shared.array(0, np.uint8)
    f, k = space[:16].view(np.float32), space[16:32].view(np.int32)
    t = cuda.threadIdx.x
    f[t], k[t] = 1.5 * t, 10 * t
    cuda.syncthreads()
    out[cuda.grid(1)] = f[3 - t] + np.float32(k[3 - t])


@CASES.add(
    (1, 4),
    lambda r: (zeros(4, kind=np.int32),),
    lambda out: np.float32(np.arange(4)).view(np.int32),
    shared=16,
)
def dynamic_shared_memory_is_one_for_all(out):
    f, k = cuda.shared.array(0, float32), cuda.shared.array(shape=0, dtype=int32)
    t = cuda.threadIdx.x
    f[t] = t
    cuda.syncthreads()
    out[t] = k[t]


@cuda.jit(int64(int64), device=True)
def product_down(n):
    own = cuda.local.array(2, int64)
    own[0] = n
    if n <= 1:
        return 1
    rest = product_down(n - 1)
    return own[0] * rest


@CASES.add((1, 6), lambda r: (zeros(6, kind=np.int64),), lambda out: [1, 1, 2, 6, 24, 120])
def each_call_of_itself_has_its_own_array(out):
    out[cuda.threadIdx.x] = product_down(cuda.threadIdx.x)


MIXED = np.dtype([("flag", np.uint8), ("count", np.int32), ("value", np.float64)], align=True)
RECORDS = np.array([(1, 2, 3.5), (4, 5, 6.5)], MIXED)


@CASES.add((1, 2), lambda r: (zeros(2, kind=np.float64),), lambda out: [6.5, 15.5])
def constant_records(out):
    fixed = cuda.const.array_like(RECORDS)
    one = fixed[cuda.threadIdx.x]
    out[cuda.threadIdx.x] = one.flag + one["count"] + one[2]


BY_COLUMNS = np.asfortranarray(np.arange(12.0).reshape(3, 4))


@CASES.add(
    (1, 12),
    lambda r: (zeros(12, kind=np.float64), zeros(4, kind=np.int64)),
    lambda out, strides: (np.arange(12.0).reshape(3, 4).T.ravel() * 2, [8, 24, 8, 24]),
)
def constants_by_columns(out, strides):
    i = cuda.threadIdx.x
    fixed = cuda.const.array_like(BY_COLUMNS)
    out[i] = BY_COLUMNS.T.reshape(12)[i] + fixed[i % 3, i // 3]
    if i < 2:
        strides[i] = BY_COLUMNS.strides[i]
        strides[2 + i] = fixed.strides[i]


@cuda.jit(device=True)
def kept_in_shared_memory(value, write):
    s = cuda.shared.array(1, np.float64)
    if write and cuda.threadIdx.x == 0:
        s[0] = value
    cuda.syncthreads()
    return s[0]


@CASES.add((1, 4), lambda r: (zeros(4, kind=np.float64),), lambda out: 7.5)
def an_array_for_each_type_that_a_function_is_called_with(out):
    i = cuda.grid(1)  # a number that is written out would have an array of its own
    kept_in_shared_memory(out.size + 3, i >= 0), kept_in_shared_memory(0.5, i >= 0)
    out[i] = kept_in_shared_memory(i, i < 0) + kept_in_shared_memory(1.0, i < 0)
