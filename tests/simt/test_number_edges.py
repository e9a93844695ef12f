"""Numbers at their edges, on the machine and in compiled code, as the code of Numba's for a GPU."""

from __future__ import annotations

import warnings
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

import gpulearn as gl
from gpulearn import cuda
from gpulearn.simt.compiled import launch as compiled_launch

from . import sources

Array = np.ndarray


def ran(lines: str, *arrays: Array) -> list[Array]:
    """What a kernel makes of arrays `a`, `b`, ...: compiled code gives the same, bit for bit."""
    names = "abcdef"[: len(arrays)]
    source = f"def kernel({', '.join(names)}):\n    i = cuda.grid(1)\n"
    source += "".join(f"    {line}\n" for line in lines.splitlines())
    kernel = cuda.jit(sources.module(source, cuda).kernel)
    fast = [a.copy() for a in arrays]
    with patch.object(compiled_launch, "BUDGET", 0), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        kernel[1, len(arrays[-1])](*arrays)
        with gl.unchecked():
            kernel[1, len(arrays[-1])](*fast)
    (overload,) = kernel.overloads.values()
    assert overload.unchecked.code and not overload.unchecked.refused, overload.unchecked.refused
    for slow, quick in zip(arrays, fast, strict=True):
        assert_same(quick, slow)
    return list(arrays)


def computed(expression: str, *arrays: Array, kind: Any = np.int64) -> Array:
    """An expression of elements of `a`, `b`, ..., stored in an array of some type."""
    name = "abcdef"[len(arrays)]
    return ran(f"{name}[i] = {expression}", *arrays, np.zeros(len(arrays[0]), kind))[-1]


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
    assert_same(computed(f"a[{i}] // b[{i}]", a[many], b[many]), np.array(want)[many])
    assert_same(computed(f"divmod(a[{i}], b[{i}])[0]", a[many], b[many]), np.array(want)[many])
    rest = computed(f"a[{i}] % b[{i}]", a[many], b[many])
    assert_same(rest, np.zeros(5, np.int64)[many])
