"""What the step functions promise whatever torch does: purity, dtypes, clear complaints."""

import inspect
import re

import numpy as np
import pytest

import gpulearn as gl
from gpulearn.errors import BadInput

RULES = [
    gl.optim.gradient_step,
    gl.optim.momentum_step,
    gl.optim.nesterov_step,
    gl.optim.adagrad_step,
    gl.optim.rmsprop_step,
    gl.optim.adam_step,
    gl.optim.adamw_step,
]
every_rule = pytest.mark.parametrize("step", RULES, ids=lambda s: s.__name__)


def parts(state):
    return [np.array(x) for x in (state if isinstance(state, tuple) else (state,))]


@every_rule
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_inputs_stay_as_they_are(step, dtype):
    rng = np.random.default_rng(0)
    theta, state = rng.normal(size=(2, 3)).astype(dtype), None
    for _ in range(3):
        gradient = rng.normal(size=(2, 3))  # takes the dtype of theta
        given = [theta.copy(), gradient.copy(), parts(state)]
        new, following = step(theta, gradient, state, lr=np.float64(0.1), weight_decay=0.1)
        assert np.array_equal(theta, given[0])
        assert np.array_equal(gradient, given[1])
        assert all(map(np.array_equal, parts(state), given[2]))
        assert new.dtype == dtype
        assert all(x.dtype == dtype for x in parts(following) if x.ndim)
        theta, state = new, following


@every_rule
def test_every_rule_has_the_same_signature(step):
    parameters = inspect.signature(step).parameters
    assert list(parameters)[:4] == ["theta", "gradient", "state", "lr"]
    assert all(p.kind is p.KEYWORD_ONLY for p in list(parameters.values())[3:])
    assert "weight_decay" in parameters


@every_rule
@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((np.ones(2), np.ones(3)), {"lr": 0.1}, "theta has shape (2,), and gradient (3,)"),
        ((np.ones(2), np.ones(2)), {"lr": -0.1}, "lr is -0.1: give a number that is not below"),
        ((np.ones(2), np.ones(2)), {"lr": float("nan")}, "lr is nan"),
        ((np.ones(2), np.ones(2)), {"lr": "0.1"}, "lr is '0.1'"),
        ((np.ones(2), np.ones(2)), {"lr": True}, "lr is True"),
        ((np.ones(2), np.ones(2)), {}, "needs a rate: add lr=0.1, say"),
        ((np.ones(2), np.ones(2)), {"lr": 0.1, "weight_decay": -1}, "weight_decay is -1"),
        ((np.ones(2), np.ones(2)), {"lr": 0.1, "weight_decoy": 1}, "did you mean 'weight_decay'"),
        ((["a"], ["b"]), {"lr": 0.1}, "theta is ['a']: give real numbers"),
        (([[1], [1, 2]], [1]), {"lr": 0.1}, "its rows differ in length"),
    ],
)
def test_bad_input_gets_a_sentence(step, arguments, options, message):
    with pytest.raises(BadInput, match=re.escape(message)):
        step(*arguments, **options)


@pytest.mark.parametrize(
    ("step", "option"),
    [
        (gl.optim.momentum_step, "momentum"),
        (gl.optim.rmsprop_step, "alpha"),
        (gl.optim.adam_step, "beta2"),
    ],
)
def test_what_is_kept_of_the_past_is_below_one(step, option):
    with pytest.raises(BadInput, match=f"{option} is 1.0: give a number from 0 to below 1"):
        step(1.0, 1.0, lr=0.1, **{option: 1.0})


@pytest.mark.parametrize(
    ("step", "other"),
    [(gl.optim.momentum_step, gl.optim.adam_step), (gl.optim.adam_step, gl.optim.momentum_step)],
)
def test_a_state_of_other_parameters_or_of_another_method_is_refused(step, other):
    _, state = step(np.ones(2), np.ones(2), lr=0.1)
    with pytest.raises(BadInput, match=r"state holds an array of shape \(2,\), and theta has"):
        step(np.ones(3), np.ones(3), state, lr=0.1)
    with pytest.raises(BadInput, match=f"which is not what {other.__name__} returns: give the"):
        other(np.ones(2), np.ones(2), state, lr=0.1)


def test_decay_that_is_decoupled_is_not_divided():
    """Without slopes, AdamW shrinks by rate·decay; Adam goes a whole rate, as for any slope."""
    zero = np.zeros(2)
    theta = np.array([1.0, 100.0])
    shrunk, _ = gl.optim.adamw_step(theta, zero, lr=0.5, weight_decay=0.1)
    stepped, _ = gl.optim.adam_step(theta, zero, lr=0.5, weight_decay=0.1)
    assert shrunk == pytest.approx(0.95 * theta, rel=1e-15)
    assert stepped == pytest.approx(theta - 0.5, rel=1e-6)
