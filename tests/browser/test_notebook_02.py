"""Notebook 02 in JupyterLab: run through, one exercise typed in, the explorer by keyboard."""

import pytest
from playwright.sync_api import expect

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def notebook(open_notebook):
    """Notebook 02 with what the tests look at, opened and run."""
    opened = open_notebook(
        "02_roofline",
        "def attainable",
        'gl.check("attainable"',
        "gl.plot.roofline_explorer",
        instead={"gl.measured_roof()": 'gl.roof("T4")', "n = 4096": "n = 256"},
    )
    opened.run_all()
    return opened


def test_a_learner_works_through_notebook_02(notebook):
    notebook.has_only_unsolved(1)

    stub = notebook.cell("def attainable")
    check = notebook.cell('gl.check("attainable"')
    head = "def attainable(intensity, peak, bandwidth):"
    notebook.type_into(stub, [head, "return max(peak, intensity * bandwidth)"])
    notebook.run(stub)
    said = notebook.run(check)
    assert said.startswith("WrongAnswer: attainable: that is the larger of the two limits")
    assert "Traceback" not in said
    notebook.type_into(stub, [head, "return min(peak, intensity * bandwidth)"])
    notebook.run(stub)
    assert notebook.run(check).startswith("✓ attainable is right in all 9 cases")
    notebook.screenshot("02-right-answer")


def test_the_roofline_explorer_moves_by_keyboard(notebook):
    output = notebook.cell("gl.plot.roofline_explorer").locator(".jp-OutputArea")
    picture, sentence = output.locator("img"), output.locator("p[role=status]")
    source, said = picture.get_attribute("src"), sentence.inner_text()
    assert picture.get_attribute("alt").startswith("GFLOP/s over operations per byte")

    output.get_by_role("slider").focus()
    notebook.page.keyboard.press("ArrowRight")
    expect(sentence).not_to_have_text(said)
    expect(picture).not_to_have_attribute("src", source)
    notebook.screenshot("02-explorer")
