"""Numbers have the types that Numba gives them: per operation, and where paths join."""

import itertools
import warnings
from typing import Any

import numba.cuda
import numpy as np
import pytest
from numba.np.numpy_support import from_dtype, ufunc_find_matching_loop

from simt import cuda
from simt.intrinsics.math import ufunc_loop

from . import reference, sources
from .harness import launch, xray

HEAD = """
@cuda.jit(device=True)
def pick(x, c):
    if c:
        return x
    return 0.5

K = 1

@cuda.jit(device=True)
def triple(x):
    return x * x * x

def kernel(a, b, out, n):
    i = cuda.grid(1)
"""
JOINS = {
    "if else": "    if {c}:\n        r = a[i]\n    else:\n        r = 0.5\n",
    "int and float32": "    r = 3\n    if {c}:\n        r = a[i]\n",
    "int32 and int64": "    r = 5\n    if {c}:\n        r = b[i]\n    r = r << 31\n",
    "ternary in a sum": "    r = (a[i] if {c} else 0.5) * a[i]\n",
    "ternary of ternaries": "    r = (a[i] if {c} else (0.5 if n > 2 else a[i])) * a[i]\n",
    "ternary of three types": "    r = (a[i] if {c} else (0.5 if n > 2 else b[i])) * a[i]\n",
    "ternary in a condition": "    r = (a[i] if (0.5 if {c} else b[i]) else 0.5) * a[i]\n",
    "two ternaries": "    r = (a[i] if {c} else 0.5) + (b[i] if n > 2 else n)\n",
    "two of other types": "    r = (b[i] if {c} else n) / (a[i] if n > 2 else 0.5) * a[i]\n",
    "ternary of bools": "    r = (a[i] if n > 2 else 0.5) * (a[i] > 0.5 if {c} else n > 2)\n",
    "ternary that a constant decides": (
        "    r = (a[i] if K else 0.5) * a[i] + (0.1 if K else a[i]) + (a[i] if {c} else 0.5)\n"
    ),
    "ternary in an inner block": (
        "    r = 0.5\n    for q in range(n):\n        if n > 2:\n"
        "            r = (a[i] if {c} else 0.5) * a[i] + (b[i] if {c} else n)\n"
    ),
    "ternary over lines": (
        "    r = (a[i] if {c}\n        else 0.5) * a[i] + (\n        b[i]\n        if {c} else n)\n"
    ),
    "ternary as an index's value": "    r = (a[i], 0.5 if {c} else a[i])[1] * a[i]\n",
    "tuple": "    p = (a[i], 1)\n    if {c}:\n        p = (0.5, 2)\n    r = p[0] * a[i] * p[1]\n",
    "result of a function": "    r = pick(a[i], {c}) * a[i]\n",
    "argument of a function": "    r = triple(a[i] if {c} else 0.5)\n",
    "or": "    r = (b[i] or n) << 31\n",
    "for and break": (
        "    r = 0.0\n    for q in range(n):\n        r = a[i]\n"
        "        if {c}:\n            break\n"
    ),
    "endless loop and break": (
        "    r = 0\n    while True:\n        r = a[i]\n        if r > 0:\n            break\n"
    ),
    "while": "    r = 0.0\n    while n > 1:\n        r = a[i]\n        n -= 1\n",
    "in the loop": (
        "    r = 0.0\n    for q in range(n):\n        out[i] += r * a[i] * a[i]\n        r = a[i]\n"
    ),
    "bool and int": "    r = a[i] > 0.5\n    if {c}:\n        r = 7\n",
}


def both(source: str, *args: Any) -> tuple[list[Any], list[Any]]:
    """Copies of `args` as the machine and as the reference leave them."""
    ours = [a.copy() if isinstance(a, np.ndarray) else a for a in args]
    theirs = [a.copy() if isinstance(a, np.ndarray) else a for a in args]
    threads = len(args[0])
    reference.run(sources.module(source, numba.cuda).kernel, 1, threads, *theirs)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        launch(sources.module(source, cuda).kernel, 1, threads, *ours)
    return ours, theirs


