"""Numbers at their edges, on the machine and unchecked, as the code of Numba's for a GPU."""

import builtins
import cmath
import itertools
import math
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import simt
from simt import cuda
from simt.core.values import cast, normal
from simt.numba_ptx.codegen import compiler_fault

from . import sources
from .reference_types import whole

Array = np.ndarray


def ran(
    lines: str, *arrays: Array, names: Sequence[str] = "abcdef", free: int = 0, rtol: float = 0
) -> list[Array]:
    """What a kernel makes of arrays `a`, `b`, ...: machine code gives the same, bit for bit.

    The first `free` arrays are not compared, the others to `rtol`.
    """
    names = names[: len(arrays)]
    source = f"def kernel({', '.join(names)}):\n    i = cuda.grid(1)\n"
    source += "".join(f"    {line}\n" for line in lines.splitlines())
    kernel = cuda.jit(sources.module(source, cuda, cmath=cmath).kernel)
    fast = [a.copy() for a in arrays]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        kernel[1, len(arrays[-1])](*arrays)
        with simt.unchecked():
            kernel[1, len(arrays[-1])](*fast)
    (overload,) = kernel.overloads.values()
    assert bool(overload.unchecked.left) == bool(compiler_fault())
    for slow, quick in zip(arrays[free:], fast[free:], strict=True):
        if rtol:
            np.testing.assert_allclose(quick, slow, rtol=rtol)
        else:
            assert_same(quick, slow)
    return list(arrays)


def computed(expression: str, *arrays: Array, kind: Any = np.int64, rtol: float = 0) -> Array:
    """An expression of elements of `a`, `b`, ..., stored in an array of some type."""
    name = "abcdef"[len(arrays)]
    out = np.zeros(len(arrays[0]), kind)
    return ran(f"{name}[i] = {expression}", *arrays, out, rtol=rtol)[-1]


def assert_same(got: Array, want: Array) -> None:
    """The same numbers, with the signs of zeros; a NaN is a NaN."""
    np.testing.assert_array_equal(got, want)
    if want.dtype.kind == "f":
        number = ~np.isnan(want)
        np.testing.assert_array_equal(np.signbit(got)[number], np.signbit(want)[number])


# --- quotients of whole numbers


