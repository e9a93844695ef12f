"""Notebook 02 in JupyterLab: run through, one exercise typed in, the explorer by keyboard."""

import pytest

pytestmark = pytest.mark.browser

CELLS = ("02_roofline", "def attainable", 'gl.check("attainable"', "gl.plot.roofline_explorer")
INSTEAD = {"gl.measured_roof()": 'gl.roof("T4")', "n = 4096": "n = 256"}


def test_a_learner_works_through_notebook_02(notebook):
    notebook.has_only_unsolved()

    head = "def attainable(intensity, peak, bandwidth):"
    said = notebook.answer("def attainable", [head, "return max(peak, intensity * bandwidth)"])
    assert said.startswith("WrongAnswer: attainable: that is the larger of the two limits")
    assert notebook.answer(
        "def attainable", [head, "return min(peak, intensity * bandwidth)"]
    ).startswith("✓ attainable is right in all 9 cases")


def test_the_roofline_explorer_moves_by_keyboard(notebook):
    _, picture, _ = notebook.widget("gl.plot.roofline_explorer")
    assert picture.get_attribute("alt").startswith("GFLOP/s over operations per byte")
    notebook.moves_by_keyboard("gl.plot.roofline_explorer")
    notebook.screenshot("02-explorer")
