"""What a kernel may write: each piece gives on the machine what it gives in Python.

The oracle is the same text as plain Python on NumPy arrays, thread after thread. `n` differs
from thread to thread, `row` is a thread's own row of `rows`. Numba's type inference sees all
of it too: the machine asks it before a launch.
"""

import textwrap
from types import SimpleNamespace
from typing import Any

import numba.cuda
import numpy as np
import pytest

import simt
from simt import cuda

from . import sources
from .harness import launch, xray

THREADS = 6

VIEWS = """
a.reshape(3, -1)[n - 1, 0]
a.reshape(a.shape[::-1])[2, 1]
a.reshape(a.size)[n]
b[1:3].reshape(2, 1)[1, 0]
b[n:].reshape(-1)[0]
a.view(np.int32)[1, n - 1] % 1000
a.view(np.uint8)[0, 4 * n - 1]
b[:2].view(np.float64).size
b.view(np.int16)[2 * n]
a.T[n - 1, 1]
a.transpose()[n - 1, 1]
a.flat[n]
a.strides[0] + a.itemsize + a.nbytes + a.ndim + a.size + len(a) + len(a.shape)
b[np.newaxis, n:][0, 0]
a[..., 0][1] + a[0, ...][n - 1]
a[:, None, 1:][1, 0, 0]
b[::-1][n]
b[3:0:-1][n - 1]
b[-1:-4:-2][0]
b[n:1:-1].size + b[n::-1].size + b[:n:-1].size + b[-n:].size + b[:-n].size + b[n:n - 2].size
b[n::-1][n]
b[-n:][0]
b[slice(0, n)][n - 1]
a[1][n - 1] + a[n % 2][0] + a[1, :][n - 1]
a[(n % 2, 0)]
np.size(a) + np.shape(a)[1] + np.asarray(b)[n]
"""

REDUCTIONS = """
a.sum() + b.prod() + a.mean()
b[:n].sum() + b[n:].sum()
np.sum(a[n % 2]) + np.prod(b[:n]) + np.mean(b)
a.var() + np.var(b) + np.std(b[:1])
np.argmax(b) + b.argmin() + a.argmax() + np.argmin(a[1])
np.any(b[:1]) + 2 * np.all(b) + 4 * a.all() + 8 * a.any()
np.count_nonzero(a) + np.count_nonzero(a[0, :n])
np.nansum(c) + np.nanprod(c) + np.nanmean(c)
np.nanvar(c) + np.nanstd(c[:2])
sum(b) + sum((1, n, 3)) + sum(b[:n])
min(b) + max(b) + min(b[n:]) + max(b[:n])
min(n, 2) + max(1, n, 2.5) + min((3, n)) + abs(-n)
1.0 in b
2 in (1, n) or n in range(2, 9, 3)
n not in (1, 2)
"""

NUMBERS = """
int(2.7 * n) + int(-2.7) + float(n) + bool(n - 1) + int(True)
pow(n, 3) + pow(2.0, n) + pow(n, 0.5)
divmod(7, n)[0] + divmod(-7, n)[1] + divmod(7.5, 2.0)[1]
round(2.5) + round(n + 0.5) + abs(n - 2) + abs(-1.5)
1 < n <= 3 != n
(n > 1 and n) + (n - 1 or 7)
(y := n) + y
(lambda x: x * 2)(n)
np.pi + math.e + np.inf * 0 if n > 5 else np.float32(n)
len("abc") + ("abc" == "abc") + 2 * ("abc" == "abd") + ("abc"[1] == "b") + ord("a")
isinstance(n, int) + 2 * isinstance(n, float)
np.int64(n).item()
"""

TUPLES = """
(1, n)[n % 2] + (1, 2.5)[1] + (n, 2.0)[-1] + (1, 2, 3)[0:2][1]
(1, (2, n))[1][1]
((n, 2) + (3,))[0] + ((1,) + (n, 2.5))[2] + ((1, 2) * 2)[2]
(n, 2) < (2, 3)
(n, 2.0) == (1, 2.0)
(n, 2) != (1, 2) and (1, 2) <= (n, 0)
PAIR.x + PAIR[1] + Pair(n, 2).y
Pair(x=n, y=2).x
SHAPES[1][0] + len(SHAPES)
TABLES[0][n] + TABLES[1][1, 0]
"""

