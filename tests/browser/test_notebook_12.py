"""Notebook 12 in JupyterLab: run through, one exercise typed in, the graph by keyboard."""

import pytest
from playwright.sync_api import expect

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def notebook(open_notebook):
    """Notebook 12 with what the tests look at, opened and run."""
    opened = open_notebook(
        "12_backprop",
        "def backward_relu",
        'gl.check("backward_relu"',
        "graph_player(",
        "digit = data.train_images",
    )
    opened.run_all()
    return opened


def test_a_learner_works_through_notebook_12(notebook):
    notebook.has_only_unsolved(1)

    stub = notebook.cell("def backward_relu")
    check = notebook.cell('gl.check("backward_relu"')
    head = "def backward_relu(x, gradient):"
    notebook.type_into(stub, [head, "return gradient * (gradient > 0)"])
    notebook.run(stub)
    said = notebook.run(check)
    assert said.startswith("WrongAnswer: backward_relu: ")
    assert "Traceback" not in said
    notebook.type_into(stub, [head, "return gradient * (x > 0)"])
    notebook.run(stub)
    assert notebook.run(check).startswith("✓ backward_relu is right in all ")
    notebook.screenshot("12-right-answer")


def steps_by_keyboard(notebook, cell: str) -> None:
    """The arrow keys move the slider under `cell`; the sentence and the picture follow."""
    output = notebook.cell(cell).locator(".jp-OutputArea")
    picture, sentence = output.locator("img"), output.locator("p[role=status]")
    source, said = picture.get_attribute("src"), sentence.inner_text()
    output.get_by_role("slider").focus()
    notebook.page.keyboard.press("ArrowRight")
    expect(sentence).not_to_have_text(said)
    expect(picture).not_to_have_attribute("src", source)


def test_the_graph_steps_by_keyboard(notebook):
    steps_by_keyboard(notebook, "graph_player(")
    notebook.screenshot("12-graph")


def test_the_kernel_slides_by_keyboard(notebook):
    steps_by_keyboard(notebook, "digit = data.train_images")
    notebook.screenshot("12-convolution")
