"""Layers are their formulas, and their gradients what finite differences find."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gpulearn as gl
from gpulearn.nn.layers import (
    backward_conv2d,
    backward_matmul,
    backward_relu,
    backward_residual,
    conv2d,
    relu,
    residual,
    softmax_cross_entropy,
)

SIZES = st.integers(1, 4)


def slopes(function, x, gradient, h=1e-6):
    """The gradient of Σ gradient · function(x), by central differences in float64."""
    result = np.empty_like(x)
    for place in np.ndindex(x.shape):
        step = np.zeros_like(x)
        step[place] = h
        result[place] = ((function(x + step) - function(x - step)) * gradient).sum() / (2 * h)
    return result


def close(got, expected):
    assert got.shape == expected.shape
    np.testing.assert_allclose(got, expected, rtol=1e-6, atol=1e-7)


@settings(max_examples=20, deadline=None)
@given(SIZES, SIZES, SIZES, st.integers(0, 99))
def test_backward_matmul(m, n, p, seed):
    rng = np.random.default_rng(seed)
    a, b, gradient = (rng.normal(size=size) for size in ((m, n), (n, p), (m, p)))
    grad_a, grad_b = backward_matmul(a, b, gradient)
    close(grad_a, slopes(lambda a: a @ b, a, gradient))
    close(grad_b, slopes(lambda b: a @ b, b, gradient))


def test_backward_relu():
    rng = np.random.default_rng(0)
    x, gradient = rng.normal(size=(2, 50))
    close(backward_relu(x, gradient), slopes(relu, x, gradient))
    assert backward_relu(np.zeros(1), np.ones(1)) == 0
    assert relu(np.float32([-1, 2])).dtype == np.float32


@settings(max_examples=15, deadline=None)
@given(SIZES, SIZES, SIZES, st.integers(0, 99))
def test_backward_residual(n, d, m, seed):
    rng = np.random.default_rng(seed)
    given = [rng.normal(size=size) for size in ((n, d), (d, m), (m,), (m, d))]
    gradient = rng.normal(size=(n, d))
    for place, result in enumerate(backward_residual(*given, gradient)):

        def block(array, place=place):
            return residual(*given[:place], array, *given[place + 1 :])

        close(result, slopes(block, given[place], gradient))


@settings(max_examples=20, deadline=None)
@given(SIZES, SIZES, st.integers(0, 99))
def test_softmax_cross_entropy(n, classes, seed):
    rng = np.random.default_rng(seed)
    logits, labels = rng.normal(size=(n, classes)), rng.integers(0, classes, size=n)
    loss, gradient = softmax_cross_entropy(logits, labels)
    p = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    assert loss == pytest.approx(-np.log([p[i, y] for i, y in enumerate(labels)]).mean())
    close(gradient, slopes(lambda x: softmax_cross_entropy(x, labels)[0], logits, 1.0))
    far, same = softmax_cross_entropy(logits + 5000, labels)
    assert far == pytest.approx(loss, abs=1e-9)
    np.testing.assert_allclose(same, gradient, atol=1e-9)


def test_loss_without_overflow_or_logarithm_of_zero():
    logits = np.array([[1000.0, 0.0], [-1000.0, 0.0]])
    loss, gradient = softmax_cross_entropy(logits, np.array([1, 1]))  # a warning would fail it
    assert loss == 500
    assert gradient.tolist() == [[0.5, -0.5], [0, 0]]


def by_seven_loops(images, kernels):
    n, c, h, w = images.shape
    k, _, r, s = kernels.shape
    out = np.zeros((n, k, h - r + 1, w - s + 1))
    for a, b, y, x in np.ndindex(out.shape):
        for d, i, j in np.ndindex(c, r, s):
            out[a, b, y, x] += images[a, d, y + i, x + j] * kernels[b, d, i, j]
    return out


@settings(max_examples=15, deadline=None)
@given(st.tuples(*[st.integers(1, 3)] * 5), st.tuples(*[st.integers(0, 2)] * 2), st.integers(0, 99))
def test_conv2d(sizes, more, seed):
    n, c, k, r, s = sizes
    rng = np.random.default_rng(seed)
    images = rng.normal(size=(n, c, r + more[0], s + more[1]))
    kernels = rng.normal(size=(k, c, r, s))
    out = conv2d(images, kernels)
    np.testing.assert_allclose(out, by_seven_loops(images, kernels), atol=1e-12)
    gradient = rng.normal(size=out.shape)
    of_images, of_kernels = backward_conv2d(images, kernels, gradient)
    close(of_images, slopes(lambda x: conv2d(x, kernels), images, gradient))
    close(of_kernels, slopes(lambda x: conv2d(images, x), kernels, gradient))


def test_float32_stays():
    rng = np.random.default_rng(0)
    images, kernels = (rng.normal(size=(2, 2, 4, 4)).astype(np.float32) for _ in range(2))
    out = conv2d(images, kernels[:, :, :2, :2])
    logits = out.reshape(2, -1)
    back = backward_conv2d(images, kernels[:, :, :2, :2], out)
    _, gradient = softmax_cross_entropy(logits, np.array([0, 1]))
    pair = backward_matmul(logits, logits.T, np.ones((2, 2), np.float32))
    results = (out, *back, gradient, *pair, backward_relu(out, out))
    assert {result.dtype for result in results} == {np.dtype(np.float32)}


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: softmax_cross_entropy(np.zeros((2, 3)), np.array([0, 3])),
         r"labels\[1\] is 3: with 3 columns in logits, labels run from 0 to 2"),
        (lambda: softmax_cross_entropy(np.zeros((2, 3)), np.array([-1, 0])), r"labels\[0\] is -1"),
        (lambda: softmax_cross_entropy(np.zeros((0, 3)), np.zeros(0, int)), "of an empty batch"),
        (lambda: softmax_cross_entropy(np.zeros((2, 3)), np.zeros(2)), "labels has dtype float64"),
        (lambda: softmax_cross_entropy(np.zeros((2, 3)), np.zeros((2, 3), int)), r"must be \(n\)"),
        (lambda: conv2d(np.zeros((1, 1, 2, 2)), np.zeros((1, 1, 3, 2))), "3 × 2 does not fit into"),
        (lambda: conv2d(np.zeros((1, 2, 3, 3)), np.zeros((1, 1, 2, 2))), "but c is 2 in images"),
        (lambda: backward_conv2d(*[np.zeros((1, 1, 3, 3))] * 3), r"the output.s is .1, 1, 1, 1."),
        (lambda: backward_relu(np.zeros(2), np.zeros(3)), r"x has shape \(2,\), gradient has sh"),
        (lambda: backward_relu(1.0, np.zeros(3)), "x is 1.0: give an array"),
    ],
)  # fmt: skip
def test_bad_input(call, message):
    with pytest.raises(gl.errors.BadInput, match=message):
        call()
