"""The models and the plain step: shapes, seeds, names, and gradients that recomputing keeps."""

import numpy as np
import pytest
import torch
from torch.nn import functional

import gpulearn as gl
from gpulearn.train.precision import Precision
from gpulearn.train.settings import Settings
from gpulearn.train.step import accumulate_gradients, update

DIGITS = gl.digits()
IMAGES = torch.tensor(DIGITS.train_images[:20])
LABELS = torch.tensor(DIGITS.train_labels[:20])


def gradients(model):
    model.zero_grad()
    torch.manual_seed(0)  # of the dropout
    functional.cross_entropy(model(IMAGES), LABELS).backward()
    return [parameter.grad.clone() for parameter in model.parameters()]


@pytest.mark.parametrize("build", [gl.train.LeNet, gl.train.MLP])
def test_weights_come_from_the_seed_and_the_callers_generator_stays(build):
    before = torch.get_rng_state()
    one, two, other = build(seed=1), build(seed=1), build(seed=2)
    assert torch.equal(torch.get_rng_state(), before)
    for a, b, c in zip(one.parameters(), two.parameters(), other.parameters(), strict=True):
        assert torch.equal(a, b)
        assert not torch.equal(a, c)


@pytest.mark.parametrize("build", [gl.train.LeNet, gl.train.MLP])
def test_recomputing_gives_the_same_gradients_to_the_bit(build):
    model = build()
    plain = gradients(model)
    model.recompute = True
    assert all(torch.equal(a, b) for a, b in zip(plain, gradients(model), strict=True))


def test_every_activation_has_a_name():
    named = dict(gl.train.LeNet().named_modules())
    assert {"stage1.conv1", "stage1.relu1", "stage2.pool2", "stage3.linear2"} < set(named)
    assert named["stage1.conv1"].weight.shape == (32, 1, 3, 3)
    assert list(gl.train.MLP((64, 5, 10)).stage2._modules) == [
        "linear2"
    ]  # no ReLU after the scores


@pytest.mark.parametrize(
    ("build", "expected"),
    [
        (lambda: gl.train.LeNet(width=0), "width is 0"),
        (lambda: gl.train.LeNet(dropout=1), "dropout is 1"),
        (lambda: gl.train.LeNet(dropout="a"), "dropout is 'a'"),
        (lambda: gl.train.LeNet(seed=-1), "seed is -1"),
        (lambda: gl.train.MLP((64,)), "two or more"),
        (lambda: gl.train.MLP((64, 0)), "an entry of sizes is 0"),
        (lambda: gl.train.MLP(64), "sizes is 64"),
    ],
)
def test_a_model_that_makes_no_sense_is_told(build, expected):
    with pytest.raises(gl.errors.BadInput, match=expected):
        build()


def test_a_step_is_the_gradient_of_this_batch_alone_and_in_training_mode():
    model = gl.train.MLP((64, 10))
    model.eval()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    weight = model.stage1.linear1.weight
    weight.grad = torch.full_like(weight, 7.0)  # what an earlier batch left
    start = weight.detach().clone()
    found = gl.train.train_step(model, optimizer, IMAGES, LABELS)
    assert isinstance(found, float)
    assert model.training
    scores = IMAGES.flatten(1) @ start.T + gl.train.MLP((64, 10)).stage1.linear1.bias
    assert found == pytest.approx(functional.cross_entropy(scores, LABELS).item(), rel=1e-6)
    chance = scores.softmax(1) - functional.one_hot(LABELS, 10)
    expected = start - 0.5 * chance.T @ IMAGES.flatten(1) / len(LABELS)
    np.testing.assert_allclose(weight.detach(), expected.detach(), atol=1e-6)


