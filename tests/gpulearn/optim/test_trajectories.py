"""Descents as data, and where they hold, leave and end."""

import functools
import re

import numpy as np
import pytest

import gpulearn as gl
from gpulearn.errors import BadInput
from gpulearn.optim.optimizers import OPTIMIZERS


class Parabola:
    """½·Σ cᵢ·xᵢ²."""

    def __init__(self, *curvatures):
        self.curvatures = np.array(curvatures)

    def value(self, x):
        return (self.curvatures * x**2).sum() / 2

    def gradient(self, x):
        return self.curvatures * x


descend = functools.partial(gl.optim.descend, step=gl.optim.gradient_step)


def test_a_quadratic_diverges_beyond_two_over_the_largest_curvature():
    for curvatures, share in (([3.0], 2.05), ([0.1, 100.0], 40.0), ([0.7, 25.0, 4.0, 1.0], 3.0)):
        lr = share / max(curvatures)
        path = descend(Parabola(*curvatures), np.ones(len(curvatures)), lr=lr, steps=2000)
        assert path.diverged
        assert path.outcome.startswith(f"Diverged after {path.steps} step")
        assert len(path.points) == len(path.values) == path.steps + 1
        assert path.steps < 2000
        assert np.isfinite(path.points).all()
        assert np.isfinite(path.values).all()
        assert (path.values < 1e12).all()


@pytest.mark.parametrize("momentum", [0.0, 0.4, 0.9])
@pytest.mark.parametrize("name", ["sgd", "momentum", "nesterov"])
def test_the_registrys_limit_is_where_a_descent_stops_holding(name, momentum):
    """Just below it a parabola's minimum attracts, just above it the descent leaves."""
    optimizer = OPTIMIZERS[name]
    options = {optimizer.memory_option: momentum} if optimizer.memory_option else {}
    for factor, holds in ((0.99, True), (1.01, False)):
        options["lr"] = factor * optimizer.stable_limit(3.0, momentum)
        parabola = Parabola(3.0)
        path = gl.optim.descend(parabola, [1.0], optimizer.step, steps=2000, **options)
        assert (path.values[-1] < 1e-6) == holds
        assert (path.values[-1] > 1e3) != holds


def test_a_path_is_what_its_steps_say():
    surface = gl.optim.surface("Rosenbrock")
    path = gl.optim.descend(
        surface, surface.start, gl.optim.adam_step, lr=0.02, steps=30, beta1=0.8
    )
    theta, state = np.array(surface.start), None
    for i in range(30):
        assert np.array_equal(path.points[i], theta)
        theta, state = gl.optim.adam_step(theta, surface.gradient(theta), state, lr=0.02, beta1=0.8)
    assert np.array_equal(path.points[30], theta)
    assert path.values == pytest.approx(surface.value(path.points), rel=1e-14)


def test_a_rate_may_be_a_schedule():
    bowl = gl.optim.surface("bowl")
    path = descend(bowl, [1.0, 0.0], lr=lambda i: 0.1 / (i + 1), steps=3)
    assert path.points[:, 0] == pytest.approx(np.cumprod([1, 0.9, 0.95, 1 - 0.1 / 3]))


def test_a_descent_that_overflows_at_once_says_so_without_warnings():
    path = descend(gl.optim.surface("Beale"), [3.0, 3.0], lr=1e200, steps=9)
    assert path.diverged
    assert path.steps == 0
    assert path.points.shape == (1, 2)
    assert path.outcome.startswith("Diverged at once: the first step took the loss from ")


def test_the_saddle_holds_a_descent_that_begins_on_its_ridge():
    run = functools.partial(descend, gl.optim.surface("saddle"), lr=0.1, steps=300)
    assert run(start=[-1.5, 0.0]).points[-1] == pytest.approx([0, 0], abs=1e-9)
    assert run(start=[-1.5, 1e-6]).points[-1] == pytest.approx([0, 1], abs=1e-9)
    assert run(start=[-1.5, -1e-6]).points[-1] == pytest.approx([0, -1], abs=1e-9)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"start": [np.nan, 0.0]}, "the loss at start, [nan, 0.0], is nan"),
        ({"start": [1.0, 2.0, 3.0]}, "the bowl takes points of shape (…, 2)"),
        ({"start": 3.0}, "start has shape (): give a point of shape (n,)"),
        ({"steps": 0}, "steps is 0"),
        ({"lr": -1}, "lr is -1"),
        ({"lr": lambda step: None}, "lr is None"),
        ({"momentum": 0.9}, "There is no option 'momentum'"),
    ],
)
def test_bad_input_gets_a_sentence(change, message):
    given = {"start": [1.0, 2.0], "lr": 0.1, "steps": 5} | change
    with pytest.raises(BadInput, match=re.escape(message)):
        descend(gl.optim.surface("bowl"), **given)
