"""Figures of descents: what they say is what was walked, and bad input gets a sentence."""

from types import SimpleNamespace

import numpy as np
import pytest

import gpulearn as gl
from gpulearn.errors import BadInput
from gpulearn.optim.optimizers import gradient_step, momentum_step
from gpulearn.optim.trajectories import descend
from gpulearn.plot import descents, line_charts
from gpulearn.plot.descents import draw_descent


def walked(steps=20, rate=0.05, ground="ravine"):
    landscape = gl.optim.surface(ground)
    return landscape, descend(landscape, landscape.start, gradient_step, lr=rate, steps=steps)


def test_a_path_is_drawn_point_by_point_and_told(figures_of):
    figures = figures_of(descents)
    ground, path = walked()
    picture = gl.plot.descent(ground, {"plain": path, "again": path})
    axes = figures[0].axes[0]
    np.testing.assert_allclose(axes.lines[0].get_xydata(), path.points)
    assert [text.get_text() for text in axes.texts] == ["S"]  # both begin in one place
    assert (axes.get_xlim(), axes.get_ylim()) == ((-5, 5), (-2.5, 2.5))
    assert axes.lines[0].get_linestyle() != axes.lines[1].get_linestyle()
    assert f"the ravine surface. plain: {path.outcome} again: " in picture.alt


class Tilted:
    """A loss that knows neither its name nor its window, and takes one point at a time."""

    def value(self, theta):
        assert np.shape(theta) == (2,)
        return (theta[0] + theta[1]) ** 2 + theta[1] ** 2

    def gradient(self, theta):
        both = 2 * (theta[0] + theta[1])
        return np.array([both, both + 2 * theta[1]])


def test_the_contours_of_a_narrow_ravine_hold_together(figures_of):
    figures = figures_of(descents)
    ground, path = walked(steps=3, rate=1e-4, ground="Rosenbrock")
    gl.plot.descent(ground, {"plain": path})
    lines = figures[0].axes[0].collections[0].get_paths()
    assert all(np.sum(line.codes == line.MOVETO) <= 3 for line in lines if len(line.vertices))


def test_any_loss_of_two_parameters_can_be_drawn(figures_of):
    figures = figures_of(descents)
    path = descend(Tilted(), [3.0, 1.0], gradient_step, lr=0.1, steps=30)
    picture = gl.plot.descent(Tilted(), {"plain": path}, axes=("rest", "slope"))
    axes = figures[0].axes[0]
    assert not any(line.get_marker() == "*" for line in axes.lines)
    left, right = axes.get_xlim()
    assert left < path.points[:, 0].min() < path.points[:, 0].max() < right
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("rest", "slope")
    assert picture.alt.startswith("Paths over the contours of the loss. plain: 30 steps took")


def test_window_and_minima_can_be_given_and_starts_that_are_one_get_one_letter(figures_of):
    figures = figures_of(descents)
    paths = {
        f"from {x}": descend(Tilted(), [x, 1.0], gradient_step, lr=0.1, steps=9)
        for x in (3.0, 3.0001, 2.0)
    }
    gl.plot.descent(Tilted(), paths, window=(-1, 4, -2, 2), minima=[(0, 0)])
    axes = figures[0].axes[0]
    assert [text.get_text() for text in axes.texts] == ["S", "S"]
    assert (axes.get_xlim(), axes.get_ylim()) == ((-1, 4), (-2, 2))
    stars = [line.get_xydata().tolist() for line in axes.lines if line.get_marker() == "*"]
    assert stars == [[[0, 0]]]


def test_losses_are_drawn_above_the_lowest(figures_of):
    figures = figures_of(line_charts)
    _, path = walked()
    gl.plot.losses({"plain": path}, least=path.values[-1])
    heights = figures[0].axes[0].lines[0].get_ydata()
    np.testing.assert_allclose(heights[:-1], path.values[:-1] - path.values[-1])
    assert np.isnan(heights[-1])  # zero has no place on a logarithmic axis
    assert "J*" in figures[0].axes[0].get_ylabel()


def in_three_parameters():
    bowl = SimpleNamespace(value=lambda x: (x**2).sum(), gradient=lambda x: 2 * x)
    return descend(bowl, [1.0, 1.0, 1.0], gradient_step, lr=0.1, steps=2)


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (
            lambda: gl.plot.descent(gl.optim.surface("bowl"), {"plain": in_three_parameters()}),
            r"points \(3, 3\): contours need two",
        ),
        (lambda: gl.plot.descent(gl.optim.surface("bowl"), {}), "one to 8 of them"),
        (lambda: gl.plot.losses({"a": [1.0]}), "a is .*gl.optim.descend returned"),
    ],
)
def test_bad_input_is_told_in_a_sentence(bad, message):
    with pytest.raises(BadInput, match=message):
        bad()


def test_the_explorers_sentence_holds_the_numbers():
    picture, text = draw_descent("ravine", "momentum", 0.1, 0.9)
    ground = gl.optim.surface("ravine")
    path = descend(ground, ground.start, momentum_step, lr=0.1, steps=200, momentum=0.9)
    assert text == (
        f"ravine, momentum, rate 0.1, momentum 0.9: {path.outcome} At the minimum λmax is 25; "
        f"the rate is 0.66 times the limit 0.152, below it."
    )
    assert text in picture.alt
    wild = draw_descent("ravine", "gradient descent", 0.1, 0.9)[1]
    assert "rate 0.1: Diverged after" in wild
    assert "1.25 times the limit 0.08, above it." in wild
    stuck = draw_descent("saddle", "Adam", 0.1, 0.9)[1]
    assert "The lowest loss is -0.25." in stuck
    assert "no limit for them" in stuck