STATEMENTS = """
row[:] = n; out[i] = 1
row[n:] = 5; row[:n] = b[n]
row[::2] = (n, 7)
row[...] = n
rows[i, :] = n
rows[i][1] = n
row.fill(n)
row[::-1][0] = n
part = row[1:3]; part[1] = n
square = row.reshape((2, 2)); square[1, 0] = n
row.view(np.int32)[n] = 1065353216
row.T[n] = 4
row.flat[n] = 4
row[n] += 2; row[n] *= 3
row[:2] = row[0]
x, y = b[:2]; out[i] = x * 10 + y
x, y = n, 2; x, y = y, x; out[i] = 10 * x + y
(x, y), z = (n, 2), 3; out[i] = x + y * z
x = y = n; out[i] = x + y
t = (n, 2.0); t = (t[1], t[0]); out[i] = t[0] * 10 + t[1]
t = (b, a[0]); out[i] = t[0][n] + t[1][n - 1]
t = (b, a[0]); out[i] = t[n % 2][1]
x: int = n; out[i] = x
assert n > 0, "n begins at 1"; out[i] = 1
"""

BLOCKS = [
    "for x in b:\n  if x < 2:\n    continue\n  out[i] += x\n  if x > n:\n    break",
    "for x in b[:n]:\n  if x < 2:\n    continue\n  out[i] = 10 * out[i] + x",
    "for r in a:\n  for x in r[:n]:\n    out[i] += x",
    "for x in b[::-1]:\n  out[i] = 10 * out[i] + x",
    "for x in a.flat:\n  out[i] = 3 * out[i] + x",
    "for x in np.nditer(a):\n  out[i] = 3 * out[i] + x.item()",
    "for k, x in np.ndenumerate(a):\n  out[i] += (10 * k[0] + k[1]) * x",
    "for k in np.ndindex(a.shape):\n  out[i] = 3 * out[i] + a[k]",
    "for j, k in np.ndindex(2, 3):\n  out[i] += j * k * a[j, k]",
    "for k, x in enumerate(b[n:], 3):\n  out[i] += k * x",
    "for x, y in zip(b[:n], b[::-1]):\n  out[i] += x * y",
    "for k, (x, y) in enumerate(zip(b, range(n, 9))):\n  out[i] += k * x * y",
    "for x in (n, 2, 3):\n  out[i] = 10 * out[i] + x",
    "for x in [n, 2, 3]:\n  out[i] = 10 * out[i] + x",
    "for x, y in [(1, 2), (0, -1)]:\n  out[i] += b[x] * y + n",
    "if n in [1, 5]:\n  out[i] = 2\nif 0 < n not in [2, n + 1]:\n  out[i] += 1",
    "for k in range(n, 10, n):\n  out[i] = out[i] * 2 + k\nelse:\n  out[i] += 1",
    "for k in range(5):\n  if k == n:\n    break\nelse:\n  out[i] = 9\nout[i] += k",
    "k = 0\nwhile k < n:\n  k += 1\n  if k == 2:\n    break\nelse:\n  out[i] = 100\nout[i] += k",
    "while (k := n) < 4:\n  n += 1\n  out[i] += k",
    "def f(x):\n  return x + n\nout[i] = f(2)",
    "def f(x, y=2, z=3):\n  return x + 10 * y + 100 * z\nout[i] = f(n) + f(n, z=n)",
    "x = a\nif i % 2:\n  x = a[:, 1:]\nfor r in x[n - 1:]:\n  out[i] += r[0] + x[0].sum()",
    "x = n\ndef f():\n  nonlocal x\n  x += n\nf()\nf()\nout[i] = x",
    "match n:\n  case 1 | 2:\n    out[i] = 1\n  case 3 if b[0] > 9:\n    out[i] = 2",
    "match n + 1:\n  case x if x > 2:\n    out[i] = x\n  case _:\n    out[i] = -1",
    "y = 5\nmatch n:\n  case y if y > 4:\n    out[i] = 1\n  case _:\n    out[i] = y",
    "y = 5\nmatch n:\n  case 2 | 3 as y if i > 1:\n    out[i] = 1\n  case _:\n    out[i] = y",
    "match n:\n  case 1:\n    return\n  case 2:\n    out[i] += 1\nout[i] += 3",
]


def pieces() -> list[str]:
    lines = "".join((VIEWS, REDUCTIONS, NUMBERS, TUPLES)).splitlines()
    expressions = [f"out[i] = {line}" for line in lines if line]
    return [*expressions, *(s for s in STATEMENTS.splitlines() if s), *BLOCKS, *FUNCTIONS]


