"""Notebook 04 in JupyterLab: a copy that is right and too dear, one that is neither, widgets."""

import pytest
from playwright.sync_api import expect

pytestmark = pytest.mark.browser

CELLS = (
    "04_memory_coalescing",
    "@cuda.jitdef copy_coalesced",
    'gl.check("copy_coalesced"',
    "gl.plot.access_explorer(",
    "gl.plot.kernel_player(thin)",
)


def test_a_learner_works_through_notebook_04(notebook):
    notebook.has_only_unsolved()

    # a right copy that moves too much is told by how much, the coalesced one passes
    head = ["@cuda.jit", "def copy_coalesced(source, target):", "start = cuda.grid(1)"]
    said = notebook.answer(
        "@cuda.jitdef copy_coalesced",
        [
            *head,
            "run = (source.size + cuda.gridsize(1) - 1) // cuda.gridsize(1)",
            "for i in range(start * run, min((start + 1) * run, source.size)):",
            "target[i] = source[i]",
        ],
    )
    assert said.startswith("WrongAnswer: copy_coalesced: the results are right, but for 3,840")
    assert "moves 32 sectors per load request, the budget is 4" in said
    assert notebook.answer(
        "@cuda.jitdef copy_coalesced",
        [*head, "for i in range(start, source.size, cuda.gridsize(1)):", "target[i] = source[i]"],
    ).startswith("✓ copy_coalesced is right in all 8 cases")


def test_the_access_explorer_moves_by_keyboard(notebook):
    output, picture, sentence = notebook.widget("gl.plot.access_explorer(")
    expect(sentence).to_contain_text("float32, stride 2, offset 0: 8 sectors")
    source = picture.get_attribute("src")
    assert picture.get_attribute("alt").startswith("Lines lead from 32 lanes to 32 elements")

    output.get_by_role("slider").first.focus()
    notebook.page.keyboard.press("ArrowRight")
    expect(sentence).to_contain_text("float32, stride 3, offset 0: 12 sectors")
    expect(picture).not_to_have_attribute("src", source)
    notebook.page.keyboard.press("Tab")
    while not output.get_by_role("slider").nth(1).evaluate("e => e == document.activeElement"):
        notebook.page.keyboard.press("Tab")
    notebook.page.keyboard.press("ArrowRight")
    expect(sentence).to_contain_text("float32, stride 3, offset 1: 12 sectors")
    notebook.screenshot("04-explorer")


def test_the_player_steps_through_both_branches(notebook):
    output, _, sentence = notebook.widget("gl.plot.kernel_player(thin)")
    expect(sentence).to_contain_text("32 of 32 lanes")
    output.get_by_role("slider").first.focus()
    for _ in range(3):
        notebook.page.keyboard.press("ArrowRight")
    expect(sentence).to_contain_text("with 16 of 32 lanes")
    notebook.screenshot("04-player")
