"""Schedules, by what they promise."""

import re

import pytest

import gpulearn as gl
from gpulearn.errors import BadInput
from gpulearn.optim.landscapes import SURFACES

BOWL = SURFACES["bowl"]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: gl.optim.cosine_rate(0, 0.1, steps=0), "steps is 0"),
        (lambda: gl.optim.cosine_rate(0, -0.1, steps=9), "lr is -0.1"),
        (lambda: gl.optim.warm_up_cosine_rate(0, 0.1, 9, 9), "warm_up is 9 of 9 steps: leave some"),
        (lambda: gl.optim.range_test(BOWL, [1, 1], 20, 10, 9), "lowest is 20, highest 10"),
        (lambda: gl.optim.range_test(BOWL, [0, 0], 1, 10, 9), "loss at the start is 0: it must be"),
    ],
)
def test_bad_input_gets_a_sentence(call, message):
    with pytest.raises(BadInput, match=re.escape(message)):
        call()