FUNCTIONS = [
    "out[i] = apply(square, n) + apply(SQUARES[0], n)",
    "out[i] = tools.cube(n) * tools.SCALE + tools.math.sqrt(4.0)",
    "out[i] = weighted(n) + weighted(n, y=5) + weighted(n, 3, z=1)",
    "out[i] = first_of(n, 2, 3) + first_of(*(2, n)) + first_of(*a.shape, n)",
    "out[i] = power(2.0, n)",
    "x, (y, z) = several(n)\nout[i] = x + 10 * y + 100 * z",
    "put(row, n)\nput(rows[i, 1:], n)",
    "out[i] = factor * made(n)",
    "global factor; out[i] = factor * n",
]

REFUSED = {
    "out[i] = even(n) + 2 * even(n + 1)": "calls itself by another",
    "out[i] = power(2.0, cuda.threadIdx.x)": "or with other types",
    "row[:] = b": "write a loop over the elements",
    "rows[0, 1:] = b[::-1][1:]": "write a loop over the elements",
    "out[i] = b.min()": "no code for the min of a whole array: write a loop",
    "b.sort()": "no code for .sort(): write a loop",
    "global FACTOR; FACTOR = 1": "cannot assign to the global FACTOR",
    "import os": "an import cannot be used in a kernel: Numba does not compile it; import at the",
    "out[i] = np.gcd(n, 4)": "no code for np.gcd: write a loop",
    "out[i] = np.copysign(1.5, n)": "no code for np.copysign: write math.copysign(x, y)",
    "out[i] = cuda.ffs(np.int8(n))": "no code for cuda.ffs of int8: convert the number",
    "b += 1": "compute single elements",
    "try:\n  out[i] = 1\nexcept ValueError:\n  out[i] = 2": "test with if before",
    "print(f'{n}')": "print() takes several values",
    "match (n, 1):\n  case (1, y):\n    out[i] = y": "one by one with if",
    "x, *y = (1, 2, 3)": "by its numbers, such as t[0]",
    "x = [n, 2]": "a tuple holds a few numbers",
    "for x in zip([1, 2], b):\n  out[i] += x[0]": "a tuple holds a few numbers",
    "out[i] = b.copy()[0]": "copy its elements into a cuda.local.array",
    "out[i] = b.astype(np.int32)[0]": "convert single elements",
    "x = rows[:, 1:].reshape(18)": "only where its elements lie one after the other",
    "x = b.reshape(5)": "b has 4 elements, and a reshape to (5,) does not",
    "x = a.T.reshape(6)": "its elements do not lie one after the other",
    "x = row[:n].reshape(-1, 1)": "sizes differ from thread to thread",
    "x = b[1:].view(np.int64)": "no whole number of elements of 8 bytes",
    "row[1:3] = (1, 2, 3)": "a part of rows of shape (2,) is given values of shape (3,)",
    "out[i] = b[::0][0]": "a slice with a step of 0",
    "row[::n] = 1": "a slice whose step differs from thread to thread is not supported",
    "out[i] = square()": "the function called here takes (x): missing a required argument: 'x'",
    "out[i] = there(n)": "there(), which cuda.declare_device takes from compiled code,",
    "open(n)": "open() cannot be called in a kernel: a thread has numbers, tuples and arrays alone",
    "out[i] = types.SimpleNamespace(x=n).x": "a thread makes no objects; keep their parts in",
}

HEAD = """
import types
from collections import namedtuple
Pair = namedtuple("Pair", "x y")
PAIR = Pair(3, 4.5)
SHAPES = ((2, 3), (4, 5))
TABLES = (np.arange(5.0), np.arange(4.0).reshape(2, 2))

@cuda.jit(device=True)
def square(x):
    return x * x

@cuda.jit(device=True)
def apply(f, x):
    return f(x)

@cuda.jit(device=True)
def weighted(x, y=2, z=3):
    return x + 10 * y + 100 * z

@cuda.jit(device=True)
def first_of(*numbers):
    return numbers[0] + 10 * len(numbers)

@cuda.jit(device=True)
def even(n):
    if n == 0:
        return True
    return odd(n - 1)

@cuda.jit(device=True)
def odd(n):
    if n == 0:
        return False
    return even(n - 1)

@cuda.jit(device=True)
def power(x, n):
    if n == 0:
        return 1.0
    return x * power(x, n - 1)

@cuda.jit(device=True, inline="always")
def several(x):
    return x, (x * 2.0, 1)

@cuda.jit(device=True, forceinline=True)
def put(part, x):
    part[0] += x

def factory(times):
    @cuda.jit(device=True)
    def multiplied(x):
        return times * x
    return multiplied

made = factory(7)
factor = 2
SQUARES = (square,)
tools = types.ModuleType("tools")
tools.cube = cuda.jit(lambda x: x * x * x, device=True)
tools.SCALE = 3
tools.math = math

there = cuda.declare_device("there", "int32(int32)")

def kernel(a, b, c, rows, out):
    i = cuda.grid(1)
    n = i % 3 + 1
    row = rows[i]
"""


