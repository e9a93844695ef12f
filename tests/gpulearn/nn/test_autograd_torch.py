"""Every operation gives torch's values and torch's gradients, in float32 and float64."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn import functional

from gpulearn.nn.autograd import Variable
from gpulearn.nn.layers import backward_conv2d, conv2d, softmax_cross_entropy

SIZE = st.integers(1, 4)
SHAPE = st.lists(SIZE, max_size=3).map(tuple)
SEED = st.integers(0, 9999)
DTYPE = st.sampled_from([np.float32, np.float64])
AXES = st.sets(st.integers(-3, -1), min_size=1)
quickly = settings(max_examples=25, deadline=None)


def compare(ours, theirs, *arrays):
    """Hold values and gradients against torch's, under the same arriving gradient."""
    inputs = [Variable(array) for array in arrays]
    tensors = [torch.tensor(array, requires_grad=True) for array in arrays]
    result, expected = ours(*inputs), theirs(*tensors)
    dtype = arrays[0].dtype
    weights = np.random.default_rng(2).normal(size=result.shape).astype(dtype)
    result.backward(weights)
    expected.backward(torch.tensor(weights))
    limit = 1e-12 if dtype == np.float64 else 1e-5
    arrays = [result.data, *(variable.grad for variable in inputs)]
    for array, tensor in zip(arrays, [expected.detach(), *(t.grad for t in tensors)], strict=True):
        exact = tensor.numpy()
        assert (array.dtype, array.shape) == (exact.dtype, exact.shape)
        slack = limit * (1 + np.abs(exact).max(initial=0))
        np.testing.assert_allclose(array, exact, rtol=limit, atol=slack)


def numbers(seed, dtype, *shapes, low=-2.0):
    """Some of them equal, some of them whole, zero among them where `low` is below it."""
    rng = np.random.default_rng(seed)
    for shape in shapes:
        smooth, rough = rng.uniform(low, 2, size=shape), rng.integers(max(low, -2), 3, size=shape)
        yield np.asarray(np.where(rng.random(shape) < 0.3, rough, smooth), dtype)


@st.composite
def broadcast_pair(draw):
    full = draw(SHAPE)
    pair = []
    for _ in range(2):
        kept = [1 if draw(st.booleans()) else n for n in full]
        pair.append(tuple(kept[draw(st.integers(0, len(full))) :]))
    return pair


TWO = {
    "+": lambda a, b: a + b,
    "−": lambda a, b: a - b,
    "×": lambda a, b: a * b,
    "÷": lambda a, b: a / (b * b + 1),
}


@pytest.mark.parametrize("name", TWO)
@quickly
@given(broadcast_pair(), SEED, DTYPE)
def test_two_operands(name, shapes, seed, dtype):
    compare(TWO[name], TWO[name], *numbers(seed, dtype, *shapes))


ONE = {
    "powers": lambda x: x**2 + x**1 + x**0 - x**3,
    "numbers on either side": lambda x: (3 - x) * 2 + 1 / (x * x + 1) - x / 4 + (-x),
    "exp": lambda x: x.exp(),
    "tanh": lambda x: x.tanh(),
    "sigmoid": lambda x: (30 * x).sigmoid(),
    "relu": lambda x: x.relu(),
    "sum": lambda x: x.sum(),
    "mean": lambda x: x.mean(),
    "used again and again": lambda x: x * x + x.tanh() * x + x,
}


@pytest.mark.parametrize("name", ONE)
@quickly
@given(SHAPE, SEED, DTYPE)
def test_one_operand(name, shape, seed, dtype):
    compare(ONE[name], ONE[name], *numbers(seed, dtype, shape))


@quickly
@given(SHAPE, SEED, DTYPE)
def test_where_only_positive_numbers_go(shape, seed, dtype):
    (x,) = numbers(seed, dtype, shape, low=0.5)
    x = np.maximum(x, dtype(0.25))
    both = lambda x: x.log() + x**0.5 + x**-1.5  # noqa: E731
    compare(both, both, x)


@quickly
@given(st.tuples(SIZE, SIZE, SIZE), AXES, st.booleans(), SEED, DTYPE)
def test_reductions(shape, axes, keep, seed, dtype):
    (x,) = numbers(seed, dtype, shape)
    axes = tuple(axes)
    compare(lambda x: x.sum(axes, keep), lambda x: x.sum(axes, keep), x)
    compare(lambda x: x.mean(axes, keepdims=keep), lambda x: x.mean(axes, keepdim=keep), x)


@st.composite
def matrices(draw):
    """Shapes that a matrix product takes: vectors, matrices, and batches that are broadcast."""
    m, n, p = draw(SIZE), draw(SIZE), draw(SIZE)
    batch = draw(st.lists(st.integers(1, 3), max_size=2))
    ones = [[1 if draw(st.booleans()) else b for b in batch] for _ in range(2)]
    left = (n,) if draw(st.booleans()) else (*ones[0], m, n)
    right = (n,) if draw(st.booleans()) else (*ones[1], n, p)
    return left, right


@settings(max_examples=60, deadline=None)
@given(matrices(), SEED, DTYPE)
def test_matrix_products(shapes, seed, dtype):
    compare(lambda a, b: a @ b, lambda a, b: a @ b, *numbers(seed, dtype, *shapes))


@quickly
@given(SIZE, SIZE, SEED, DTYPE, st.sampled_from([1, 30, 1000]))
def test_cross_entropy(n, classes, seed, dtype, scale):
    (logits,) = numbers(seed, dtype, (n, classes))
    labels = np.random.default_rng(seed).integers(0, classes, size=n)
    compare(
        lambda x: x.softmax_cross_entropy(labels),
        lambda x: functional.cross_entropy(x, torch.tensor(labels)),
        logits * dtype(scale),
    )
    loss, _ = softmax_cross_entropy(logits, labels)
    assert loss.dtype == dtype


@quickly
@given(st.tuples(SIZE, SIZE, SIZE, SIZE, SIZE), st.tuples(SIZE, SIZE), SEED, DTYPE)
def test_conv2d(sizes, more, seed, dtype):
    n, c, k, r, s = sizes
    arrays = list(numbers(seed, dtype, (n, c, r + more[0], s + more[1]), (k, c, r, s)))
    tensors = [torch.tensor(array, requires_grad=True) for array in arrays]
    result, expected = conv2d(*arrays), functional.conv2d(*tensors)
    expected.backward(torch.tensor(np.cos(result)))
    limit = 1e-12 if dtype == np.float64 else 1e-4
    gradients = backward_conv2d(*arrays, np.cos(result))
    for array, exact in zip(gradients, (t.grad.numpy() for t in tensors), strict=True):
        assert array.dtype == dtype
        np.testing.assert_allclose(array, exact, rtol=limit, atol=limit * 100)
    assert result.dtype == dtype
    np.testing.assert_allclose(result, expected.detach().numpy(), rtol=limit, atol=limit * 100)
