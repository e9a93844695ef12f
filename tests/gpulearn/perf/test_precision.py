"""Rounding to fewer bits, held against torch's own conversion, bit for bit."""

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from gpulearn import relative_error
from gpulearn.kernels import round_mantissa

FLOATS = arrays(np.float32, st.integers(1, 50), elements=st.floats(width=32))


@given(FLOATS)
def test_seven_bits_are_bfloat16(x):
    expected = torch.from_numpy(x).to(torch.bfloat16).to(torch.float32).numpy()
    np.testing.assert_array_equal(round_mantissa(x, 7), expected)


@given(arrays(np.float32, 20, elements=st.floats(2**-13, 60000, width=32)))
def test_ten_bits_are_float16_within_its_range(x):
    expected = torch.from_numpy(x).to(torch.float16).to(torch.float32).numpy()
    np.testing.assert_array_equal(round_mantissa(x, 10), expected)


def test_each_bit_doubles_the_error():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 256, 256)).astype(np.float32)
    exact = a.astype(np.float64) @ b.astype(np.float64)
    errors = [
        relative_error(round_mantissa(a, bits) @ round_mantissa(b, bits), exact)
        for bits in (7, 8, 9, 10)
    ]
    ratios = np.divide(errors[:-1], errors[1:])
    np.testing.assert_allclose(ratios, 2, rtol=0.1)
