"""Notebook 13 in JupyterLab: run through, the live board, an exercise typed in, the explorer."""

import pytest
from playwright.sync_api import expect

pytestmark = pytest.mark.browser

CELLS = (
    "13_training_loop",
    "def train_step",
    'gl.check("train_step"',
    "reader = gl.train.LeNet",
    "training_explorer(",
)


def test_a_learner_works_through_notebook_13(notebook):
    notebook.has_only_unsolved()

    lines = [
        "def train_step(model, optimizer, images, labels):",
        "model.train()",
        "loss = functional.cross_entropy(model(images), labels)",
        "loss.backward()",
        "optimizer.step()",
        "return loss.item()",
    ]
    said = notebook.answer("def train_step", lines)
    assert said.startswith("WrongAnswer: train_step:")
    assert "zero_grad" in said
    assert notebook.answer(
        "def train_step", [*lines[:2], "optimizer.zero_grad()", *lines[2:]]
    ).startswith("✓ train_step is right in all")


def test_the_board_stands_in_one_place_with_its_last_picture(notebook):
    cell = notebook.cell("reader = gl.train.LeNet")
    output = cell.locator(".jp-OutputArea")
    expect(output.locator("img")).to_have_count(1)
    alt = output.locator("img").get_attribute("alt")
    assert alt.startswith("Four curves over the steps of a training run. After 216 steps")
    assert "of the held-out digits are right" in output.locator("p[role=status]").inner_text()
    expect(output.get_by_text("216/216")).to_be_visible()  # the progress bar
    output.scroll_into_view_if_needed()
    notebook.screenshot("13-board")


def test_the_board_moves_while_the_network_trains(notebook):
    cell = notebook.cell("reader = gl.train.LeNet")
    sentence = cell.locator(".jp-OutputArea p[role=status]")
    cell.locator(".cm-content").click()
    notebook.page.keyboard.press("Control+Enter")
    expect(sentence).not_to_contain_text("After 216 steps")  # begins anew, under the same cell
    expect(sentence).to_contain_text("After 216 steps")
    notebook.wait_for_idle()


def test_the_training_explorer_moves_by_keyboard(notebook):
    output, picture, sentence = notebook.widget("training_explorer(")
    source = picture.get_attribute("src")
    expect(sentence).to_contain_text("Rate 1, clip none, constant")

    output.get_by_role("slider").focus()
    notebook.page.keyboard.press("ArrowLeft")
    # each change trains a network, which takes its time on a busy machine
    expect(sentence).to_contain_text("Rate 0.7, clip none, constant")
    expect(picture).not_to_have_attribute("src", source)
    notebook.screenshot("13-explorer")
