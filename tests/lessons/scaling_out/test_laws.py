"""Efficiency and the linear scaling rule: against their definitions."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gpulearn as gl
from gpulearn_lessons.scaling_out import scaling_efficiency

quick = settings(max_examples=100, deadline=None)


def test_efficiency_is_one_where_nothing_is_lost():
    assert scaling_efficiency(8, 2, 4) == 1
    assert scaling_efficiency(8, 8, 4, "weak") == 1
    assert scaling_efficiency(8, 4, 4, "strong") == 0.5
    assert scaling_efficiency(4, 8, 4, "weak") == 0.5


@quick
@given(rate=st.floats(1e-4, 10), factor=st.floats(0.1, 100), warm_up=st.integers(0, 20))
def test_the_rate_grows_in_equal_parts_to_factor_times_as_much(rate, factor, warm_up):
    rates = [gl.optim.scaled_learning_rate(n, rate, factor, warm_up) for n in range(warm_up + 3)]
    assert rates[warm_up:] == [pytest.approx(rate * factor)] * 3
    if warm_up:
        assert rates[0] == rate
        np.testing.assert_allclose(np.diff(rates[: warm_up + 1]), rate * (factor - 1) / warm_up,
                                   atol=1e-9)  # fmt: skip


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: scaling_efficiency(0, 1, 2), "seconds_one is 0"),
        (lambda: scaling_efficiency(1, 1, 0), "ranks is 0"),
        (lambda: scaling_efficiency(1, 1, 2, "week"), "did you mean 'weak'"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(gl.errors.BadInput, match=re.escape(message)):
        call()
