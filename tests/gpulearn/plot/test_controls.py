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
    made = Explorer(lambda k: (picture, f"k is {k}"), {"k": slider("k", 3, 0, 9)})
    made.controls["k"].value = 4
    assert "k is 4" in made.picture.value


def test_prices_in_a_sentence_are_no_formula(picture):
    """JupyterLab would set what stands between two dollar signs as mathematics."""
    made = Explorer(lambda k: (picture, "from $2 to $5"), {"k": slider("k", 3, 0, 9)})
    assert '<p role="status" class="mathjax_ignore">from $2 to $5</p>' in made.picture.value


def test_a_slider_over_given_values_has_its_value_beside_it(picture):
    rates = choices("rate", [("0.1", 0.1), ("a half", 0.5)], 0.1)
    made = Explorer(lambda rate, k: (picture, ""), {"rate": rates, "k": slider("k", 3, 0, 9)})
    pair, k, _ = made.widget.children[0].children
    control, value = pair.children
    assert (control, value.value, k) == (rates, "0.1", made.controls["k"])
    rates.value = 0.5
    assert value.value == "a half"


def test_an_error_in_a_redraw_stands_under_the_picture(picture):
    made = Explorer(lambda k: (picture, "fine") if k == 3 else 1 / 0, {"k": slider("k", 3, 0, 9)})
    with pytest.raises(ZeroDivisionError):  # outside a kernel an Output lets errors through
        made.controls["k"].value = 4


def test_a_sign_stands_beside_the_controls_while_something_is_drawn(picture):
    signs = []

    def draw(k):
        signs.append(made.busy.value if k > 3 else "")
        return picture, "fine"

    made = Explorer(draw, {"k": slider("k", 3, 0, 9)})
    made.controls["k"].value = 4
    assert signs == ["", "computing …"]
    assert made.busy.value == ""


def test_a_player_moves_its_slider_and_starts_anew_where_the_steps_change(picture):
    seen = []

    def draw(rows, step):
        seen.append((rows, step))
        return picture, f"step {step} of {rows}"

    controls = {"rows": slider("rows", 4, 1, 9), "step": slider("step", 1, 1, 4)}
    made = Player(draw, controls, "step", interval=500, last=lambda rows: rows)
    (play,) = made.widget.children[0].children
    assert (play.value, play.min, play.max, play.interval) == (1, 1, 4, 500)
    controls["step"].value = 4
    controls["rows"].value = 2
    assert (controls["step"].value, controls["step"].max, play.max) == (1, 2, 2)
    assert all(step <= rows for rows, step in seen)  # no step that there is not was asked for
    assert repr(made) == "[interactive figure: step 1 of 2]"


def test_a_player_that_nobody_can_move_stands_where_it_is_told_to(picture):
    controls = {"step": slider("step", 1, 1, 9)}
    made = Player(lambda step: (picture, f"at {step}"), controls, "step", interval=500, still=4)
    assert "at 4" in made._repr_mimebundle_()["text/html"]
    assert "at 1" in made.picture.value


def test_a_slider_starts_within_its_ends():
    assert slider("n", 12, 1, 9).value == 9
