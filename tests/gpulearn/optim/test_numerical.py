"""Numerical gradients and step limits against what calculus says."""

import re

import numpy as np
import pytest

import gpulearn as gl
from gpulearn.data import spring
from gpulearn.errors import BadInput


@pytest.mark.parametrize("shape", [(), (1,), (4,), (2, 3), (2, 1, 2), (0,)])
@pytest.mark.parametrize(("dtype", "allowed"), [(np.float64, 1e-9), (np.float32, 1e-4)])
def test_gradients_of_any_shape(shape, dtype, allowed):
    x = np.random.default_rng(1).uniform(-2, 2, size=shape).astype(dtype)
    before = x.copy()
    gradient = gl.optim.numerical_gradient(lambda x: (np.sin(x) + x**3).sum(), x)
    assert gradient == pytest.approx(np.cos(x) + 3 * x**2, abs=allowed)
    assert np.shape(gradient) == shape
    assert np.array_equal(x, before)
    if shape:
        assert gradient.dtype == dtype


def test_whole_numbers_are_taken_as_reals():
    assert gl.optim.numerical_gradient(lambda x: (x**2).sum(), [1, 2]) == pytest.approx([2, 4])
    assert gl.optim.numerical_gradient(lambda x: x**2, 3) == pytest.approx(6)


@pytest.mark.parametrize(
    ("function", "x", "message"),
    [
        (3.0, np.ones(2), "function is 3.0: give the function itself"),
        (lambda x: x, np.ones(2), "returns an array of shape (2,): it must return one number"),
        (lambda x: None, np.ones(2), "the function returns None"),
        (lambda x: x.sum(), ["a"], "x is ['a']: give real numbers"),
    ],
)
def test_what_has_no_gradient(function, x, message):
    with pytest.raises(BadInput, match=re.escape(message)):
        gl.optim.numerical_gradient(function, x)


@pytest.mark.parametrize(
    ("hessian", "message"),
    [
        (np.ones((2, 3)), "shape (2, 3): it must be square"),
        (np.ones(3), "shape (3,): it must be square"),
        (np.array([[1.0, 2.0], [3.0, 1.0]]), "is not symmetric: entry (i, j)"),
        (np.array([[1.0, np.nan], [np.nan, 1.0]]), "no finite number"),
    ],
)
def test_what_is_no_hessian(hessian, message):
    with pytest.raises(BadInput, match=re.escape(message)):
        gl.optim.largest_stable_step(hessian)


@pytest.mark.parametrize("momentum", [0.0, 0.5, 0.9])
@pytest.mark.parametrize("share", [0.05, 0.4, 1.0, 1.9, 2.6])
def test_momentum_shrinks_by_the_larger_root(momentum, share):
    step = np.array([[1 + momentum - share, -momentum], [1, 0]])
    expected = np.abs(np.linalg.eigvals(step)).max()
    assert gl.optim.momentum_factor(share, momentum) == pytest.approx(expected)


def test_the_momentum_of_the_best_factor_is_that_of_polyak():
    low, high = np.sqrt([1.0, 30.0])
    best, momentum = 4 / (low + high) ** 2, ((high - low) / (high + low)) ** 2
    factors = gl.optim.momentum_factor(best * np.array([1.0, 7.0, 30.0]), momentum)
    assert factors == pytest.approx(np.sqrt(momentum), rel=1e-6)


def test_bad_numbers_are_told():
    for call, message in (
        (lambda: gl.optim.LineFit([1.0], [1.0, 2.0]), "give two lists of one length"),
    ):
        with pytest.raises(BadInput, match=re.escape(message)):
            call()


def test_the_fit_of_a_line_has_the_gradient_and_curvature_of_its_values():
    load, length = spring()
    fit = gl.optim.LineFit(load, length)
    here = np.array([3.0, 1.0])
    assert gl.optim.numerical_gradient(fit.value, here) == pytest.approx(fit.gradient(here))
    rows = [gl.optim.numerical_gradient(lambda t, i=i: fit.gradient(t)[i], here) for i in (0, 1)]
    assert np.array(rows) == pytest.approx(fit.hessian_at_minimum)
    assert fit.gradient(fit.minimum) == pytest.approx(0, abs=1e-9)
    assert fit.minimum == pytest.approx(np.polyfit(load, length, 1)[::-1])


def test_steps_that_end_exactly_at_the_goal_are_enough():
    assert gl.optim.escape_saddle(1.0, -1.0, lr=4.0, far=125.0) == 3
    assert gl.optim.steps_needed(np.array([1.0]), lr=0.1, share=0.6561) == 4
