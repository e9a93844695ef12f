"""LARS and LAMB: layers of zeros, decay, and how far LAMB moves a layer."""

import numpy as np
import pytest

from gpulearn.errors import BadInput
from gpulearn.optim.layerwise import lamb_step, lars_step
from gpulearn.optim.optimizers import adam_step

RNG = np.random.default_rng(3)
LAYER, SLOPES = RNG.normal(size=(4, 3)), RNG.normal(size=(5, 4, 3))


def length(array):
    return float(np.sqrt(sum(x * x for x in np.ravel(array).tolist())))


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
