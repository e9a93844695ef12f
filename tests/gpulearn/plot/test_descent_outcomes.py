"""How descents end: basins and steps to a goal say what was walked."""

import numpy as np
import pytest

import gpulearn as gl
from gpulearn.errors import BadInput
from gpulearn.optim.optimizers import gradient_step, momentum_step
from gpulearn.optim.trajectories import descend
from gpulearn.plot import descent_outcomes


def walked(steps=200):
    ground = gl.optim.surface("ravine")
    return ground, descend(ground, ground.start, gradient_step, lr=0.07, steps=steps)


def test_a_goal_is_reached_from_when_on_it_is_kept():
    ground, path = walked()
    wild = descend(ground, ground.start, gradient_step, lr=0.2, steps=2000)
    ball = descend(ground, ground.start, momentum_step, lr=0.05, steps=200)
    first = [int(np.argmax(walk.values <= 0.01)) for walk in (path, ball)]
    assert descent_outcomes.settled(path, 0.01) == first[0]
    assert descent_outcomes.settled(wild, 0.01) is None
    since = descent_outcomes.settled(ball, 0.01)
    assert first[1] < since  # the ball was low for a moment, and rose again
    assert ball.values[since - 1] > 0.01 >= ball.values[since:].max()
    assert descent_outcomes.settled(path, path.values[-1] / 2) is None
    assert descent_outcomes.settled(path, path.values[0]) == 0


def test_basins_are_drawn_where_they_are_and_their_shares_told(figures_of):
    figures = figures_of(descent_outcomes)
    basin = np.array([[0, 0, 0, -1], [1, 2, 3, -2]], np.int32)
    picture = gl.plot.basins({"rate 0.1": basin})
    axes = figures[0].axes[0]
    np.testing.assert_array_equal(axes.images[0].get_array(), basin)
    assert axes.images[0].origin == "lower"  # the first row has the lowest y
    assert [text.get_text() for text in axes.texts] == ["0", "1", "2", "3"]
    assert axes.get_xlim() == (-6, 6)
    assert "rate 0.1: minimum 0 38 %, minimum 1 12 %" in picture.alt
    assert "unsettled 12 %, escaped 12 %" in picture.alt
    names = [text.get_text() for text in figures[0].legends[0].get_texts()]
    assert names == ["escaped", "unsettled", *(f"minimum {m}" for m in range(4))]
    assert descent_outcomes.basin_shares(np.array([[0] * 999 + [1]])) == (
        "minimum 0 over 99 %, minimum 1 under 1 %"
    )


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (lambda: gl.plot.basins({}), "one to 4"),
        (lambda: gl.plot.basins({"a": np.full((2, 2), 7)}), "'a' is an array .*from -2 to 3"),
        (lambda: gl.plot.basins({"a": np.zeros(4)}), "in shape"),
    ],
)
def test_bad_input_is_told_in_a_sentence(bad, message):
    with pytest.raises(BadInput, match=message):
        bad()
