"""Bars of memory say their sum and their largest part."""

import pytest

import gpulearn as gl
from gpulearn.plot.training_costs import unit_for


def test_bars_say_their_sum_and_their_largest_part():
    budget = gl.train.memory_budget(gl.train.LeNet(), (64, 1, 8, 8), "adamw", "float32")
    bars = {"batch 64": budget, "small": budget._replace(activations=0)}
    picture = gl.plot.memory({**bars, "batch 16": budget._replace(activations=300_000)})
    assert f"batch 64 {budget.total / 1e6:.3g} MB, most of it activations" in picture.alt
    assert "small 575 kB, the largest part state (287 kB)" in picture.alt  # just a half
    assert "batch 16 875 kB, the largest part activations (300 kB)" in picture.alt


@pytest.mark.parametrize(("most", "unit"), [(999, "bytes"), (1000, "kB"), (2e6, "MB"), (3e9, "GB")])
def test_a_unit_leaves_few_digits(most, unit):
    assert unit_for(most)[1] == unit


@pytest.mark.parametrize(
    ("bars", "message"),
    [({}, "bars is"), ({"a": 3}, "a is 3: give what gl.train.memory_budget returned")],
)
def test_what_are_no_bytes_is_refused(bars, message):
    with pytest.raises(gl.errors.BadInput, match=message):
        gl.plot.memory(bars)
