"""Accumulated gradients are the large batch's."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from gpulearn.errors import BadInput
from gpulearn.train.precision import Precision
from gpulearn.train.step import accumulate_gradients, accumulate_in_precision

pytestmark = pytest.mark.usefixtures("one_thread")


def network():
    torch.manual_seed(3)
    return nn.Sequential(
        nn.Conv2d(1, 4, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(36, 10)
    )


def batch(count):
    maker = torch.Generator().manual_seed(count)
    images = torch.rand(count, 1, 8, 8, generator=maker)
    return images, torch.randint(10, (count,), generator=maker)


def gradients(model):
    return torch.cat([p.grad.flatten() for p in model.parameters()])


def large_batch(model, images, labels):
    loss = nn.functional.cross_entropy(model(images), labels)
    loss.backward()
    return loss.item()


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 40), st.integers(1, 45))
def test_equals_the_large_batch(count, micro_batch):
    one, other = network(), network()
    loss = accumulate_gradients(one, *batch(count), micro_batch)
    assert loss == pytest.approx(large_batch(other, *batch(count)), abs=1e-6)
    assert (gradients(one) - gradients(other)).abs().max() <= 1e-6


def test_adds_to_the_gradients_that_are_there():
    one, other = network(), network()
    accumulate_gradients(one, *batch(7), 3)
    accumulate_gradients(one, *batch(9), 3)
    large_batch(other, *batch(7))
    large_batch(other, *batch(9))
    torch.testing.assert_close(gradients(one), gradients(other), rtol=1e-5, atol=1e-6)


def test_only_one_part_goes_through_the_model_at_once():
    model, seen = network(), []
    model.register_forward_hook(lambda module, inputs, output: seen.append(len(output)))
    accumulate_gradients(model, *batch(10), 4)
    assert seen == [4, 4, 2]


def test_in_float32_both_forms_are_the_same_bits():
    one, other = network(), network()
    accumulate_gradients(one, *batch(10), 4)
    accumulate_in_precision(other, *batch(10), 4, Precision("float32"))
    assert torch.equal(gradients(one), gradients(other))


def test_in_float16_the_gradients_are_scaled_until_unscaled():
    one, other = network(), network()
    precision = Precision("float16", scale=1024)
    loss = accumulate_gradients(one, *batch(10), 4)
    assert accumulate_in_precision(other, *batch(10), 4, precision) == pytest.approx(loss, 1e-2)
    assert (gradients(other).norm() / gradients(one).norm()).item() == pytest.approx(1024, 1e-2)
    precision.unscale(torch.optim.SGD(other.parameters(), lr=0.1))
    assert (gradients(other) - gradients(one)).norm() <= 1e-2 * gradients(one).norm()


@pytest.mark.parametrize(
    ("count", "micro_batch", "said"),
    [
        (0, 4, "0 images and 0 labels"),
        (8, 0, "micro_batch is 0: give a whole number"),
        (8, 2.5, "is 2.5"),
    ],
)
def test_bad_input(count, micro_batch, said):
    with pytest.raises(BadInput, match=said):
        accumulate_gradients(network(), *batch(count), micro_batch)