@pytest.mark.parametrize(
    ("images", "labels", "expected"),
    [
        (IMAGES[:0], LABELS[:0], "0 images and 0 labels"),
        (IMAGES[:3], LABELS[:2], "3 images and 2 labels"),
        (IMAGES.numpy(), LABELS, "images is an array of shape"),
        (IMAGES, 3, "labels is 3"),
        (IMAGES, LABELS.float(), "dtype float32: give one class an image"),
        (IMAGES, LABELS[:, None], r"labels has shape \(20, 1\)"),
        (IMAGES, LABELS - 100, "labels holds -100: classes are counted from 0"),
        (IMAGES, LABELS * 0 + 10, "labels holds 10, and the model does not tell as many"),
    ],
)
def test_a_bad_batch_is_told_and_changes_nothing(images, labels, expected):
    model = gl.train.MLP((64, 10))
    weight = model.stage1.linear1.weight
    before = weight.detach().clone()
    optimizer = torch.optim.AdamW(model.parameters())
    for step, options in (
        (gl.train.train_step, {}),
        (update, {"precision": Precision(), "micro_batch": 4}),
    ):
        with pytest.raises(gl.errors.BadInput, match=expected):
            step(model, optimizer, images, labels, **options)
    with pytest.raises((gl.errors.BadInput, IndexError)):
        accumulate_gradients(model, images, labels, 4)
    assert torch.equal(weight, before)
    assert weight.grad is None


def test_evaluation_hides_nothing_and_leaves_the_mode():
    model = gl.train.LeNet(dropout=0.9)
    model.train()
    first = gl.train.evaluate(model, DIGITS.test_images, DIGITS.test_labels)
    assert first == gl.train.evaluate(model, DIGITS.test_images, DIGITS.test_labels)
    assert model.training
    scores = model.eval()(torch.tensor(DIGITS.test_images))
    np.testing.assert_array_equal(
        gl.train.predict(model, DIGITS.test_images), scores.detach().numpy().argmax(axis=1)
    )


def test_evaluation_takes_arrays_of_any_kind():
    model, images, labels = gl.train.MLP((64, 10)), DIGITS.test_images, DIGITS.test_labels
    loss, right = gl.train.evaluate(model, images, labels)
    frozen = images.copy()
    frozen.flags.writeable = False
    for given in (frozen, images.astype(np.float64), images.tolist()):
        assert gl.train.evaluate(model, given, labels) == (loss, right)
    turned = gl.train.evaluate(model, images[::-1], labels[::-1])  # strides below zero
    assert turned == (pytest.approx(loss), right)
    assert gl.train.predict(model, (16 * images).astype(np.uint8)).shape == labels.shape


@pytest.mark.parametrize(
    ("images", "labels", "expected"),
    [
        (IMAGES[:0], LABELS[:0], "0 images and 0 labels"),
        (IMAGES[:5], LABELS[:4], "5 images and 4 labels"),
        (IMAGES, LABELS / 2, "labels has shape .* dtype float32"),
        (IMAGES, LABELS + 2, "labels holds 10, but the model tells 10 classes apart"),
        (IMAGES, LABELS - 1, "labels holds -1"),
        (None, LABELS, "images is None"),
    ],
)
def test_evaluation_of_what_makes_no_sense_is_told(images, labels, expected):
    with pytest.raises(gl.errors.BadInput, match=expected):
        gl.train.evaluate(gl.train.MLP((64, 10)), images, labels)


@pytest.mark.parametrize("steps", [1, 2, 3, 10, 690])
@pytest.mark.parametrize("schedule", ["constant", "cosine", "warm-up"])
def test_every_step_of_a_schedule_moves_and_none_is_above_the_rate(schedule, steps):
    settings = Settings(1, 0.5, 1, "sgd", schedule, None, 1, "float32", 0)
    rates = [settings.rate_at(step, steps) for step in range(steps)]
    assert min(rates) > 0
    assert max(rates) == 0.5
    top = rates.index(0.5)
    assert rates[:top] == sorted(rates[:top])
    assert rates[top:] == sorted(rates[top:], reverse=True)
