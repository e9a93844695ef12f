"""LARS: layers of zeros, decay, and the type of the weights."""

import numpy as np
import pytest

from gpulearn.errors import BadInput
from gpulearn.optim.optimizers import lars_step

RNG = np.random.default_rng(3)
LAYER, SLOPES = RNG.normal(size=(4, 3)), RNG.normal(size=(5, 4, 3))


def test_weight_decay_is_in_the_gradient_whose_length_counts():
    plain, _ = lars_step(LAYER, SLOPES[0] + 0.1 * LAYER, lr=0.5)
    assert lars_step(LAYER, SLOPES[0], lr=0.5, weight_decay=0.1)[0] == pytest.approx(plain)


def test_layers_of_zeros_and_gradients_of_zeros():
    zeros = np.zeros(3)
    assert np.all(lars_step(zeros, np.ones(3), lr=0.1)[0] < 0)  # biases that begin at 0 do move
    assert np.array_equal(lars_step(np.ones(3), zeros, lr=0.1)[0], np.ones(3))
    with pytest.raises(BadInput, match="theta has shape"):
        lars_step(np.ones(3), np.ones(2), lr=0.1)


def test_float32_stays_float32():
    moved, _ = lars_step(LAYER.astype(np.float32), SLOPES[0].astype(np.float32), lr=0.1)
    assert moved.dtype == np.float32
