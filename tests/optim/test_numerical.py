"""Numerical gradients and step limits against what calculus says."""

import numpy as np
import pytest

import gpulearn as gl
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
    ("function", "x", "said"),
    [
        (3.0, np.ones(2), "function is 3.0: give the function itself"),
        (lambda x: x, np.ones(2), "returns an array of shape (2,): it must return one number"),
        (lambda x: None, np.ones(2), "the function returns None"),
        (lambda x: x.sum(), ["a"], "x is ['a']: give real numbers"),
    ],
)
def test_what_has_no_gradient(function, x, said):
    with pytest.raises(BadInput) as caught:
        gl.optim.numerical_gradient(function, x)
    assert said in str(caught.value)


@pytest.mark.parametrize("seed", range(12))
def test_the_limit_comes_from_the_largest_eigenvalue(seed):
    rng = np.random.default_rng(seed)
    n = 1 + seed % 6
    eigenvalues = rng.normal(size=n) - (seed > 8)
    basis, _ = np.linalg.qr(rng.normal(size=(n, n)))
    limit = gl.optim.largest_stable_step(basis @ np.diag(eigenvalues) @ basis.T)
    most = eigenvalues.max()
    assert limit == (pytest.approx(2 / most, rel=1e-9) if most > 0 else np.inf)


def test_without_curvature_there_is_no_limit():
    assert gl.optim.largest_stable_step(np.diag([-1.0, -3.0])) == np.inf
    assert gl.optim.largest_stable_step(np.zeros((2, 2))) == np.inf


@pytest.mark.parametrize(
    ("hessian", "said"),
    [
        (np.ones((2, 3)), "shape (2, 3): it must be square"),
        (np.ones(3), "shape (3,): it must be square"),
        (np.array([[1.0, 2.0], [3.0, 1.0]]), "is not symmetric: entry (i, j)"),
        (np.array([[1.0, np.nan], [np.nan, 1.0]]), "no finite number"),
    ],
)
def test_what_is_no_hessian(hessian, said):
    with pytest.raises(BadInput) as caught:
        gl.optim.largest_stable_step(hessian)
    assert said in str(caught.value)
