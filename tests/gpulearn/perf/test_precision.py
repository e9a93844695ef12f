"""Rounding to fewer bits, held against torch's own conversion, bit for bit."""

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

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
