"""A launch step by step: where it stands without a front end."""

import numpy as np
import pytest

import gpulearn as gl
from gpulearn import cuda


@cuda.jit
def store(a, stride):
    i = cuda.grid(1)
    if i % stride == 0:
        a[i] = 1


@pytest.mark.parametrize(
    ("stride", "words"), [(2, "with 16 of 32 lanes: a[i] = 1."), (1, "Step 1 of 3")]
)
def test_it_stands_where_lanes_have_parted_or_else_at_the_first_step(stride, words):
    player = gl.plot.kernel_player(gl.xray(store)[1, 32](np.zeros(32), stride))
    assert words in player._repr_mimebundle_()["text/html"]
    assert "Step 1 of 3" in player.picture.value  # who can move it begins at the first step
