"""Clipping by the global norm, held against torch's own."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from gpulearn.errors import BadInput
from gpulearn.train.step import clip_by_global_norm

numbers = st.floats(-1e3, 1e3, width=32)
lists = st.lists(st.lists(numbers, min_size=1, max_size=5), min_size=1, max_size=4)


def parameters(gradients, dtype=torch.float32):
    found = []
    for gradient in gradients:
        parameter = torch.nn.Parameter(torch.zeros(len(gradient), dtype=dtype))
        parameter.grad = torch.tensor(gradient, dtype=dtype)
        found.append(parameter)
    return found


@settings(max_examples=60, deadline=None)
@given(lists, st.floats(1e-3, 1e4), st.sampled_from([torch.float32, torch.float64]))
def test_as_torch_clips(gradients, max_norm, dtype):
    ours, theirs = parameters(gradients, dtype), parameters(gradients, dtype)
    norm = clip_by_global_norm(iter(ours), max_norm)
    # torch divides by norm + 1e-6, which shows where the norm itself is not large beside 1e-6
    assert norm == pytest.approx(torch.nn.utils.clip_grad_norm_(theirs, max_norm).item(), rel=1e-6)
    for one, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(one.grad, other.grad, rtol=2e-6 + 1e-6 / max(norm, 1e-6), atol=0)


@settings(max_examples=40, deadline=None)
@given(lists, st.floats(1e-3, 1e4))
def test_never_longer_and_never_turned(gradients, max_norm):
    clipped = parameters(gradients)
    norm = clip_by_global_norm(clipped, max_norm)
    before = torch.cat([torch.tensor(g) for g in gradients])
    after = torch.cat([p.grad for p in clipped])
    assert after.norm() <= max(max_norm * (1 + 1e-5), 0)
    if norm <= max_norm:
        assert torch.equal(after, before)
    else:
        torch.testing.assert_close(after * (norm / max_norm), before, rtol=1e-5, atol=1e-30)


def test_zero_gradients_stay_zero():
    (clipped,) = parameters([[0.0, 0.0]])
    assert clip_by_global_norm([clipped], 1.0) == 0
    assert torch.equal(clipped.grad, torch.zeros(2))


@pytest.mark.parametrize("odd", [math.inf, math.nan])
def test_a_norm_that_is_not_finite_is_returned_and_nothing_is_scaled(odd):
    one, other = parameters([[odd], [2.0]])
    assert not math.isfinite(clip_by_global_norm([one, other], 1.0))
    assert other.grad.item() == 2
    torch.testing.assert_close(one.grad, torch.tensor([odd]), equal_nan=True)


def test_parameters_without_a_gradient_are_passed_over():
    model = torch.nn.Linear(2, 1)
    model.bias.requires_grad_(False)
    model(torch.tensor([[3.0, 4.0]])).sum().backward()
    assert clip_by_global_norm(model.parameters(), 1.0) == 5
    assert model.bias.grad is None
    assert model.weight.grad.norm() == pytest.approx(1)


def test_a_single_tensor_will_do():
    (only,) = parameters([[3.0, 4.0]])
    assert clip_by_global_norm(only, 10.0) == 5


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((parameters([[1.0]]), 0), "max_norm is 0: give a number above zero"),
        ((parameters([[1.0]]), math.nan), "max_norm is nan"),
        (([torch.nn.Parameter(torch.ones(2))], 1.0), "No parameter has a gradient: clip after"),
        (([], 1.0), "No parameter has a gradient"),
        (([1.0], 1.0), "parameters are no tensors"),
    ],
)
def test_bad_input(arguments, said):
    with pytest.raises(BadInput, match=said):
        clip_by_global_norm(*arguments)
