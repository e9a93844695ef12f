"""Notebook 12 in JupyterLab: run through, one exercise typed in, the graph by keyboard."""

import pytest

pytestmark = pytest.mark.browser

CELLS = (
    "12_backprop",
    "def backward_relu",
    'gl.check("backward_relu"',
    "graph_player(",
    "digit = data.train_images",
)


def test_a_learner_works_through_notebook_12(notebook):
    notebook.has_only_unsolved()

    head = "def backward_relu(x, gradient):"
    said = notebook.answer("def backward_relu", [head, "return gradient * (gradient > 0)"])
    assert said.startswith("WrongAnswer: backward_relu: ")
    assert notebook.answer("def backward_relu", [head, "return gradient * (x > 0)"]).startswith(
        "✓ backward_relu is right in all "
    )


def test_the_graph_and_the_kernel_move_by_keyboard(notebook):
    for cell, name in {
        "graph_player(": "graph",
        "digit = data.train_images": "convolution",
    }.items():
        notebook.moves_by_keyboard(cell)
        notebook.screenshot(f"12-{name}")
