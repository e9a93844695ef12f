"""The matrix product from its definition, its cost, and its model."""

import numpy as np
import pytest

from gpulearn.errors import BadInput
from gpulearn.kernels.matmul import matmul_flops, matmul_loops, relative_error, round_mantissa
from gpulearn.perf.gpus import GPUS, gpu_spec
from gpulearn.perf.roofline import LAUNCH_SECONDS, matmul_seconds


def test_loops_refuse_sizes_that_do_not_fit():
    with pytest.raises(BadInput, match=r"b has shape \(4, 5\), but n is 3 in a"):
        matmul_loops(np.ones((2, 3)), np.ones((4, 5)))


def test_flops_do_not_overflow():
    assert matmul_flops(*[np.int32(100_000)] * 3) == 2 * 10**15
    assert matmul_flops(10**6, 10**6, 10**6) == 2 * 10**18
    with pytest.raises(BadInput, match="n is 0: give a whole number above zero"):
        matmul_flops(1, 0, 1)


def test_model_is_launch_bound_when_small_and_compute_bound_when_large():
    small = matmul_seconds(2, "T4")
    assert small == pytest.approx(LAUNCH_SECONDS, rel=1e-3)
    large = matmul_seconds(8192, "T4")
    assert large == pytest.approx(2 * 8192**3 / 8.1e12, rel=1e-3)


def test_model_is_memory_bound_in_between():
    assert GPUS["H200"].peak["tf32"] == pytest.approx(GPUS["H200"].peak["bfloat16"] / 2)
    seconds = matmul_seconds(64, "H200") - LAUNCH_SECONDS
    assert seconds == pytest.approx(3 * 64**2 * 4 / 4.8e12)


def test_copies_add_the_trip_over_the_link():
    spec = gpu_spec("H200")
    extra = matmul_seconds(1024, "H200", copies=True) - matmul_seconds(1024, "H200")
    assert extra == pytest.approx(3 * 1024 * 1024 * 4 / spec.link + 3 * 10e-6)


def test_rounding_keeps_infinities_and_refuses_other_dtypes():
    x = np.array([np.inf, -np.inf, np.nan, 0.0, -0.0], dtype=np.float32)
    np.testing.assert_array_equal(round_mantissa(x, 7), x)
    np.testing.assert_array_equal(round_mantissa(x, 23), x)
    with pytest.raises(BadInput, match="x is float64: give a float32 array"):
        round_mantissa(x.astype(np.float64), 7)
    with pytest.raises(BadInput, match="bits is 24"):
        round_mantissa(x, 24)


def test_relative_error():
    with pytest.raises(
        BadInput, match=r"c has shape \(3, 1\) and exact \(3,\): they must be equal"
    ):
        relative_error(np.ones((3, 1)), np.ones(3))
    with pytest.raises(BadInput, match="exact is all zeros"):
        relative_error(np.ones(3), np.zeros(3))
    assert relative_error(np.array([3.0, 5.0]), np.array([3.0, 4.0])) == pytest.approx(0.2)
