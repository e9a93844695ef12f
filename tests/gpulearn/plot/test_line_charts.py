"""Curves over one axis: what is not finite is left out, and bad input gets a sentence."""

import numpy as np
import pytest

import gpulearn as gl
from gpulearn.errors import BadInput
from gpulearn.plot import line_charts


def test_curves_leave_out_what_is_not_finite(figures_of):
    figures = figures_of(line_charts)
    given = {"wild": [1.0, np.inf, np.nan], "pair": ([2, 4], [1, 2]), "long": np.arange(99.0)}
    gl.plot.curves(given, "step", "loss", marks={"here": 3.0})
    wild, pair, long, mark = figures[0].axes[0].lines
    np.testing.assert_array_equal(wild.get_ydata(), [1, np.nan, np.nan])
    assert pair.get_xdata().tolist() == [2, 4]
    assert (wild.get_markevery(), long.get_markevery()) == (1, 9)
    assert mark.get_label() == "here"
    assert {line.get_linestyle() for line in (wild, pair, long)} == {"-", "--", "-."}


def test_points_on_a_curve_are_seen_and_so_is_the_curve(figures_of):
    figures = figures_of(line_charts)
    gl.plot.curves({"measured": [1.0, 2.0], "model": [1.0, 2.0]}, "x", "y", dots=["measured"])
    measured, model = figures[0].axes[0].lines
    assert (measured.get_linestyle(), measured.get_fillstyle()) == ("None", "none")
    assert measured.get_marker() != model.get_marker() == ""
    assert measured.get_zorder() > model.get_zorder()


def test_the_caption_is_made_from_the_numbers():
    given = {
        "bowl": ([-1, 0, 2], [1.0, 0.0, 4.0]),
        "level": [3.0, 3.0],
        "exploded": [1.0, 20.0, np.inf],
        "gone": [np.nan, np.inf],
        "measured": [0.5, 2.0, 1.0],
    }
    picture = gl.plot.curves(given, "step", "loss", marks={"limit": 0.12345}, dots=["measured"])
    assert picture.alt == (
        "Loss over step. bowl: from 1 at -1 to 4 at 2, lowest 0 at 0. level: stays at 3. "
        "exploded: rises from 1 at 0 to 20 at 1. gone: no finite number. "
        "measured: 3 points from 0.5 to 2. limit: 0.123."
    )


@pytest.mark.parametrize(("x", "text"), [([4, 4096], "1,000"), ([1e-6, 1e3], "$")])
def test_a_logarithmic_axis_shows_numbers_where_they_are_short(figures_of, x, text):
    figures = figures_of(line_charts)
    gl.plot.curves({"a": (x, [1, 2])}, "bucket (KB)", "step (ms)", log="x")
    axis = figures[0].axes[0].xaxis
    assert text in axis.get_major_formatter()(1000.0)


@pytest.mark.parametrize(
    ("curves", "log", "message"),
    [
        ({}, "", "give .*label.*one to 8"),
        ({"a": "abc"}, "", "'a' is 'abc'"),
        ({"a": ([1, 2], [1])}, "", "same length"),
        ({"a": []}, "", "give a list of numbers"),
        ({"a": [1]}, "z", "'z'"),
    ],
)
def test_what_is_no_curve_is_told_in_a_sentence(curves, log, message):
    with pytest.raises(BadInput, match=message):
        gl.plot.curves(curves, "x", "y", log=log)


def test_a_few_places_on_a_logarithmic_axis_are_its_numbers(figures_of):
    figures = figures_of(line_charts)
    gl.plot.curves({"time": ([1, 2, 4, 8, 32], [5.0, 4, 3, 2, 1])}, "chunks", "µs", log="x")
    picture = gl.plot.curves({"bytes": ([128, 32_768], [1.0, 38_654])}, "places", "MB", log="xy")
    assert figures[0].axes[0].get_xticks().tolist() == [1, 2, 4, 8, 32]
    assert picture.alt.endswith("bytes: rises from 1 at 128 to 38,700 at 32,768.")
