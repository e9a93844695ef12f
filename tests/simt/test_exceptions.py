"""Exceptions in kernels: they reach the host with `debug=True`, and end threads without it."""

from typing import Any

import numpy as np
import pytest

import simt
from simt import cuda
from simt.core.findings import SimtWarning

from . import sources
from .harness import to_device, xray


def raises_above_two(out: Any) -> None:
    i = cuda.grid(1)
    if i > 2:
        raise ValueError("too large", 7)
    out[i] = 1


# from text: pytest rewrites the assertions of a test file
ASSERTS = """
def kernel(out):
    i = cuda.grid(1)
    assert i < 3, "at most three"
    out[i] = 1
"""
asserts = sources.module(ASSERTS, cuda).kernel


def takes_part(out: Any) -> None:
    i = cuda.grid(1)
    out[i] = out.shape[-i]


def test_a_raise_reaches_the_host_with_debug() -> None:
    with pytest.raises(ValueError, match="thread 3 of block 0 raises ValueError: too large") as e:
        cuda.jit(debug=True, opt=False)(raises_above_two)[1, 8](cuda.to_device(np.zeros(8)))
    assert e.value.args[1] == 7
    assert [f.kind for f in e.value.report.findings] == ["exception"]


def test_an_assertion_reaches_the_host_with_debug() -> None:
    with pytest.raises(AssertionError, match="thread 3 of block 0 .*at most three"):
        cuda.jit(debug=True)(asserts)[1, 8](cuda.to_device(np.zeros(8)))
    cuda.jit(debug=True)(asserts)[1, 3](cuda.to_device(np.zeros(3)))


@pytest.mark.parametrize("kernel", [raises_above_two, asserts])
def test_without_debug_the_threads_end_and_are_told_of(kernel: Any) -> None:
    out = cuda.to_device(np.zeros(8))
    with pytest.warns(SimtWarning, match=r"thread 3 of block 0 raises .*debug=True"):
        cuda.jit(kernel)[1, 8](out)
    np.testing.assert_array_equal(out.copy_to_host(), [1, 1, 1, 0, 0, 0, 0, 0])
    report = xray(kernel, 1, 8, np.zeros(8))
    assert [f.kind for f in report.findings if f.severity == "error"] == ["exception"]


@pytest.mark.parametrize("expression", ["x[i] / y[i]", "x[i] // y[i]", "x[i] % y[i]"])
@pytest.mark.parametrize("kind", [np.float64, np.int32])
def test_division_by_zero(expression: str, kind: Any) -> None:
    source = f"def kernel(out, x, y):\n    i = cuda.grid(1)\n    out[i] = {expression}\n"
    kernel = sources.module(source, cuda).kernel
    x, y = np.ones(4, kind), np.array([1, 0, 1, 0], kind)
    out, *given = to_device((np.zeros(4), x, y))
    with pytest.raises(ZeroDivisionError, match="line 3: thread 1 of block 0 .*division by zero"):
        cuda.jit(debug=True)(kernel)[1, 4](out, *given)
    assert not out.copy_to_host().any()  # the store never came
    cuda.jit(kernel)[1, 4](out, *given)
    with np.errstate(all="ignore"):
        want = eval(expression, {"x": x, "y": y, "i": slice(None)})  # of whole numbers 0, or inf
    np.testing.assert_array_equal(out.copy_to_host(), want)


def test_an_index_past_a_tuple() -> None:
    with pytest.raises(IndexError, match="tuple index out of range"):
        cuda.jit(debug=True)(takes_part)[1, 3](cuda.to_device(np.zeros(3)))
    with pytest.raises(simt.errors.KernelError, match="out of bounds for a tuple"):
        cuda.jit(takes_part)[1, 3](cuda.to_device(np.zeros(3)))


@cuda.jit(device=True)
def root(x):
    if x < 0:
        raise ValueError("negative")
    return x**0.5


def roots(out, x):
    i = cuda.grid(1)
    out[i] = root(x[i])


def test_a_raise_in_a_device_function_ends_more_than_that_function() -> None:
    out, x, bad = to_device((np.zeros(4), np.arange(4.0), np.array([1.0, -1, 4, -4])))
    cuda.jit(roots)[1, 4](out, x)
    with pytest.raises(simt.errors.KernelError, match=r"thread 1 of block 0 raises .*debug=True"):
        cuda.jit(roots)[1, 4](out, bad)
    with pytest.raises(ValueError, match="thread 1 of block 0 raises ValueError: negative"):
        cuda.jit(debug=True)(roots)[1, 4](out, bad)
    np.testing.assert_array_equal(out.copy_to_host(), np.arange(4) ** 0.5)


def test_complex_numbers_are_not_divided_by_zero() -> None:
    def kernel(out, x, y):
        i = cuda.grid(1)
        if i != 2:
            out[i] = x[i] / y[i]

    for zeros, kind in ((1, np.complex64), (1, np.float64), (2, np.complex128)):
        x, y = np.ones(4, np.complex128), np.arange(1, 5).astype(kind)
        y[zeros] = 0
        out, *given = to_device((np.zeros(4, np.complex128), x, y))
        if zeros == 2:  # of a thread that does not divide
            cuda.jit(kernel)[1, 4](out, *given)
            np.testing.assert_allclose(out.copy_to_host(), [1, 0.5, 0, 0.25])
            continue
        with pytest.raises(
            simt.errors.KernelError, match="thread 1 .*complex division by zero; on"
        ):
            cuda.jit(kernel)[1, 4](out, *given)
        with pytest.raises(ZeroDivisionError, match="thread 1 of block 0 raises ZeroDivision"):
            cuda.jit(debug=True)(kernel)[1, 4](out, *given)
