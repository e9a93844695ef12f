"""Dense networks: their weights, their training, and what is found in them."""

import numpy as np
import pytest

from gpulearn.data.digits import digits
from gpulearn.errors import BadInput, TrainingError
from gpulearn_lessons.backprop.networks import dense_layers, dense_values, fit_dense, gradient_norms

IMAGES = digits().train_images.reshape(-1, 64)
LABELS = digits().train_labels


@pytest.mark.parametrize(
    ("spread", "deviation"), [("he", (2 / 400) ** 0.5), ("glorot", (2 / 700) ** 0.5)]
)
def test_weights_are_spread_as_the_papers_say(spread, deviation):
    ((weights, biases),) = dense_layers([400, 300], spread)
    assert weights.data.dtype == biases.data.dtype == np.float32
    assert weights.data.std() == pytest.approx(deviation, rel=0.02)
    assert abs(weights.data.mean()) < 0.02 * deviation
    assert not biases.data.any()
    assert (dense_layers([400, 300], spread)[0][0].data == weights.data).all()
    ((exact, _),) = dense_layers([400, 300], spread, dtype=np.float64)
    assert exact.data.dtype == np.float64
    assert (exact.data.astype(np.float32) == weights.data).all()


def tanh_layer(x, weights, biases):
    return (x @ weights + biases).tanh()


def sigmoid_layer(x, weights, biases):
    return (x @ weights + biases).sigmoid()


def test_values_are_those_of_numpy():
    layers = dense_layers([64, 5, 7, 3])
    (w1, b1), (w2, b2), (w3, b3) = [(w.data, b.data) for w, b in layers]
    b2 += 1
    first = np.maximum(IMAGES[:9] @ w1 + b1, 0)
    second = np.maximum(first @ w2 + b2, 0)
    values = dense_values(IMAGES[:9], layers)
    for value, expected in zip(values, (first, second, second @ w3 + b3), strict=True):
        np.testing.assert_allclose(value.data, expected, rtol=1e-6)
    np.testing.assert_allclose(
        dense_values(IMAGES[:9], layers, tanh_layer)[0].data, np.tanh(IMAGES[:9] @ w1 + b1)
    )


def test_the_digits_are_learned():
    fit = fit_dense(dense_layers([64, 64, 10]), lr=0.5)
    assert len(fit.losses) == 300
    assert fit.accuracy > 0.95
    assert fit.silent[0] < 0.2
    assert repr(fit).startswith(f"loss {fit.losses[0]:.3g} → ")
    assert repr(fit).endswith(f"right, {fit.silent[0]:.0%} of the hidden units silent")


def test_too_large_a_rate_silences_every_unit():
    layers = dense_layers([64, 64, 10])
    fit = fit_dense(layers, lr=3)
    assert fit.silent == [1.0]
    assert fit.accuracy < 0.2
    norms = gradient_norms(IMAGES, LABELS, layers)
    assert norms[0] == 0
    assert all(parameter.grad is None for layer in layers for parameter in layer)


def test_gradients_vanish_through_sigmoids_and_not_through_relus():
    sizes = [64] * 11 + [10]
    images, labels = IMAGES[:256], LABELS[:256]
    sigmoid = gradient_norms(images, labels, dense_layers(sizes, "glorot"), sigmoid_layer)
    relu = gradient_norms(images, labels, dense_layers(sizes, "he"))
    assert sigmoid[0] < 1e-5 * sigmoid[-1]
    assert 0.2 < relu[0] / relu[-1] < 5


def test_a_loss_that_is_no_number_stops_the_training():
    layers = dense_layers([64] * 11 + [10])
    for weights, _ in layers:
        weights.data *= 10
    with pytest.raises(TrainingError, match=r"The loss of step \d+ is nan: reduce the rate, 0.05"):
        fit_dense(layers, lr=0.05)


def test_bad_sizes_and_spreads_get_a_sentence():
    for sizes, spread, message in [
        ([64], "he", r"sizes is \[64\]: give inputs"),
        ([64, 0], "he", "an entry of sizes is 0"),
        ([64, 10], "hee", "There is no spread 'hee': did you mean 'he'"),
    ]:
        with pytest.raises(BadInput, match=message):
            dense_layers(sizes, spread)
