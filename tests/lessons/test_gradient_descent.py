"""The exercises of notebook 10, with answers written by other hands than the catalogue's."""

import numpy as np
import pytest

from gpulearn.judge.catalogue import find
from gpulearn.judge.diagnosis import diagnose

from .answers_gradient_descent import adam_by_increments


def told(name, answer):
    return diagnose(find(name), answer) or "nothing"


def one_sided(h, sign=1):
    def numerical_gradient(function, x):
        gradient = np.zeros_like(x)
        for i in np.ndindex(x.shape):
            moved = x.copy()
            moved[i] += sign * h(x, i)
            gradient[i] = sign * (function(moved) - function(x)) / h(x, i)
        return gradient

    return numerical_gradient


def two_sided(h):
    def numerical_gradient(function, x):
        gradient = np.zeros_like(x)
        for i in np.ndindex(x.shape):
            ahead, behind = x.copy(), x.copy()
            ahead[i] += h(x, i)
            behind[i] -= h(x, i)
            gradient[i] = (function(ahead) - function(behind)) / (2 * h(x, i))
        return gradient

    return numerical_gradient


def scale(x, i):
    return max(1.0, abs(x[i]))


def eps(x):
    return np.finfo(x.dtype).eps


@pytest.mark.parametrize("h", [lambda x, i: 1e-4, lambda x, i: np.sqrt(eps(x)) * scale(x, i)])
@pytest.mark.parametrize(("sign", "name"), [(1, "forward"), (-1, "backward")])
def test_one_sided_differences_at_any_h(h, sign, name):
    said = told("numerical_gradient", one_sided(h, sign))
    assert said.startswith(f"that is the {name} difference")


@pytest.mark.parametrize(
    ("h", "said"),
    [
        (lambda x, i: 1e-4, "h is the same for all x: next to 1e8"),
        (lambda x, i: 1e-5, "h is the same for all x and dtypes"),
        (lambda x, i: 1e-5 * scale(x, i), "h is the same for all dtypes"),
        (lambda x, i: 1e-7, "h is the same for all x and dtypes"),
        (lambda x, i: 1e-7 * scale(x, i), "h is the same for all dtypes"),
        (lambda x, i: 1e-12, "h is so small"),
        (lambda x, i: 1e-10 * scale(x, i), "h is so small"),
        (lambda x, i: 0.1 * scale(x, i), "h is so large"),
        (lambda x, i: 1e-3, "h is too large where x is about one"),
        (lambda x, i: 0.1, "h is too large where x is about one"),
        (lambda x, i: 1e-5 * abs(x[i]), "where an entry of x is zero, h is zero too, and h"),
    ],
)
def test_central_differences_with_an_h_that_does_not_do(h, said):
    assert told("numerical_gradient", two_sided(h)).startswith(said)


@pytest.mark.parametrize(
    "h", [lambda x, i: eps(x) ** 0.4 * scale(x, i), lambda x, i: eps(x) ** 0.3 * scale(x, i)]
)
def test_central_differences_with_another_h_that_does(h):
    assert told("numerical_gradient", two_sided(h)) == "nothing"


def test_a_finer_formula_passes():
    def numerical_gradient(function, x):
        gradient = np.zeros_like(x)
        for i in np.ndindex(x.shape):
            h = eps(x) ** 0.25 * scale(x, i)
            step = np.zeros_like(x)
            step[i] = h
            near = function(x + step) - function(x - step)
            far = function(x + 2 * step) - function(x - 2 * step)
            gradient[i] = (8 * near - far) / (12 * h)
        return gradient

    assert told("numerical_gradient", numerical_gradient) == "nothing"


def test_a_manner_does_not_explain_what_is_wrong_otherwise():
    def numerical_gradient(function, x):
        return 3 * one_sided(lambda x, i: 1e-6)(function, x)

    said = told("numerical_gradient", numerical_gradient)
    assert said.startswith("for a vector of three, 3 of 3 elements differ, first [0]: ")


def test_an_argument_of_another_shape_is_named():
    def numerical_gradient(function, x):
        return two_sided(lambda x, i: 1e-6)(function, x.ravel()).reshape(x.shape)

    said = told("numerical_gradient", numerical_gradient)
    assert said == (
        "for a matrix of shape (2, 3), it calls function with an array of shape (6,), but x has "
        "(2, 3)."
    )


@pytest.mark.parametrize("factor", [1.01, -0.5])
def test_a_mistake_of_another_kind_gets_no_hint_on_h(factor):
    def numerical_gradient(function, x):
        return factor * two_sided(lambda x, i: np.cbrt(eps(x)) * scale(x, i))(function, x)

    said = told("numerical_gradient", numerical_gradient)
    assert said.startswith("for a vector of three, 3 of 3 elements differ, first [0]: ")


