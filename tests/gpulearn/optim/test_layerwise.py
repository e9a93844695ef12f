"""LARS and LAMB: how far a layer moves, against the formulas written out."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpulearn.errors import BadInput
from gpulearn.optim.layerwise import lamb_step, lars_step
from gpulearn.optim.optimizers import adam_step, momentum_step

RNG = np.random.default_rng(3)
LAYER, SLOPES = RNG.normal(size=(4, 3)), RNG.normal(size=(5, 4, 3))


def length(array):
    return float(np.sqrt(sum(x * x for x in np.ravel(array).tolist())))


@given(st.floats(1e-12, 1e12), st.floats(1e-4, 2.0), st.floats(1e-4, 1.0))
def test_without_momentum_a_step_is_a_part_of_the_layer_however_long_the_gradient(size, lr, trust):
    moved, _ = lars_step(LAYER, size * SLOPES[0], lr=lr, momentum=0.0, trust=trust)
    assert length(moved - LAYER) == pytest.approx(lr * trust * length(LAYER), rel=1e-9)
    direction = (LAYER - moved) / length(LAYER - moved)
    assert direction == pytest.approx(SLOPES[0] / length(SLOPES[0]), abs=1e-5)


def test_the_velocity_is_that_of_momentum_with_scaled_gradients():
    theta, state, other, velocity = LAYER, None, LAYER, None
    for slopes in SLOPES:
        ratio = 0.01 * length(other) / length(slopes)
        theta, state = lars_step(theta, slopes, state, lr=0.3, trust=0.01)
        other, velocity = momentum_step(other, ratio * slopes, velocity, lr=0.3)
        assert theta == pytest.approx(other, rel=1e-12)
        assert state == pytest.approx(velocity, rel=1e-12)


def test_weight_decay_is_in_the_gradient_whose_length_counts():
    plain, _ = lars_step(LAYER, SLOPES[0] + 0.1 * LAYER, lr=0.5)
    assert lars_step(LAYER, SLOPES[0], lr=0.5, weight_decay=0.1)[0] == pytest.approx(plain)


@pytest.mark.parametrize("step", [lars_step, lamb_step])
def test_layers_of_zeros_and_gradients_of_zeros(step):
    zeros = np.zeros(3)
    assert np.all(step(zeros, np.ones(3), lr=0.1)[0] < 0)  # biases that begin at 0 do move
    assert np.array_equal(step(np.ones(3), zeros, lr=0.1)[0], np.ones(3))
    with pytest.raises(BadInput, match="theta has shape"):
        step(np.ones(3), np.ones(2), lr=0.1)


@pytest.mark.parametrize("step", [lars_step, lamb_step])
def test_float32_stays_float32(step):
    moved, _ = step(LAYER.astype(np.float32), SLOPES[0].astype(np.float32), lr=0.1)
    assert moved.dtype == np.float32


def test_lamb_goes_where_adam_goes_and_as_far_as_the_layer_says():
    theta, state, other, moments = LAYER, None, LAYER, None
    for slopes in SLOPES:
        theta, state = lamb_step(theta, slopes, state, lr=0.02)
        aim, moments = adam_step(other, slopes, moments, lr=1.0)
        other = other - 0.02 * length(other) / length(other - aim) * (other - aim)
        assert theta == pytest.approx(other, rel=1e-12)
