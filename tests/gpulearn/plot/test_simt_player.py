"""A launch step by step: where it stands without a front end."""

import numpy as np

import gpulearn as gl
from gpulearn import cuda


@cuda.jit
def even(a):
    i = cuda.grid(1)
    if i % 2 == 0:
        a[i] = 1


@cuda.jit
def every(a):
    i = cuda.grid(1)
    a[i] = 1


def static(kernel):
    player = gl.plot.kernel_player(gl.xray(kernel)[1, 32](np.zeros(32)))
    return player, player._repr_mimebundle_()["text/html"]


def test_it_stands_where_lanes_have_parted():
    player, read = static(even)
    assert "with 16 of 32 lanes: a[i] = 1." in read
    assert "Step 1 of 3" in player.picture.value  # who can move it begins at the first step


def test_where_no_lanes_part_it_stands_at_the_first_step():
    _, read = static(every)
    assert "Step 1 of 2" in read
