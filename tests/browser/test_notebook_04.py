"""Notebook 04 in JupyterLab: a copy that is right and too dear, one that is neither, widgets."""

import pytest
from playwright.sync_api import expect

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def notebook(open_notebook):
    """Notebook 04 with what the tests look at, opened and run."""
    opened = open_notebook(
        "04_memory_coalescing",
        "@cuda.jitdef copy_coalesced",
        'gl.check("copy_coalesced"',
        "gl.plot.access_explorer(",
        "gl.plot.kernel_player(thin)",
    )
    opened.run_all()
    return opened


def test_a_learner_works_through_notebook_04(notebook):
    notebook.has_only_unsolved(1)

    # a right copy that moves too much is told by how much, the coalesced one passes
    stub = notebook.cell("@cuda.jitdef copy_coalesced")
    check = notebook.cell('gl.check("copy_coalesced"')
    head = ["@cuda.jit", "def copy_coalesced(source, target):", "start = cuda.grid(1)"]
    notebook.type_into(
        stub,
        [
            *head,
            "run = (source.size + cuda.gridsize(1) - 1) // cuda.gridsize(1)",
            "for i in range(start * run, min((start + 1) * run, source.size)):",
            "target[i] = source[i]",
        ],
    )
    notebook.run(stub)
    said = notebook.run(check)
    assert said.startswith("WrongAnswer: copy_coalesced: the results are right, but for 3,840")
    assert "moves 32 sectors per load request, the budget is 4" in said
    assert "Traceback" not in said
    notebook.screenshot("04-too-dear")
    notebook.type_into(
        stub,
        [*head, "for i in range(start, source.size, cuda.gridsize(1)):", "target[i] = source[i]"],
    )
    notebook.run(stub)
    assert notebook.run(check).startswith("✓ copy_coalesced is right in all 8 cases")
    notebook.screenshot("04-right")


def test_the_access_explorer_moves_by_keyboard(notebook):
    output = notebook.cell("gl.plot.access_explorer(").locator(".jp-OutputArea")
    picture, sentence = output.locator("img"), output.locator("p[role=status]")
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
    output = notebook.cell("gl.plot.kernel_player(thin)").locator(".jp-OutputArea")
    sentence = output.locator("p[role=status]")
    expect(sentence).to_contain_text("32 of 32 lanes")
    output.get_by_role("slider").first.focus()
    for _ in range(3):
        notebook.page.keyboard.press("ArrowRight")
    expect(sentence).to_contain_text("with 16 of 32 lanes")
    notebook.screenshot("04-player")
