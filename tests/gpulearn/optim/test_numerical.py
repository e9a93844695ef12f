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


@pytest.mark.parametrize("x", [-1e12, -3e8, -7.0, -1e-3, 0.0, 1e-9, 0.3, 2.0, 1e5, 1.5e10, 1e12])
def test_the_step_grows_with_the_place(x):
    slope = gl.optim.numerical_gradient(lambda x: 3 * x**2, x)
    assert slope == pytest.approx(6 * x, rel=1e-7, abs=1e-7)


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


@pytest.mark.parametrize("seed", range(12))
def test_the_limit_comes_from_the_largest_eigenvalue(seed):
    rng = np.random.default_rng(seed)
    n = 1 + seed % 6
    eigenvalues = rng.normal(size=n) - (seed > 8)
    basis, _ = np.linalg.qr(rng.normal(size=(n, n)))
    limit = gl.optim.largest_stable_step(basis @ np.diag(eigenvalues) @ basis.T)
    largest = eigenvalues.max()
    assert limit == (pytest.approx(2 / largest, rel=1e-9) if largest > 0 else np.inf)
    assert gl.optim.largest_stable_step(np.zeros((2, 2))) == np.inf


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


@pytest.mark.parametrize(
    ("curvatures", "lr", "share"),
    [((1.0, 25.0), 0.07, 0.01), ((3.0,), 0.1, 0.5), ((0.3, 2, 7), 0.28, 1e-4), ((4, 4), 0.25, 0.1)],
)
def test_steps_needed_are_those_of_a_walk(curvatures, lr, share):
    steps = gl.optim.steps_needed(curvatures, lr, share)
    loss, start = gl.optim.quadratic(*curvatures), np.ones(len(curvatures))
    path = gl.optim.descend(loss, start, gl.optim.gradient_step, lr=lr, steps=steps)
    left = np.abs(path.points).max(axis=1)
    assert left[steps] <= share < left[steps - 1]


def test_no_number_of_steps_is_enough_at_the_limit_or_on_level_ground():
    assert gl.optim.steps_needed([1.0, 25.0], 0.08, 0.5) == np.inf
    assert gl.optim.steps_needed([1.0, 0.0], 0.1, 0.5) == np.inf
    assert gl.optim.steps_needed([1.0, -2.0], 0.1, 0.5) == np.inf


@pytest.mark.parametrize(("distance", "lr", "far"), [(1e-6, 0.1, 0.02), (0.01, 0.3, 0.05)])
def test_a_saddle_is_left_after_the_steps_that_were_foreseen(distance, lr, far):
    steps = gl.optim.escape_saddle(distance, -1.0, lr, far)
    saddle = gl.optim.surface("saddle")  # along y it curves by −1, as long as y is small
    path = gl.optim.descend(saddle, [0.0, distance], gl.optim.gradient_step, lr=lr, steps=steps)
    assert path.points[steps, 1] == pytest.approx(distance * (1 + lr) ** steps, rel=2e-3)
    assert distance * (1 + lr) ** steps >= far > distance * (1 + lr) ** (steps - 1)


def test_a_saddle_that_is_not_left():
    assert gl.optim.escape_saddle(0.0, -1.0, 0.1, 1.0) == np.inf
    assert gl.optim.escape_saddle(0.1, 2.0, 0.1, 1.0) == np.inf
    assert gl.optim.escape_saddle(2.0, 2.0, 0.1, 1.0) == 0


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
        (lambda: gl.optim.steps_needed([], 0.1, 0.5), "give one finite number for each direction"),
        (lambda: gl.optim.steps_needed([1.0], 0.1, 1.0), "share is 1.0: give a number between"),
        (lambda: gl.optim.steps_needed([1.0], 0.0, 0.1), "lr is 0.0"),
        (lambda: gl.optim.escape_saddle(-1.0, -1.0, 0.1, 1.0), "distance is -1.0"),
        (lambda: gl.optim.escape_saddle(0.1, 2.0, 1.5, 1.0), "curvature of 2.0 is 1.0: give"),
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
