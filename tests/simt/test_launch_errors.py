"""A launch that is written wrong is told so in one line, and names what to write."""

import re
from typing import Any

import numpy as np
import pytest

import simt
from simt import cuda
from simt.errors import BadLaunch

from .harness import launch, line, only, xray


@cuda.jit
def fill(a, n):
    a[cuda.grid(1)] = n


@cuda.jit(device=True)
def helper(x):
    return x


def array() -> Any:
    return cuda.to_device(np.zeros(32, np.float32))


LAUNCHES = [
    (lambda: fill(array(), 3), ValueError, r"launch configuration was not specified: write fill\["),
    (lambda: fill[1], ValueError, r"fill\[1\] says nothing of the threads: write fill\["),
    (lambda: fill[1, 2, 0, 0, 0], ValueError, "takes 2 to 4 values, got 5"),
    (lambda: fill[32 / 32, 32], TypeError, "got 1.0; // divides whole numbers"),
    (lambda: fill[(1, 1, 1, 1), 32], ValueError, "a tuple of 1 to 3 integers"),
    (lambda: fill[2, None], ValueError, "a tuple of 1 to 3 integers"),
    (lambda: simt.xray(fill)[1, (3, 4, 5, 6)], ValueError, "a tuple of 1 to 3 integers"),
    (lambda: simt.xray(fill)[2, 3.0], TypeError, "got 3.0; // divides whole numbers"),
    (lambda: simt.xray(fill)(array(), 3), ValueError, r"write xray\(fill\)\[blocks, threads\]"),
]


@pytest.mark.parametrize(("wrong", "kind", "said"), LAUNCHES)
def test_a_wrong_shape_is_told_where_it_stands_by_the_class_that_numba_raises(
    wrong: Any, kind: type, said: str
) -> None:
    with pytest.raises(BadLaunch, match=said) as caught:
        wrong()
    assert isinstance(caught.value, simt.errors.KernelError)
    assert isinstance(caught.value, kind)
    assert len(caught.value._render_traceback_()) <= 3


def test_a_device_function_is_no_kernel() -> None:
    with pytest.raises(RuntimeError, match="helper is a device function: only kernels can call it"):
        helper[1, 32](array())


@pytest.mark.parametrize("given", [3, None, fill[1, 32]])
def test_xray_says_how_it_is_written(given: Any) -> None:
    with pytest.raises(simt.errors.SimtError, match=r"write xray\(kernel\)\[blocks, threads\]"):
        simt.xray(given)


@cuda.jit(device=True)  # noqa: RET503 - the mistake
def only_for_large(x):
    if x > 3:
        return x


@cuda.jit(device=True)
def none_for_small(x):
    if x <= 3:
        return None
    return x


def some_without_an_answer(a, out):
    i = cuda.grid(1)
    out[i] = only_for_large(a[i])


def some_get_none(a, out):
    i = cuda.grid(1)
    out[i] = none_for_small(a[i])


@pytest.mark.parametrize("first", [0, -100])
@pytest.mark.parametrize(
    ("kernel", "said"),
    [(some_without_an_answer, "a function end(s|ed) without a return"), (some_get_none, "None")],
)
def test_a_function_that_returns_for_some_threads_only(kernel: Any, said: str, first: int) -> None:
    a = np.arange(first, first + 32, dtype=np.float32)
    found = only(xray(kernel, 1, 32, a, np.zeros(32)), "not-a-kernel")
    assert re.search(said, found.message)


def test_a_function_that_returns_for_all_threads() -> None:
    a, out = np.arange(4, 36, dtype=np.float32), np.zeros(32)
    launch(some_without_an_answer, 1, 32, a, out)
    np.testing.assert_array_equal(out, a)


def one_argument_missing(a, out):
    out[0] = only_for_large()


def test_a_missing_argument_of_a_device_function_is_named() -> None:
    found = only(xray(one_argument_missing, 1, 1, np.ones(1), np.ones(1)), "not-a-kernel")
    assert "takes" in found.message
    assert "(x)" in found.message
    assert found.line == line(one_argument_missing, "out[0]")


@cuda.jit("void(float64[:], float64)")
def doubles(a, n):
    a[cuda.grid(1)] = n


@cuda.jit("void(float32[:], float64)")
def singles(a, n):
    a[cuda.grid(1)] = n


def test_an_array_of_another_type_than_the_signature_says() -> None:
    said = r"signature of doubles says that a is a 1-dimensional array of float64, and it is given"
    with pytest.raises(simt.errors.KernelError, match=said):
        doubles[1, 32](array(), 3)
    singles[1, 32](array(), 3)  # numbers are converted
    with pytest.raises(
        simt.errors.KernelError, match="2-dimensional array of float32: without a signature"
    ):
        singles[1, 32](cuda.to_device(np.zeros((4, 8), np.float32)), 3)


def test_slices_whose_steps_differ_between_threads_are_named() -> None:
    def stepped(a):
        i = cuda.grid(1)
        a[:: i + 1] = a[0]

    said = only(xray(stepped, 1, 32, np.zeros(32, np.float32)), "unsupported").message
    assert said.startswith("a slice whose step differs from thread to thread")
