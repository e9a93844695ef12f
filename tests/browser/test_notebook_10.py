"""Notebook 10 in JupyterLab: run through, one exercise typed in, the explorer by keyboard."""

import pytest
from playwright.sync_api import expect

pytestmark = pytest.mark.browser

CELLS = (
    "10_gradient_descent",
    "def momentum_step",
    'gl.check("momentum_step"',
    "gl.plot.descent_explorer",
)


def test_a_learner_works_through_notebook_10(notebook):
    notebook.has_only_unsolved()

    head = "def momentum_step(theta, gradient, state=None, *, lr, momentum=0.9):"
    start = "velocity = 0.0 if state is None else state"
    end = "return theta - lr * velocity, velocity"
    averaged = "velocity = momentum * velocity + (1 - momentum) * gradient"
    said = notebook.answer("def momentum_step", [head, start, averaged, end])
    assert said.startswith("WrongAnswer: momentum_step: ")
    assert "momentum" in said.removeprefix("WrongAnswer: momentum_step: ")
    assert notebook.answer(
        "def momentum_step", [head, start, "velocity = momentum * velocity + gradient", end]
    ).startswith("✓ momentum_step is right in all")


def test_the_descent_explorer_moves_by_keyboard(notebook):
    output, picture, sentence = notebook.widget("gl.plot.descent_explorer")
    expect(sentence).to_contain_text("ravine, gradient descent, rate 0.0631: 200 steps took")
    source = picture.get_attribute("src")
    assert picture.get_attribute("alt").startswith("The path over the contours ends at (")

    output.get_by_role("slider").first.focus()
    for _ in range(3):
        notebook.page.keyboard.press("ArrowRight")
    expect(sentence).to_contain_text("rate 0.126: Diverged after")
    expect(sentence).to_contain_text("1.57 times the limit 0.08, above it")
    expect(picture).not_to_have_attribute("src", source)

    output.locator("select").last.focus()
    for key in ("Space", "ArrowDown", "ArrowDown", "Enter"):  # as the notebook says
        notebook.page.keyboard.press(key)
    expect(sentence).to_contain_text("ravine, Nesterov, rate 0.126, momentum 0.9: Diverged")
    output.get_by_role("slider").last.focus()
    notebook.page.keyboard.press("ArrowLeft")
    expect(sentence).to_contain_text("Nesterov, rate 0.126, momentum 0.85: Diverged")
    notebook.screenshot("10-explorer")
