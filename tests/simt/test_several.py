"""Variables that differ among threads in more than their number.

A variable may stand for a range, a function, a string or None in some threads and for another in
others: each thread goes by its own, or is told that the machine needs one for all.
"""

import math
import warnings
from typing import Any

import numpy as np
import pytest

from simt import cuda
from simt.errors import KernelError

from . import sources
from .harness import launch

HEAD = """
@cuda.jit(device=True)
def square(v):
    return v * v

@cuda.jit(device=True)
def cube(v):
    return v * v * v

@cuda.jit(device=True)
def find(a, value):
    for k in range(a.size):
        if a[k] == value:
            return k

@cuda.jit(device=True)
def find_even(a, value):
    k = find(a, value)
    return k if k is None else None if k % 2 else find(a, value)

@cuda.jit(device=True)
def ends(a, value):
    if find(a, value) is None:
        return None
    return value, value + find(a, value + 1 if value < 8 else value)

@cuda.jit(device=True)
def a_third(k):
    return None if k is None else k // 3

@cuda.jit(device=True)
def from_4(v):
    if v < 4:
        return None
    if v < 6:
        return v, v + 1
    return v + 1, v

def kernel(a, b, out, n):
    i = cuda.grid(1)
"""
A, B = np.arange(8.0) + 1, 10 * np.arange(8.0)
LATE = np.arange(8) > 3

CARRIED_OUT = {
    "    r = range(3)\n    if i > 3:\n        r = range(5)\n"
    "    for q in r:\n        out[i] += q\n": np.where(LATE, 10, 3),
    "    for q in (range(2) if i > 3 else range(1, 6, 2)):\n        out[i] += q\n": (
        np.where(LATE, 1, 9)
    ),
    "    r = range(i)\n    if i > 5:\n        r = range(2)\n"
    "    for q in r:\n        out[i] += q\n": [0, 0, 1, 3, 6, 10, 1, 1],
    "    f = square\n    if i > 3:\n        f = cube\n        out[i] = f(n)\n"
    "    else:\n        out[i] = f(n)\n": np.where(LATE, 27, 9),
    "    f = math.sqrt\n    if i > 3:\n        f = math.exp\n        out[i] = f(n)\n"
    "    else:\n        out[i] = f(n)\n": np.where(LATE, math.exp(3), math.sqrt(3)),
    "    t = (1, 2, 3)\n    if i > 3:\n        t = (7, 8)\n        out[i] = t[0]\n"
    "    else:\n        out[i] = t[1] + t[2]\n": np.where(LATE, 7, 5),
    "    v = a\n    if i > 3:\n        v = 5\n        out[i] = v\n"
    "    else:\n        out[i] = v[1]\n": np.where(LATE, 5, 2),
    "    y = None\n    if i > 3:\n        y = 1.5\n    if i > 5:\n        y = 2.5\n"
    "    if y is None:\n        out[i] = -1\n    else:\n        out[i] = y\n": (
        [-1, -1, -1, -1, 1.5, 1.5, 2.5, 2.5]
    ),
    "    y = None if i > 3 else 1.5\n    if y is not None and y > 1:\n        out[i] = y\n": (
        np.where(LATE, 0, 1.5)
    ),
    "    if n > 1:\n        y = None\n    if i > 3:\n        y = 1.5\n"
    "    out[i] = 7 if y is None else 1\n": np.where(LATE, 1, 7),
    "    out[i] = (None if i > 3 else n) is None\n": LATE,
    "    k = find(a, i)\n    if k is not None:\n        out[i] = k + 1\n"
    "    else:\n        out[i] = -1\n": [-1, 1, 2, 3, 4, 5, 6, 7],
    "    if i > 0:\n        out[i] = find(a, i)\n": [0, 0, 1, 2, 3, 4, 5, 6],
    "    k = find_even(a, i)\n    out[i] = 9\n    if k is not None:\n        out[i] = k\n": (
        [9, 0, 9, 2, 9, 4, 9, 6]
    ),
    "    e = ends(a, i)\n    if e is not None:\n        out[i] = e[0] * 10 + e[1]\n": (
        [0, 12, 24, 36, 48, 60, 72, 84]
    ),
    "    k = find(a, i)\n    m = k\n    out[i] = 0 if m is None else m\n    find(a, 99)\n": (
        [0, 0, 1, 2, 3, 4, 5, 6]
    ),
    "    k = a_third(find(a, i))\n    if k is not None:\n        out[i] = k\n": (
        [0, 0, 0, 0, 1, 1, 1, 2]
    ),
    "    f = find\n    k = f(a, i)\n    if k is not None:\n        out[i] = k\n": (
        [0, 0, 1, 2, 3, 4, 5, 6]
    ),
    "    def g(v):\n        if v > 3:\n            return v\n"
    "    k = g(i)\n    if k is not None:\n        out[i] = k\n": np.where(LATE, np.arange(8), 0),
    "    e = from_4(i)\n    if e is not None:\n        out[i] = e[0] + e[1]\n": (
        np.where(LATE, 2 * np.arange(8) + 1, 0)
    ),
    "    v = a if i > 3 else b\n    out[i] = v[i]\n": np.where(LATE, A, B),
    "    s = 'a'\n    if n > 3:\n        s = 'b'\n    out[i] = s == 'a'\n": np.ones(8),
}
REFUSED = {
    "    s = 'a'\n    if i > 3:\n        s = 'b'\n    if s == 'a':\n        out[i] = 1\n": (
        "s is 'b' in thread 4 of block 0 and 'a' in thread 0 of block 0"
    ),
    "    out[i] = ('a' if i > 3 else 'b') == 'a'\n": "this value is 'a' in thread 4",
}
NONE = {
    "    y = None\n    if i > 3:\n        y = 1.5\n    if y is not None or i > 1:\n"
    "        out[i] = y\n": "y is a number in thread 4 of block 0 and None in thread 2 of block 0",
    "    k = find(a, i)\n    out[i] = k\n": (
        "k is None in thread 0 of block 0 and a number in thread 1 of block 0"
    ),
    "    out[i] = find(a, i) + 1\n": "this value is None in thread 0",
    "    x, y = ends(a, i)\n    out[i] = x\n": "this value is a tuple in thread 1",
}


def ran(body: str) -> np.ndarray[Any, Any]:
    """What a kernel with this body makes of an output of zeros."""
    out = np.zeros(8)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Numba's functions as values are an experiment
        launch(sources.module(HEAD + body, cuda).kernel, 1, 8, A, B, out, 3)
    return out


@pytest.mark.parametrize("body", CARRIED_OUT)
def test_each_thread_goes_by_what_it_has(body: str) -> None:
    np.testing.assert_array_equal(ran(body), CARRIED_OUT[body])


@pytest.mark.parametrize(
    ("body", "said", "why"),
    [
        *(
            (body, said, "needs one for all here; use two variables")
            for body, said in REFUSED.items()
        ),
        *((body, said, "a function ends without a return there") for body, said in NONE.items()),
        (
            "    out[i] = find(a, 99)\n",
            "None cannot be stored",
            "a function ended without a return",
        ),
    ],
)
def test_what_all_threads_would_have_to_share_is_not_taken_from_one(
    body: str, said: str, why: str
) -> None:
    with pytest.raises(KernelError) as told:
        ran(body)
    assert said in str(told.value)
    assert why in str(told.value)