def made(piece: str, library: Any) -> Any:
    text = HEAD + textwrap.indent(piece, "    ") + "\n"
    return sources.module(text, library).kernel


def _python(thread: int) -> Any:
    """`cuda` for the oracle."""
    return SimpleNamespace(jit=_as_it_is, declare_device=_as_it_is, grid=lambda _: thread)


def _as_it_is(function: Any = None, *rest: Any, **options: Any) -> Any:
    """`cuda.jit` that leaves a function alone."""
    return function or (lambda one: one)


def arguments() -> tuple[np.ndarray, ...]:
    a = np.array([[4, 0, 2], [6, 8, 1]], np.float32)
    b = np.array([1, 3, 2, 4], np.float32)
    c = np.array([1, 2, np.nan, 3])
    return a, b, c, np.ones((THREADS, 4), np.float32), np.zeros(THREADS)


# Numba puts an inner function where it is called, and leaves out the names of its arguments
ANOTHER_IN_PTX = ("def f(x, y=2, z=3):",)


@pytest.mark.parametrize("piece", pieces())
def test_a_piece_of_a_kernel_gives_what_it_gives_in_python(piece: str) -> None:
    want = arguments()
    for thread in range(THREADS):
        made(piece, _python(thread))(*want)
    plain, unchecked, watched = arguments(), arguments(), arguments()
    kernel = made(piece, cuda)
    launch(kernel, 2, THREADS // 2, *plain)
    launch(kernel, 2, THREADS // 2, *unchecked, checked=False)
    assert xray(kernel, 2, THREADS // 2, *watched).ok
    for got in (plain, watched) + (unchecked,) * (not piece.startswith(ANOTHER_IN_PTX)):
        for ours, python in zip(got, want, strict=True):
            np.testing.assert_allclose(ours, python, rtol=1e-6)


@pytest.mark.parametrize(("piece", "said"), REFUSED.items())
def test_a_refusal_says_what_to_write_instead(piece: str, said: str) -> None:
    with pytest.raises(simt.errors.KernelError) as caught:
        launch(made(piece, cuda), 2, THREADS // 2, *arguments())
    assert said in str(caught.value)
    assert "line " in str(caught.value)


def test_an_array_without_dimensions_is_an_index() -> None:
    def kernel(a, one, out):
        out[one] = a[2, one]
        out[0] = a[:, one][one]
        cuda.atomic.add(out, one, 100)

    a = np.arange(6.0).reshape(3, 2)
    out = np.zeros(3)
    launch(kernel, 1, 1, a, np.asarray(1, np.int32), out)
    np.testing.assert_array_equal(out, [3, 105, 0])
    with pytest.raises(simt.errors.KernelError, match=r"accesses a\[2, 3\], out of bounds"):
        launch(kernel, 1, 1, a, np.asarray(3), out)


@pytest.mark.skipif(not hasattr(numba.cuda, "ldca"), reason="this Numba has no cache hints")
def test_accesses_with_cache_hints_are_accesses() -> None:
    def kernel(a, b, out):
        i = cuda.grid(1)
        out[i] = cuda.ldca(a, i) + cuda.ldcg(b, (i, 1)) + cuda.ldlu(a, 0) + cuda.ldcv(a, 1)
        cuda.stwb(out, i, cuda.ldcs(out, i) + 1)
        cuda.stcg(b, (i, 0), 7)

    a, b, out = np.arange(4.0), np.ones((4, 2)), np.zeros(4)
    launch(kernel, 1, 4, a, b, out)
    np.testing.assert_array_equal(out, a + 3)
    np.testing.assert_array_equal(b[:, 0], 7)
    with pytest.raises(simt.errors.KernelError, match=r"accesses a\[3\], out of bounds"):
        launch(kernel, 1, 4, a[:3].copy(), b, out)
