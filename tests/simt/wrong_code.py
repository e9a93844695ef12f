"""Python that is no kernel, and a float64 that nobody asked for."""

import numpy as np
from numba import float32

from simt import cuda

from .wrong import Mistakes, f4

CASES = Mistakes()


@CASES.add((1, 32), lambda: (f4(32),), "not-a-kernel", "counts = {}", "counts[i] = 1")
def dict_in_a_kernel(out):
    i = cuda.grid(1)
    counts = {}
    counts[i] = 1
    out[i] = counts[i]


@CASES.add((1, 32), lambda: (f4(32),), "not-a-kernel", "values = []", "values.append")
def list_in_a_kernel(out):
    i = cuda.grid(1)
    values = []
    values.append(float32(i))
    out[i] = values[0]


@CASES.add((1, 32), lambda: (f4(32),), "not-a-kernel", "open(")
def file_in_a_kernel(out):
    i = cuda.grid(1)
    open("x.txt")  # noqa: PTH123, SIM115
    out[i] = 1


def _not_a_device_function(x):
    return x + 1


@CASES.add((1, 32), lambda: (f4(32),), "not-a-kernel", "_not_a_device_function(")
def plain_function_in_a_kernel(out):
    i = cuda.grid(1)
    out[i] = _not_a_device_function(out[i])


@CASES.add((1, 32), lambda: (f4(32),), "not-a-kernel", "np.linalg")
def linear_algebra_in_a_kernel(out):
    i = cuda.grid(1)
    out[i] = np.linalg.norm(out)


@CASES.add((1, 32), lambda: (f4(32),), "not-a-kernel", "return out[i]")
def kernel_that_returns(out):
    i = cuda.grid(1)
    return out[i]


@CASES.add((1, 32), lambda: (f4(32), f4(32)), "not-a-kernel")
def one_argument_too_many(out):
    out[cuda.grid(1)] = 1


@CASES.add((1, 32), lambda: (f4(32),), "not-a-kernel", "x = (1, 2)", "x = 1", "out[i] = x[0]")
def variable_of_two_types(out):
    i = cuda.grid(1)
    if i > 3:  # noqa: SIM108
        x = (1, 2)
    else:
        x = 1
    out[i] = x[0]


@CASES.add(
    (1, 32), lambda: (f4(32),), "not-a-kernel", "try:", "raise ValueError", "except ValueError"
)
def try_in_a_kernel(out):
    i = cuda.grid(1)
    try:
        raise ValueError
    except ValueError:
        out[i] = 1


@CASES.add((1, 32), lambda: (f4(32), f4(32)), "float64-leak", "= a[i] * 0.5")
def float64_that_leaked(a, out):
    i = cuda.grid(1)
    out[i] = a[i] * 0.5


@CASES.add((1, 32), lambda: (f4(32), f4(32)), "float64-leak", "a[i] * i")
def float32_times_an_index(a, out):
    i = cuda.grid(1)
    out[i] = a[i] * i


WIDTH = 8


@CASES.add((1, 32), lambda: (f4(32),), "not-a-kernel", "cuda.shared.array")
def computed_shape(out):
    s = cuda.shared.array((WIDTH, WIDTH + 1), float32)
    t = cuda.threadIdx.x
    s[t // 8, t % 8] = out[t]
    out[t] = s[t // 8, t % 8]


@CASES.add((1, 32), lambda: (f4(32), 4), "not-a-kernel", "cuda.local.array")
def shape_from_an_argument(out, n):
    box = cuda.local.array(n, float32)
    box[0] = out[cuda.grid(1)]
    out[cuda.grid(1)] = box[0]
