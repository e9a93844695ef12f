"""Pictures of curvature and step limits: what is drawn and said is what the formulas give."""

import numpy as np
import pytest

from gpulearn.errors import BadInput
from gpulearn_lessons.gradient_descent import directions, momentum_plane, rate_explorer, step_limits
from gpulearn_lessons.gradient_descent.step_limits import draw_walk


def loss(theta):
    return 5 * (theta - 1) ** 2


def slope(theta):
    return 10 * (theta - 1)


def test_a_walk_is_drawn_step_by_step_and_told(figures_of):
    figures = figures_of(step_limits)
    _, text = draw_walk(loss, slope, 0.0, 0.05)
    assert text == "Rate 0.05: 12 steps lead from 0 to 0.9998, where J is 2.98e-07."
    places = figures[0].axes[0].lines[1].get_xdata()
    assert np.diff(1 - places) / (1 - places)[:-1] == pytest.approx(-0.5)
    _, text = draw_walk(loss, slope, 0.0, 0.21)
    assert text.startswith("Rate 0.21: step 8 leads to -1.14")
    assert figures[1].axes[0].lines[1].get_xdata().size == 8


def test_the_directions_of_extreme_curvature_are_the_eigenvectors(figures_of):
    figures = figures_of(step_limits)
    picture = directions([[2.0, 1.0], [1.0, 2.0]])
    assert "lowest, 1, at 135° and highest, 3, at 45°" in picture.alt
    over = figures[0].axes[1].lines[0].get_xydata()
    assert over[over[:, 1].argmax(), 0] == 45
    assert over[over[:, 1].argmin(), 0] == 135
    assert over[:, 1].max() == pytest.approx(3)
    for bad, message in (
        (np.eye(3), "give a symmetric matrix"),
        ([[1.0, 2.0], [0.0, 1.0]], "give a symmetric matrix"),
        (np.diag([1.0, -1.0]), "give one with positive eigenvalues"),
    ):
        with pytest.raises(BadInput, match=message):
            directions(bad)


def test_settings_of_rate_and_momentum_are_bars(figures_of):
    figures = figures_of(step_limits)
    picture = momentum_plane([1.0, 4.0, 25.0], {"plain": (0.04, 0.0), "ball": (0.1, 0.5)})
    bars = [line for line in figures[0].axes[0].lines if line.get_label() in ("plain", "ball")]
    assert bars[0].get_xdata() == pytest.approx([0.04, 1.0])
    assert bars[1].get_ydata() == pytest.approx([0.5, 0.5])
    assert "κ = 25. Factor at the slower end: plain: 0.960 per step; ball: 0.707" in picture.alt
    for curvatures, settings, message in (
        ([0.0, 1.0], {"plain": (0.1, 0.0)}, "give positive numbers"),
        ([1.0, 2.0], {"plain": (0.1, 1.0)}, "give a rate and a momentum"),
        ([1.0, 2.0], {}, "settings"),
    ):
        with pytest.raises(BadInput, match=message):
            momentum_plane(curvatures, settings)
    with pytest.raises(BadInput, match="takes two functions of θ"):
        rate_explorer(loss, 3.0)
