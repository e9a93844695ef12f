"""Declared signatures: what a kernel or a device function is compiled for, and what it refuses."""

from typing import Any

import numpy as np
import pytest
from numba import float32, float64, int32, void

import simt
from simt import cuda

pytestmark = pytest.mark.filterwarnings("ignore::numba.core.errors.NumbaWarning")


def add_kernel(r, x, y):
    r[0] = x + y


def first(kernel: Any, *args: Any, dtype: Any = np.float64) -> Any:
    """What a launch of one thread leaves in the one element of its result."""
    r = np.zeros(1, dtype)
    kernel[1, 1](r, *args)
    return r[0]


# --- device functions


@pytest.mark.parametrize("kind", ["uint8", "int8", "uint16", "int32"])
def test_a_declared_type_casts_argument_and_result_of_each_thread(kind: str) -> None:
    twice = cuda.jit(f"{kind}({kind})", device=True)(lambda x: 2 * x)

    @cuda.jit
    def kernel(x, r):
        i = cuda.grid(1)
        r[i] = twice(x[i])

    x = np.random.default_rng(0).integers(-(2**40), 2**40, 64)
    r = np.zeros_like(x)
    kernel[2, 32](x, r)
    np.testing.assert_array_equal(r, (2 * x.astype(kind).astype(np.int64)).astype(kind))


def test_a_device_function_that_numba_refuses_is_refused_where_it_is_defined() -> None:
    with pytest.raises(simt.errors.KernelError, match="nowhere"):
        cuda.jit("int64(int64)", device=True)(lambda x: nowhere(x))  # noqa: F821


# --- kernels


def test_the_one_signature_converts_numbers_as_ctypes_does() -> None:
    kernel = cuda.jit("(i4[::1], i4, i4)")(add_kernel)
    assert first(kernel, 123, np.int64(456), dtype=np.int32) == 579
    assert first(kernel, 2**32 + 5, True, dtype=np.int32) == 6  # cut to 32 bits
    single = cuda.jit("(float64[:], float32, float64)")(add_kernel)
    assert first(single, 0.1, 1) == float(np.float32(0.1)) + 1.0


def test_an_array_has_the_order_that_the_signature_says() -> None:
    """Code for the other order would look for its elements in the wrong places."""
    by_rows, by_columns = np.ones((2, 3)), np.ones((2, 3), order="F")
    for signature, right, wrong in [
        ("(float64[:, ::1],)", by_rows, by_columns),
        ("(float64[::1, :],)", by_columns, by_rows),
    ]:
        kernel = cuda.jit(signature)(set_first)
        kernel[1, 1](right)
        assert right[0, 0] == 5
        with pytest.raises(TypeError, match="says that a is .* after .*it is given .* after "):
            kernel[1, 1](wrong)
    cuda.jit("(float64[:, :],)")(set_first)[1, 1](by_columns)
    assert by_columns[0, 0] == 5


def set_first(a):
    a[0, 0] = 5


@pytest.mark.parametrize("number", [1.5, np.float32(2), 3j, np.complex64(1)])
def test_what_is_no_whole_number_is_none_for_an_integer(number: Any) -> None:
    for kind in ("int32", "int64", "uint8"):
        kernel = cuda.jit(f"(float64[:], {kind}, {kind})")(add_kernel)
        with pytest.raises(TypeError, match=f"signature of add_kernel says that x is an? {kind}"):
            first(kernel, number, 1)


def test_two_signatures_that_fit_alike() -> None:
    kernel = cuda.jit(["(f8[:], f4, f8)", "(f8[:], f8, f4)", "(f8[:], i8, i8)"])(add_kernel)
    with pytest.raises(TypeError, match="several signatures of add_kernel fit"):
        first(kernel, 1.0, 2.0)


def test_one_that_fits_only_by_cutting_off_is_taken_and_then_refused() -> None:
    kernel = cuda.jit(["(float64[:], int64, int64)"])(add_kernel)
    with pytest.raises(TypeError, match="says that x is an int64, and it is given 1.5"):
        first(kernel, 1.5, 1.5)


@pytest.mark.parametrize("types", ["void(float64[:])", [(float64[:], int32, int32, int32)]])
def test_the_number_of_types_is_that_of_the_arguments(types: Any) -> None:
    with pytest.raises(TypeError, match="add_kernel takes 3 arguments, and its signature has"):
        cuda.jit(types)(add_kernel)


def test_a_kernel_returns_nothing() -> None:
    with pytest.raises(TypeError, match="must return void"):
        cuda.jit("int32(float64[:], int32, int32)")(add_kernel)


def test_a_kernel_that_numba_refuses_is_refused_where_its_signature_is() -> None:
    with pytest.raises(simt.errors.KernelError, match="nowhere"):

        @cuda.jit(void(float32[:]))
        def kernel(a):
            a[0] = nowhere  # noqa: F821
