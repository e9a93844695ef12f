"""Schedules and the plateau with its roll-back, by what they promise."""

import re

import numpy as np
import pytest

import gpulearn as gl
from gpulearn.errors import BadInput
from gpulearn.optim.landscapes import SURFACES

BOWL = SURFACES["bowl"]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: gl.optim.cosine_rate(0, 0.1, steps=0), "steps is 0"),
        (lambda: gl.optim.cosine_rate(0, -0.1, steps=9), "lr is -0.1"),
        (lambda: gl.optim.warm_up_cosine_rate(0, 0.1, 9, 9), "warm_up is 9 of 9 steps: leave some"),
        (lambda: gl.optim.plateau_step(1.0, 1.0, 0.0), "lr is 0.0"),
        (lambda: gl.optim.plateau_step(1.0, np.nan, 0.1), "the first loss is nan"),
        (lambda: gl.optim.plateau_step(1.0, 1.0, 0.1, patience=-1), "patience is -1"),
        (lambda: gl.optim.plateau_step(1.0, 1.0, 0.1, factor=1.0), "factor is 1.0"),
        (lambda: gl.optim.range_test(BOWL, [1, 1], 20, 10, 9), "lowest is 20, highest 10"),
        (lambda: gl.optim.range_test(BOWL, [0, 0], 1, 10, 9), "loss at the start is 0: it must be"),
    ],
)
def test_bad_input_gets_a_sentence(call, message):
    with pytest.raises(BadInput, match=re.escape(message)):
        call()


def look_at(losses, **options):
    """The parameters (their loss's place in the list) and rates after each look."""
    state, lr, seen = None, 1.0, []
    for i, loss in enumerate(losses):
        theta, lr, state = gl.optim.plateau_step(np.array([float(i)]), loss, lr, state, **options)
        seen.append((int(theta[0]), lr))
    return seen


def test_a_plateau_rolls_back_to_the_best():
    seen = look_at([9, 5, 6, 7, 8, 4, 4, 4, 4], patience=2, factor=0.5)
    assert [place for place, _ in seen] == [0, 1, 2, 3, 1, 5, 6, 7, 5]
    assert [lr for _, lr in seen] == [1, 1, 1, 1, 0.5, 0.5, 0.5, 0.5, 0.25]


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_loss_that_is_no_number_rolls_back_at_once(bad):
    assert look_at([9, 5, bad, 6], patience=5, factor=0.5)[2:] == [(1, 0.5), (3, 0.5)]


def test_the_best_parameters_are_a_copy():
    theta = np.array([1.0])
    _, lr, state = gl.optim.plateau_step(theta, 1.0, 0.1)
    theta[0] = 7.0
    best, *_ = gl.optim.plateau_step(theta, 2.0, lr, state, patience=0)
    best[0] = 8.0
    assert state.theta[0] == 1.0


def test_a_plateau_tames_a_rate_that_is_too_high():
    """Descent with four times the stable rate ends at the minimum, by its roll-backs alone."""
    surface = gl.optim.surface("ravine")
    theta, lr, state = np.array(surface.start), 4 * surface.largest_stable_step, None
    for _ in range(400):
        theta, _ = gl.optim.gradient_step(theta, surface.gradient(theta), lr=lr)
        loss = surface.value(theta)
        theta, lr, state = gl.optim.plateau_step(theta, loss, lr, state, patience=0, factor=0.5)
    assert lr < surface.largest_stable_step
    assert surface.value(theta) < 1e-9
