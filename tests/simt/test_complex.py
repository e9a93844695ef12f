"""Complex numbers: their parts, of numbers and of whole arrays, and the functions of cmath."""

import cmath
import contextlib
import itertools
import math
from typing import Any

import numpy as np
import pytest

from simt import cuda

from .harness import launch, only, xray
from .sources import computed

REALS = [-0.0, 0.0, 1, -1, 1.5, -3.5, float("-inf"), float("inf"), float("nan")]
VALUES = np.array([complex(x, y) for x, y in itertools.product(REALS, REALS)])
FINITE = VALUES[np.isfinite(VALUES)]
KINDS = [np.complex64, np.complex128]
# where cmath is built into Python, as Debian does, it has a loader, which is no function of numbers
FUNCTIONS = [
    name
    for name, one in vars(cmath).items()
    if callable(one) and name[0] != "_" and name not in ("isclose", "rect")
]


def real_of(kind: Any) -> Any:
    return kind(0).real.dtype


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_cmath_is_python_s(name: str, kind: Any) -> None:
    values, python = VALUES.astype(kind), getattr(cmath, name)
    if name in ("atan", "atanh", "log10", "tan", "tanh", "asin", "acos"):
        values = FINITE.astype(kind)  # NumPy and Python sign a zero or a NaN apart
    known = []
    for z in values:
        try:
            known.append((z, python(complex(z))))
        except (ValueError, OverflowError):
            continue
    given = np.array([z for z, _ in known], kind)
    expression, want = f"cmath.{name}(a[i])", [w for _, w in known]
    if name == "polar":
        expression, want = "complex(*cmath.polar(a[i]))", [complex(*w) for w in want]
    result = np.bool_ if name.startswith("is") else real_of(kind) if name == "phase" else kind
    got = computed(expression, given, kind=result)
    rtol = 1e-5 if kind is np.complex64 else 1e-13
    np.testing.assert_allclose(got, np.array(want, result), rtol=rtol, atol=rtol)


@pytest.mark.parametrize("kind", KINDS)
def test_parts_of_numbers(kind: Any) -> None:
    z, real = VALUES.astype(kind), real_of(kind)
    np.testing.assert_array_equal(computed("a[i].real", z, kind=real), z.real)
    np.testing.assert_array_equal(computed("a[i].imag", z, kind=real), z.imag)
    np.testing.assert_array_equal(computed("a[i].conjugate()", z, kind=kind), z.conjugate())
    np.testing.assert_array_equal(computed("abs(a[i])", z, kind=real), np.hypot(z.real, z.imag))
    np.testing.assert_array_equal(computed("complex(a[i].real, a[i].imag)", z, kind=kind), z)
    finite = FINITE.astype(kind)
    got = computed("cmath.rect(abs(a[i]), cmath.phase(a[i]))", finite, kind=kind)
    np.testing.assert_allclose(got, finite, rtol=1e-5, atol=1e-6)
    got = computed("cmath.log(a[i], b[i])", finite + 9, finite * 0 + 2, kind=kind)
    np.testing.assert_allclose(got, np.log(finite + 9) / math.log(2), rtol=1e-5)


def test_special_numbers_of_exp_and_rect_are_pythons() -> None:
    reals = [0.0, -0.0, 2.0, math.inf, -math.inf, math.nan]
    pairs, want = [], []
    for pair in itertools.product(reals, reals):
        with contextlib.suppress(ValueError):
            want.append(cmath.rect(*pair))
            pairs.append(pair)
    z = np.array([complex(*pair) for pair in pairs])
    got = computed("cmath.rect(a[i].real, a[i].imag)", z, kind=np.complex128)
    np.testing.assert_array_equal(got, want)
    got = computed("cmath.exp(a[i])", np.array([complex(-math.inf, -math.inf)]), kind=np.complex128)
    assert str(got[0]) == "0j"  # and no -0


@pytest.mark.parametrize("kind", KINDS)
def test_parts_of_an_array_are_views(kind: Any) -> None:
    def kernel(z, out, shared_out):
        i = cuda.threadIdx.x
        tile = cuda.shared.array(8, np.complex128)
        own = cuda.local.array(3, np.complex64)
        for k in range(3):
            own[k] = complex(k, i)
        tile.real[i] = own.imag[2] + own.real[2] - 2
        tile.imag[i] = -z.imag[i]
        cuda.syncthreads()
        z.imag[i] = 2 * z.real[i]
        out[i] = z.imag[i]
        shared_out[i] = tile[7 - i]

    z = (np.arange(8) + 3j).astype(kind)
    out, shared = np.zeros(8), np.zeros(8, np.complex128)
    want = z.real + 2j * z.real
    launch(kernel, 1, 8, z, out, shared)
    np.testing.assert_array_equal(z, want)
    np.testing.assert_array_equal(out, want.imag)
    np.testing.assert_array_equal(shared, np.arange(7, -1, -1) - 3j)


@pytest.mark.parametrize("kind", KINDS)
def test_atomics_on_the_parts(kind: Any) -> None:
    def kernel(total, z):
        i = cuda.grid(1)
        cuda.atomic.add(total.real, 0, z[i].real)
        cuda.atomic.add(total.imag, 0, z[i].imag)
        cuda.atomic.max(total.imag, 1, z[i].imag)

    z = (np.arange(64) + 1j * np.arange(64)[::-1]).astype(kind)
    total = np.zeros(2, kind)
    launch(kernel, 2, 32, total, z)
    np.testing.assert_array_equal(total, np.array([z.sum(), 63j]))


def test_a_race_on_a_part_is_seen_and_on_different_parts_is_none() -> None:
    def racing(z):
        i = cuda.grid(1)
        z.real[0] = i

    def apart(z):
        i = cuda.grid(1)
        if i == 0:
            z.real[0] = 1
        elif i == 40:
            z.imag[0] = 2

    z = np.zeros(2, np.complex128)
    assert only(xray(racing, 1, 64, z), "race").array == "z.real"
    launch(apart, 1, 64, z)
    assert z[0].imag == 2