# what Python decides before Numba sees it, and what has a type without being a variable
TYPED = {
    "constants to a negative power": "    r = 10 ** -3 * n + a[i] * 2 ** -1\n",
    "constants above int64": "    r = (0xFFFFFFFF << 32) / n + (2**64 - 59) % np.uint64(n)\n",
    "constants shifted out of int64": "    r = (1 << 63) / n\n",
    "not a bool": "    r = ~True * n\n",
    "or inside": "    r = (a[i] or out[i]) * a[i]\n",
    "and inside": "    r = ~((n > 5) and n) * a[i]\n",
    "or of small ones": "    r = -(np.uint8(n) or np.uint32(n))\n",
    "branches that are or": "    r = ((a[i] and a[i]) if n > 1 else (out[i] or 0.5)) * a[i]\n",
    "or with a type beside it": "    r: float = a[i] or out[i]\n    r = r * a[i]\n",
    "unsigned range": "    r = 0.0\n    for k in range(np.uint32(n)):\n        r += -k\n",
    "unsigned ranges": (
        "    r = 0.0\n    for k in range(np.uint32(n)):\n"
        "        for j in range(np.uint32(n)):\n            r += k - j\n"
    ),
    "result of an inner function": "    r = halved(n)\n",
    "inner function that branches": (
        "    def f(v):\n        if v > 5:\n            return v * v\n        return v\n"
        "    r = f(n) + (n if n > 1 else 2) * (0.25 if n > 2 else n)\n"
    ),
    "literal arguments": "    r = clamp(a[i], 0, 1) * a[i] + clamp(b[i], 0, 255)\n",
    "None or numbers": "    k = some(n, 7000000000000000001)\n    r = (k + 1) % 1000\n",
    "None or tuples": "    p, q = a_pair(n, a[i])\n    r = p * a[i] + q\n",
    "None, an integer or a float": (
        "    k = None\n    if n > 1:\n        k = 7000000000000000001\n    if n > 5:\n"
        "        k = 0.5\n    if k is not None:\n        r = (k + 1) % 1000\n"
        "    else:\n        r = 0.0\n"
    ),
    "None in an expression": (
        "    k = (some(n, a[i]) if n > 1 else 0.5)\n    r = 0.0\n"
        "    if k is not None:\n        r = k * a[i]\n"
    ),
    "default left out": "    r = last(a, n) * a[i] + last(a, n, a[0])\n",
    "branch that is dropped": (
        "    r = 0.0\n    if not K:\n        r = 1\n    if n > 1:\n        r = a[i]\n"
        "    r = r * a[i]\n"
    ),
    "condition on constants": (
        "    r = 1 if S > 0.1 else 2\n    if S > 0.1:\n        r = 3\n    r += S > 0.1\n"
    ),
}
HELPERS = """
S = np.float32(0.1)

@cuda.jit(device=True)
def clamp(x, low, high):
    if x < low:
        return low
    if x > high:
        return high
    return x

@cuda.jit(device=True)
def last(x, m, start=0):
    s = start
    for k in range(m):
        s = x[k]
    return s * x[0]

@cuda.jit(device=True)
def some(m, x):
    if m > 5:
        return 0.5
    if m > 1:
        return x

@cuda.jit(device=True)
def a_pair(m, x):
    if m > 5:
        return 0.5, 1
    if m > 1:
        return x, m

@cuda.jit(device=True)
def halved(x):
    def half(y):
        return y * 0.5
    return int(half(x) * 4)
"""


@pytest.mark.parametrize("body", TYPED)
def test_a_value_has_the_type_that_numba_gives_it(body: str) -> None:
    """Judged by Numba's CPU compiler, which types as the CUDA target does."""
    if body == "default left out":
        pytest.importorskip("numba_cuda")  # Numba's own target takes no call without all arguments
    source = HELPERS + HEAD + TYPED[body] + "    out[i] = r\n"
    plain = source.replace("@cuda.jit(device=True)", "@numba.njit").replace("cuda.grid(1)", "0")
    a, b = np.full(1, 0.1, np.float32).repeat(4), np.full(4, 7, np.int32)
    want, got = np.ones(4), np.ones(4)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        numba.njit(sources.module(plain, numba).kernel)(a, b, want, 3)
        launch(sources.module(source, cuda).kernel, 1, 1, a, b, got, 3)
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("condition", ["n > 5", "i > 5"])
@pytest.mark.parametrize("join", JOINS)
def test_a_variable_has_one_type_where_paths_join(join: str, condition: str) -> None:
    source = HEAD + JOINS[join].format(c=condition) + "    out[i] += r * a[i] * a[i]\n"
    a = np.linspace(0.1, 0.9, 16).astype(np.float32)
    ours, theirs = both(source, a, np.arange(16, dtype=np.int32), np.zeros(16), 3)
    np.testing.assert_array_equal(ours[2], theirs[2])


def leak(a, out):
    i = cuda.grid(1)
    factor = 0.5
    if i > 3:
        factor = a[i]
    out[i] = factor * a[i]


def test_a_leak_through_a_join_is_reported() -> None:
    report = xray(leak, 1, 32, np.ones(32, np.float32), np.zeros(32, np.float32))
    assert [f.kind for f in report.findings] == ["float64-leak"]


MIXTURE = ["bool", "int8", "int64", "uint32", "float32", "float64", "complex64"]
UFUNCS = [np.add, np.multiply, np.true_divide, np.power, np.maximum, np.arctan2, np.hypot, np.sqrt]


@pytest.mark.parametrize("ufunc", UFUNCS, ids=lambda u: u.__name__)
def test_a_ufunc_is_computed_in_the_type_that_numba_chooses(ufunc: np.ufunc) -> None:
    for kinds in itertools.product(MIXTURE, repeat=ufunc.nin):
        given = tuple(np.dtype(k) for k in kinds)
        numbas = ufunc_find_matching_loop(ufunc, tuple(map(from_dtype, given)))
        if numbas is not None:  # arctan2 has no loop for complex numbers
            letters = numbas.ufunc_sig[: ufunc.nin]
            assert ufunc_loop(ufunc, given) == tuple(map(np.dtype, letters))