@pytest.mark.parametrize("kind", [np.int64, np.int32, np.int16, np.int8])
@pytest.mark.parametrize("uniform", [True, False])
def test_the_quotient_that_does_not_fit_is_0(kind: Any, uniform: bool) -> None:
    """Numba divides in 64 bits, and leaves the least number over -1 out."""
    least = np.iinfo(kind).min
    a, b = np.array([least, least, 7, least, -7], kind), np.array([-1, 1, -1, 2, 0], kind)
    want = [0 if kind is np.int64 else -int(least), least, -7, int(least) // 2, 0]
    i = "0" if uniform else "i"
    many = slice(0, 1 if uniform else None)
    lines = f"c[i] = a[{i}] // b[{i}]\nd[i], e[i] = divmod(a[{i}], b[{i}])\nf[i] = a[{i}] % b[{i}]"
    results = ran(lines, a[many], b[many], *(np.zeros(5, np.int64)[many] for _ in "cdef"))[2:]
    for got, wanted in zip(results, [want, want, [0] * 5, [0] * 5], strict=True):
        assert_same(got, np.array(wanted)[many])


# --- floats as whole numbers

KINDS = [np.dtype(letter) for letter in "bBhHiIlL"]
FLOATS = [0.0, -0.0, 0.9, -0.9, 1.5, 2.5, -2.5, 127.9, -128.9, 200.0, -1.0, -300.0, 300.0]
FLOATS += [s * f for n in (15, 16, 31, 32, 63, 64) for s in (1, -1) for f in (2.0**n, 2.0**n * 1.5)]
FLOATS += [1e30, -1e30, math.inf, -math.inf, math.nan, 65535.5, -32768.5, 2.0**31 - 0.5]


SOURCES = [np.float32, np.float64]


@pytest.mark.parametrize("source", SOURCES)
def test_wherever_a_kernel_converts(source: Any) -> None:
    a = np.array(FLOATS).astype(source)
    outs = [np.zeros(len(a), kind) for kind in KINDS]
    narrow, explicit, whole64 = (np.zeros((n, len(a)), np.int64) for n in (2, len(KINDS), 8))
    scaled, record = np.zeros(len(a)), np.zeros(len(a), "i4,u1")
    lines = [
        "whole64[0, i] = int(a[i])", "whole64[1, i] += a[i]", "p, whole64[2, i] = 1, a[i]",
        "whole64[3, i:i+1] = a[i]", "whole64[4, i:i+1].fill(a[i])",
        "cuda.atomic.exch(whole64, (5, i), a[i])", "whole64[6, i] = round(a[i])",
        "scaled[i] = math.ldexp(1.5, a[i])",
        "record[i].f1 = a[i]", "record[i]['f0'] = a[i]", "record['f1'][i] += a[i]",
        "record[i].f0 += a[i]",
    ]  # fmt: skip
    for n, kind in enumerate(KINDS):
        wide = "narrow" if kind.itemsize == 1 else "explicit"  # machine code keeps 16 bits of it
        lines += [f"o{n}[i] = a[i]", f"{wide}[{n}, i] = numba.int64(np.{kind}(a[i]))"]
    names = [
        "narrow",
        "explicit",
        "whole64",
        "scaled",
        "record",
        *(f"o{n}" for n in range(len(KINDS))),
        "a",
    ]
    arrays = narrow, explicit, whole64, scaled, record, *outs, a
    ran("\n".join(lines), *arrays, names=names, free=1)

    def of(numbers: Sequence[Any], kind: Any) -> Array:
        found = [whole(float(v), numbers[0].itemsize == 8, np.dtype(kind)) for v in numbers]
        return np.array(found, kind)

    for n, kind in enumerate(KINDS):
        assert_same(outs[n], of(a, kind))
        assert [cast(normal(v), kind) for v in a] == outs[n].tolist()  # of a number for all threads
        assert_same((narrow if n < 2 else explicit)[n], of(a, kind).astype(np.int64))
    for n in range(6):
        assert_same(whole64[n], of(a, np.int64))
    with np.errstate(all="ignore"):
        assert_same(whole64[6], of(np.rint(a).astype(np.float64), np.int64))
        assert_same(scaled, np.ldexp(1.5, of(a, np.int32)))
        assert_same(record["f1"], of(of(a, np.uint8).astype(source) + a, np.uint8))
        assert_same(record["f0"], of(of(a, np.int32) + a.astype(np.float64), np.int32))


def test_a_float16_is_rounded() -> None:
    """Numba converts it by `cvt.rni`, which keeps to 8 bits too."""
    a = np.array([0.5, 1.5, 2.5, -1.5, 300, -300, 65504, -np.inf, np.inf, np.nan], np.float16)
    assert cast(a, np.dtype("i1")).tolist() == [0, 2, 2, -2, 127, -128, 127, -128, 127, 0]
    assert cast(a, np.dtype("u2"))[3:].tolist() == [0, 300, 0, 65504, 0, 65535, 0]
    assert cast(a, np.dtype("i8"))[-3:].tolist() == [-(2**63), 2**63 - 1, -(2**63)]
    assert cast(np.float16(2.5), np.dtype("i4")) == 2


# --- signs of zeros, and what is no number

CASES = [0.0, -0.0, 1.0, -1.0, math.nan, math.inf]
PAIRS = [np.array(side) for side in zip(*itertools.product(CASES, repeat=2), strict=True)]


def least(a: float, b: float) -> float:
    """`min` of PTX: a NaN loses, and -0 is less than 0."""
    if math.isnan(a) or math.isnan(b):
        return b if math.isnan(a) else a
    return min((a, b), key=lambda v: (v, math.copysign(1, v)))


@pytest.mark.parametrize("kinds", list(itertools.product(SOURCES, repeat=2)))
def test_of_two_floats_a_nan_loses_and_zeros_have_signs(kinds: Any) -> None:
    a, b = (side.astype(kind) for side, kind in zip(PAIRS, kinds, strict=True))
    want = np.array([least(*map(float, pair)) for pair in zip(a, b, strict=True)])
    assert_same(computed("min(a[i], b[i])", a, b, kind=np.float64), want)
    assert_same(computed("max(-a[i], -b[i])", a, b, kind=np.float64), -want)


def test_of_anything_else_the_first_stays_unless_another_is_better() -> None:
    a, b = PAIRS
    c = np.roll(b, 7)
    whole = np.arange(len(a)) % 3 - 1
    for name in ("min", "max"):
        python = getattr(builtins, name)
        want = np.array([python(three) for three in zip(a, b, c, strict=True)])
        assert_same(computed(f"{name}(a[i], b[i], c[i])", a, b, c, kind=np.float64), want)
        assert_same(computed(f"{name}((a[i], b[i], c[i]))", a, b, c, kind=np.float64), want)
        want = np.array([python(pair) for pair in zip(a, whole.tolist(), strict=True)], float)
        assert_same(computed(f"{name}(a[i], b[i])", a, whole, kind=np.float64), want)


@pytest.mark.parametrize("kind", SOURCES)
def test_ufuncs_take_the_first_of_two_zeros(kind: Any) -> None:
    a, b = (side.astype(kind) for side in PAIRS)
    for name in ("minimum", "maximum", "fmin", "fmax"):
        want = np.where(a == b, a, getattr(np, name)(a, b))
        assert_same(computed(f"np.{name}(a[i], b[i])", a, b, kind=kind), want)


@pytest.mark.parametrize("kind", SOURCES)
@pytest.mark.parametrize("name", ["min", "max"])
def test_an_atomic_writes_what_is_strictly_better(name: str, kind: Any) -> None:
    a, b = (np.tile(side.astype(kind), 3) for side in PAIRS)
    got, old = ran(f"c[i] = cuda.atomic.{name}(a, i, b[i])", a.copy(), b, np.zeros_like(a))[::2]
    better = {"min": np.less, "max": np.greater}[name]
    assert_same(got, np.where(better(b, a), b, a))
    assert_same(old, a)
    for values in ([0.0, -0.0], [-0.0, 0.0], [-0.0, 0.0, math.nan, -0.0, 0.0] * 9):
        one, many = np.array([-2.0 if name == "max" else 2.0], kind), np.array(values, kind)
        assert_same(ran(f"cuda.atomic.{name}(a, 0, b[i])", one, many)[0], many[:1])
    other = sources.module(
        f"def kernel(a, b):\n    i = cuda.grid(1)\n    cuda.atomic.nan{name}(a, i, b[i])\n", cuda
    ).kernel
    got = a.copy()
    cuda.jit(other)[1, len(a)](got, b)
    assert_same(got, np.where(better(b, a) | np.isnan(a), b, a))


# --- complex numbers


@pytest.mark.parametrize("kind", [np.complex64, np.complex128])
def test_abs_of_a_complex_number_is_hypot_of_its_parts(kind: Any) -> None:
    """In the parts' own width, as Numba has it; NumPy's own `abs` rounds otherwise.

    Machine code has libdevice's function, of which the last digit may differ.
    """
    rng = np.random.default_rng(0)
    size = 10.0 ** rng.integers(-30, 30, 500)
    a = ((rng.standard_normal(500) + 1j * rng.standard_normal(500)) * size).astype(kind)
    a[:4] = [complex(math.inf, math.nan), complex(math.nan, 1), 0, complex(-0.0, -0.0)]
    want = np.hypot(a.real, a.imag)
    for text in ("abs(a[i])", "cmath.polar(a[i])[0]"):
        rtol = 2 * np.finfo(want.dtype).eps
        assert_same(computed(text, a, kind=want.dtype, rtol=rtol), want)
