"""The models, and how good they are: shapes, seeds, names and scores."""

import numpy as np
import pytest
import torch

import gpulearn as gl

DIGITS = gl.digits()
IMAGES = torch.tensor(DIGITS.train_images[:20])
LABELS = torch.tensor(DIGITS.train_labels[:20])


@pytest.mark.parametrize("build", [gl.train.LeNet, gl.train.MLP])
def test_weights_come_from_the_seed_and_the_callers_generator_stays(build):
    before = torch.get_rng_state()
    models = [build(seed=seed).parameters() for seed in (1, 1, 2)]
    assert torch.equal(torch.get_rng_state(), before)
    for a, b, c in zip(*models, strict=True):
        assert torch.equal(a, b)
        assert not torch.equal(a, c)


def test_every_activation_has_a_name():
    named = dict(gl.train.LeNet().named_modules())
    assert {"stage1.conv1", "stage1.relu1", "stage2.pool2", "stage3.linear2"} < set(named)
    assert named["stage1.conv1"].weight.shape == (32, 1, 3, 3)
    assert list(gl.train.MLP((64, 5, 10)).stage2._modules) == ["linear2"]  # scores without a ReLU


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


def test_evaluation_hides_nothing_and_leaves_the_mode():
    model = gl.train.LeNet(dropout=0.9)
    model.train()
    first = gl.train.evaluate(model, DIGITS.test_images, DIGITS.test_labels)
    assert first == gl.train.evaluate(model, DIGITS.test_images, DIGITS.test_labels)
    assert model.training
    scores = model.eval()(torch.tensor(DIGITS.test_images))
    np.testing.assert_array_equal(
        gl.train.classify(model, DIGITS.test_images), scores.detach().numpy().argmax(axis=1)
    )


def test_evaluation_takes_arrays_of_any_kind():
    model, images, labels = gl.train.MLP((64, 10)), DIGITS.test_images, DIGITS.test_labels
    loss, right = gl.train.evaluate(model, images, labels)
    frozen = images.copy()
    frozen.flags.writeable = False
    for given in (frozen, images.astype(np.float64), images.tolist()):
        assert gl.train.evaluate(model, given, labels) == (loss, right)
    reversed_ = gl.train.evaluate(model, images[::-1], labels[::-1])  # strides below zero
    assert reversed_ == (pytest.approx(loss), right)
    assert gl.train.classify(model, (16 * images).astype(np.uint8)).shape == labels.shape


@pytest.mark.parametrize(
    ("images", "labels", "expected"),
    [
        (IMAGES[:0], LABELS[:0], "0 images and 0 labels"),
        (IMAGES[:5], LABELS[:4], "5 images and 4 labels"),
        (IMAGES, LABELS + 2, "labels holds 10, but the model tells 10 classes apart"),
        (None, LABELS, "images is None"),
    ],
)
def test_evaluation_of_what_makes_no_sense_is_told(images, labels, expected):
    with pytest.raises(gl.errors.BadInput, match=expected):
        gl.train.evaluate(gl.train.MLP((64, 10)), images, labels)
