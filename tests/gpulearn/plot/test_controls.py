"""Explorers redraw and report; a player's steps follow the other controls."""

import pytest

from gpulearn import show
from gpulearn.plot.controls import Explorer, Player, choices, slider
from gpulearn.plot.style import figure


@pytest.fixture(scope="module")
def picture():
    with figure() as (fig, axes):
        axes.plot([1, 2])
    return show(fig, "two points on a line")


def test_an_explorer_of_any_function(picture):
    explorer = Explorer(lambda k: (picture, f"k is {k}"), {"k": slider("k", 3, 0, 9)})
    explorer.controls["k"].value = 4
    assert "k is 4" in explorer.picture.value


def test_prices_in_a_sentence_are_no_formula(picture):
    """JupyterLab would set what stands between two dollar signs as mathematics."""
    explorer = Explorer(lambda k: (picture, "from $2 to $5"), {"k": slider("k", 3, 0, 9)})
    assert '<p role="status" class="mathjax_ignore">from $2 to $5</p>' in explorer.picture.value


def test_a_slider_over_given_values_has_its_value_beside_it(picture):
    rates = choices("rate", [("0.1", 0.1), ("a half", 0.5)], 0.1)
    explorer = Explorer(lambda rate, k: (picture, ""), {"rate": rates, "k": slider("k", 3, 0, 9)})
    pair, k, _ = explorer.widget.children[0].children
    control, value = pair.children
    assert (control, value.value, k) == (rates, "0.1", explorer.controls["k"])
    rates.value = 0.5
    assert value.value == "a half"


def test_an_error_in_a_redraw_stands_under_the_picture(picture):
    controls = {"k": slider("k", 3, 0, 9)}
    Explorer(lambda k: (picture, "fine") if k == 3 else 1 / 0, controls)
    with pytest.raises(ZeroDivisionError):  # outside a kernel an Output lets errors through
        controls["k"].value = 4


def test_a_sign_stands_beside_the_controls_while_something_is_drawn(picture):
    signs = []

    def draw(k):
        signs.append(explorer.busy.value if k > 3 else "")
        return picture, "fine"

    explorer = Explorer(draw, {"k": slider("k", 3, 0, 9)})
    explorer.controls["k"].value = 4
    assert signs == ["", "computing …"]
    assert explorer.busy.value == ""


def test_a_player_moves_its_slider_and_starts_anew_where_the_steps_change(picture):
    steps = []

    def draw(rows, step):
        steps.append((rows, step))
        return picture, f"step {step} of {rows}"

    controls = {"rows": slider("rows", 4, 1, 9), "step": slider("step", 1, 1, 4)}
    player = Player(draw, controls, "step", interval=500, last=lambda rows: rows)
    (play,) = player.widget.children[0].children
    assert (play.value, play.min, play.max, play.interval) == (1, 1, 4, 500)
    controls["step"].value = 4
    controls["rows"].value = 2
    assert (controls["step"].value, controls["step"].max, play.max) == (1, 2, 2)
    assert repr(player) == "[interactive figure: step 1 of 2]"
    for rows, step in ((4, 4), (2, 1), (1, 1)):
        controls["step"].value = min(3, controls["step"].max)
        controls["rows"].value = rows
        assert controls["step"].max == rows
        controls["step"].value = step
    assert all(step <= rows for rows, step in steps)  # no step that there is not was asked for


def test_a_player_that_nobody_can_move_stands_where_it_is_told_to(picture):
    controls = {"step": slider("step", 1, 1, 9)}
    player = Player(lambda step: (picture, f"at {step}"), controls, "step", interval=500, still=4)
    assert "at 4" in player._repr_mimebundle_()["text/html"]
    assert "at 1" in player.picture.value


def test_a_slider_starts_within_its_ends():
    assert slider("n", 12, 1, 9).value == 9
