"""Figures have one look, carry their finding as text, and do not reach pyplot."""

import pytest

import gpulearn as gl
from gpulearn import show
from gpulearn.errors import BadInput
from gpulearn.plot import style
from gpulearn.plot.style import figure


def test_show_makes_an_img_with_alt():
    with figure() as (fig, axes):
        axes.plot([1, 2], [3, 4])
    picture = show(fig, 'A line that rises by "one"')
    assert picture.png.startswith(b"\x89PNG")
    assert 'alt="A line that rises by &quot;one&quot;"' in picture._repr_html_()
    assert repr(picture) == '[figure: A line that rises by "one"]'


def test_a_figure_has_one_look_wherever_it_is_shown():
    def drawn(inside):
        with figure(2, 1) as (fig, axes):
            axes.plot([1, 2], [3, 4], color="C0")
            if inside:
                return show(fig, "A line that rises").png
        return show(fig, "A line that rises").png

    assert drawn(inside=True) == drawn(inside=False)


def test_show_refuses():
    with figure() as (fig, _), pytest.raises(BadInput, match="alt is '': write one sentence"):
        show(fig, "")
    with pytest.raises(BadInput, match="show was given a list: give it a matplotlib figure"):
        show([1], "a figure of nothing")


def test_figures_do_not_reach_pyplot():
    import matplotlib.pyplot as plt

    before = plt.get_fignums()
    gl.plot.curves({"a": [1, 2]}, "x", "y")
    assert plt.get_fignums() == before


def test_a_legend_on_a_curve_stays_legible():
    with figure() as (_, axes):
        axes.plot([1, 2], [3, 4], label="a curve")
        legend = axes.legend()
    ground = legend.get_frame()
    assert legend.get_frame_on()
    assert ground.get_alpha() > 0.8
    assert ground.get_facecolor()[:3] == (1, 1, 1)


def test_what_stands_in_several_figures_has_one_color():
    alone = style.looks(["Adam, rate 0.1"])[0]["color"]
    among = style.looks(["gradient descent", "ReLU", "Adam"])
    assert among[2]["color"] == alone
    colors = [look["color"] for look in style.looks([*"abc", "Adam", "Adam again", "NumPy"])]
    assert len(set(colors)) == 6


def test_every_subject_is_found_as_a_word_in_a_label():
    for name, color in style.SUBJECTS.items():
        assert style.looks([name])[0]["color"] == f"C{color}"
