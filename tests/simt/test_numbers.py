"""Numbers as Numba's CUDA target computes and prints them."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simt import cuda
from simt.errors import KernelError

from . import sources
from .sources import computed


@given(st.lists(st.floats(width=64), min_size=1, max_size=8), st.integers(-330, 330))
def test_round_to_places_is_python_s(values: list[float], places: int) -> None:
    from simt.intrinsics.functions import rounded

    with np.errstate(all="ignore"):
        got = rounded(np.array(values), np.int64(places))
    for mine, value in zip(got, values, strict=True):
        scaled = value * 10.0 ** min(places, 300) if places >= 0 else 0.0
        if not math.isfinite(value) or math.isinf(scaled):
            assert mine == value or (mine != mine and value != value)
        elif abs(places) <= 22 and abs(scaled) < 2**52:
            # half-way cases apart, which the decimal digits decide in Python
            assert math.isclose(
                mine, round(value, places), rel_tol=1e-15, abs_tol=1.01 * 10.0**-places
            )


def test_round_of_a_float32_is_in_float64_and_leaves_what_would_overflow() -> None:
    a = np.array([0.285, 2.675, 1234567.0, 3e38, np.inf, np.nan], np.float32)
    got = computed("round(a[i], 2)", a, kind=np.float32)
    want = np.array([round(float(v), 2) for v in a[:4]] + [np.inf, np.nan]).astype(np.float32)
    np.testing.assert_array_equal(got, want)
    a = np.array([1e300, -1.5e308, 123.456])
    np.testing.assert_array_equal(computed("round(a[i], 10)", a), [1e300, -1.5e308, 123.456])
    np.testing.assert_array_equal(computed("round(a[i], 400)", a), a)


def test_gamma_at_its_poles() -> None:
    a = np.array([-1.0, -2.0, 0.0, -0.0, 200.0, 5.0, -np.inf])
    got = computed("math.gamma(a[i])", a)
    np.testing.assert_array_equal(got, [np.nan, np.nan, np.inf, -np.inf, np.inf, 24.0, np.nan])
    np.testing.assert_array_equal(computed("math.lgamma(a[i])", a[:3]), [np.inf] * 3)


@pytest.mark.parametrize("power", [2, 3, -3, 7, 11])
def test_a_whole_power_is_rounded_at_each_product(power: int) -> None:
    a = np.linspace(0.1, 3, 50).astype(np.float32)
    product, square, left = np.ones_like(a), a, abs(power)
    while left:
        product = product * square if left & 1 else product
        square, left = square * square, left >> 1
    want = product if power > 0 else 1 / product
    np.testing.assert_array_equal(computed(f"a[i] ** {power}", a, kind=np.float32), want)


def printed(what: str, capsys: Any, *args: Any) -> list[str]:
    names = ", ".join("xyz"[: len(args)])
    source = f"def kernel({names}):\n    i = cuda.grid(1)\n    print({what})\n"
    cuda.jit(sources.module(source, cuda).kernel)[1, 1](*args)
    return capsys.readouterr().out.splitlines()


def test_print_writes_what_printf_does(capsys: Any) -> None:
    assert printed("np.float32(0.1), 1e20, -0.0", capsys) == [
        "0.100000 100000000000000000000.000000 -0.000000"
    ]
    assert printed("np.uint64(2**64 - 1), '100%'", capsys) == ["18446744073709551615 100%"]


def test_print_of_more_than_printf_takes_writes_the_format(capsys: Any) -> None:
    assert printed(", ".join(["i"] * 33), capsys) == [" ".join(["%lld"] * 33)]


@pytest.mark.parametrize(
    ("what", "told"), [("x", "an array"), ("1j", "complex128"), ("None", "NoneType")]
)
def test_print_of_anything_else_is_refused(what: str, told: str, capsys: Any) -> None:
    with pytest.raises(KernelError, match=f"strings and tuples, and this is {told}"):
        printed(what, capsys, np.zeros(3))
