"""One step of training: the plain one, gradient accumulation, and clipping by the global norm."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

import gpulearn as gl
from gpulearn.errors import BadInput
from gpulearn.train.step import accumulate_gradients, clip_by_global_norm

DIGITS = gl.digits()
IMAGES = torch.tensor(DIGITS.train_images[:20])
LABELS = torch.tensor(DIGITS.train_labels[:20])

pytestmark = pytest.mark.usefixtures("one_thread")


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
    with pytest.raises(gl.errors.BadInput, match=expected):
        gl.train.train_step(model, optimizer, images, labels)
    with pytest.raises((gl.errors.BadInput, IndexError)):
        accumulate_gradients(model, images, labels, 4)
    assert torch.equal(weight, before)
    assert weight.grad is None


# gradient accumulation


def test_micro_batches_of_no_size_are_told():
    with pytest.raises(BadInput, match="micro_batch is 0: give a whole number"):
        accumulate_gradients(gl.train.MLP((64, 10)), IMAGES, LABELS, 0)


# clipping

numbers = st.floats(-1e3, 1e3, width=32)
lists = st.lists(st.lists(numbers, min_size=1, max_size=5), min_size=1, max_size=4)


def parameters_with(gradients, dtype=torch.float32):
    parameters = [nn.Parameter(torch.zeros(len(g), dtype=dtype)) for g in gradients]
    for parameter, gradient in zip(parameters, gradients, strict=True):
        parameter.grad = torch.tensor(gradient, dtype=dtype)
    return parameters


@settings(max_examples=60, deadline=None)
@given(lists, st.floats(1e-3, 1e4), st.sampled_from([torch.float32, torch.float64]))
def test_as_torch_clips(gradients, max_norm, dtype):
    ours, theirs = parameters_with(gradients, dtype), parameters_with(gradients, dtype)
    norm = clip_by_global_norm(iter(ours), max_norm)
    # torch divides by norm + 1e-6, which shows where the norm itself is not large beside 1e-6
    assert norm == pytest.approx(torch.nn.utils.clip_grad_norm_(theirs, max_norm).item(), rel=1e-6)
    for p, q in zip(ours, theirs, strict=True):
        torch.testing.assert_close(p.grad, q.grad, rtol=2e-6 + 1e-6 / max(norm, 1e-6), atol=0)


def test_parameters_without_a_gradient_are_passed_over():
    model = torch.nn.Linear(2, 1)
    model.bias.requires_grad_(False)
    model(torch.tensor([[3.0, 4.0]])).sum().backward()
    assert clip_by_global_norm(model.parameters(), 1.0) == 5
    assert model.bias.grad is None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((parameters_with([[1.0]]), 0), "max_norm is 0: give a number above zero"),
        (([torch.nn.Parameter(torch.ones(2))], 1.0), "No parameter has a gradient: clip after"),
    ],
)
def test_what_cannot_be_clipped_is_told(arguments, message):
    with pytest.raises(BadInput, match=message):
        clip_by_global_norm(*arguments)