def test_complex_numbers_are_no_central_differences():
    def numerical_gradient(function, x):
        slopes = np.zeros_like(x)
        for i in np.ndindex(x.shape):
            moved = x.astype(complex)
            moved[i] += 1e-20j
            slopes[i] = function(moved).imag / 1e-20
        return slopes

    said = told("numerical_gradient", numerical_gradient)
    assert "it calls function with complex numbers, but x is real." in said


def test_one_h_for_all_entries_is_told():
    by_norm = two_sided(lambda x, i: np.cbrt(eps(x)) * (1 + np.linalg.norm(x)))
    said = told("numerical_gradient", by_norm)
    assert said.startswith("h is the same for all entries, by the largest of them")


def test_a_complex_limit_is_no_number(recwarn):
    said = told("largest_stable_step", lambda h: 2 / np.linalg.eigvals(h.astype(complex)).max())
    assert (
        said == "for one parameter of curvature 4, it returns (0.5+0j) (complex128), expected 0.5."
    )
    assert not recwarn


def test_differences_are_told_with_their_step():
    def momentum_step(theta, gradient, state=None, *, lr, momentum=0.9):
        count, v = state or (0, 0.0)
        v = momentum * v + gradient * (1 if count < 2 else 1.001)
        return theta - lr * v, (count + 1, v)

    said = told("momentum_step", momentum_step)
    assert said.startswith("for three parameters, step 3: 3 of 3 elements differ, first [0]: ")


class Memory:
    def __init__(self, velocity):
        self.velocity = velocity


def test_a_state_has_the_form_that_the_task_gives_it():
    def momentum_step(theta, gradient, state, lr, momentum=0.9):
        old = state.velocity if state else np.zeros_like(theta)
        new = momentum * old + gradient
        return theta - lr * new, Memory(new)

    assert "the velocity itself, an array" in told("momentum_step", momentum_step)


def test_three_parts_in_an_array_are_not_the_tuple_of_adam():
    def adam_step(theta, gradient, state=None, **options):
        state = state if state is None else tuple(state)
        new, parts = adam_by_increments(theta, gradient, state, **options)
        packed = np.empty(3, dtype=object)
        packed[:] = parts
        return new, packed

    said = told("adam_step", adam_step)
    assert said.endswith("wrong form: it must be (t, m, v), where t counts the steps made so far.")


def test_a_state_that_is_an_object_may_not_change():
    def momentum_step(theta, gradient, state, lr, momentum=0.9):
        state = state or Memory(np.zeros_like(theta))
        state.velocity = momentum * state.velocity + gradient
        return theta - lr * state.velocity, state

    assert "it changes the state that it is given" in told("momentum_step", momentum_step)


def test_dtypes_that_change_are_told():
    def adam_step(theta, gradient, state, lr, beta1=0.9, beta2=0.999, epsilon=1e-8):
        new, state = adam_by_increments(
            theta, gradient, state, lr=lr, beta1=beta1, beta2=beta2, epsilon=epsilon
        )
        return new.astype(np.float16) if new.dtype == np.float32 else new, state

    said = told("adam_step", adam_step)
    assert "float32 parameters, step 1: " in said


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (lambda *a, **k: 7, "it returns 7, expected two things: the new theta and state."),
        (lambda *a, **k: (1, 2, 3), "it returns (1, 2, 3), expected two things"),
        (
            lambda *a, **k: (2.5, None),
            "its first result is 2.5 (float), expected the new theta, an array.",
        ),
        (
            lambda theta, gradient, state: theta,
            "and is called with (theta, gradient, state), by position, and lr",
        ),
        (lambda theta, *a, **k: (np.zeros(9), None), "it returns shape (9,), expected (3,)."),
    ],
)
def test_results_that_are_no_step(answer, said):
    assert said in told("momentum_step", answer)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (lambda h: 2 / max(np.linalg.eigvals(h)), "there is no limit, but 2/λmax"),
        (lambda h: 2 / np.linalg.norm(h, 2), "eigenvalue of largest absolute value"),
        (lambda h: 1.9 / np.linalg.eigvalsh(h).max(), "it returns 0.475, expected 0.5."),
    ],
)
def test_other_limits(answer, said):
    assert said in told("largest_stable_step", answer)


def test_what_is_to_be_mended_shows_the_symptoms_that_the_notebook_names():
    given = find("adamw_step").answers.given
    theta = np.array([1.0, 1.0])
    after, _ = given(theta, np.array([1.0, -3.0]), None, lr=0.01)
    assert np.abs(after - theta) == pytest.approx(10 * 0.01, rel=1e-3)
    state = None
    for number in range(500):
        gradient = np.array([1.0, 0.01]) * (-1) ** number
        theta, state = given(theta, gradient, state, lr=0.002, weight_decay=0.1)
    assert theta[1] < 0.5 < 0.7 < theta[0]
