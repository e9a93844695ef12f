"""Notebook 05 in JupyterLab: its figures, its two widgets by keyboard, and an exercise."""

import pytest
from playwright.sync_api import expect

pytestmark = pytest.mark.browser

CELLS = (
    "05_shared_memory_and_barriers",
    "by_tile",
    "@cuda.jitdef reverse_block",
    'gl.check("reverse_block"',
    "bank_explorer(",
    "gl.plot.kernel_player(seen)",
)

# one-line branches, so that the editor's indentation stays where it is
ANSWER = [
    "@cuda.jit",
    "def reverse_block(a):",
    "stretch = cuda.shared.array(BLOCK, np.float32)",
    "t = cuda.threadIdx.x",
    "start = cuda.blockIdx.x * BLOCK",
    "length = min(BLOCK, a.size - start)",
    "if t < length: stretch[t] = a[start + t]",
    "cuda.syncthreads()",
    "if t < length: a[start + t] = stretch[length - 1 - t]",
]


def test_a_learner_works_through_notebook_05(notebook):
    notebook.has_only_unsolved()

    said = notebook.answer(
        "@cuda.jitdef reverse_block", [line for line in ANSWER if "syncthreads" not in line]
    )
    assert said.startswith("WrongAnswer: reverse_block: for 384 elements in 3 full blocks")
    assert "race on stretch[127] in shared memory" in said
    assert "between the line that fills the shared array and the line that" in said

    assert notebook.answer("@cuda.jitdef reverse_block", ANSWER).startswith(
        "✓ reverse_block is right in all 5 cases"
    )


def test_the_report_names_the_race(notebook):
    cell = notebook.cell("by_tile")
    report = cell.locator("[aria-label='kernel report']")
    assert "race on tile[1, 0] in shared memory" in report.inner_text()
    assert report.evaluate("it => it.scrollWidth <= it.clientWidth")
    notebook.screenshot("race", cell)  # notebooks/images/race.png, for README and site


def test_the_bank_explorer_moves_by_keyboard(notebook):
    output, picture, sentence = notebook.widget("bank_explorer(")
    source = picture.get_attribute("src")
    assert "no bank conflict" in sentence.inner_text()

    output.get_by_role("slider").first.focus()
    notebook.page.keyboard.press("ArrowRight")
    expect(sentence).to_contain_text("Stride 2")
    expect(sentence).to_contain_text("1 bank conflict")
    expect(picture).not_to_have_attribute("src", source)
    notebook.screenshot("05-banks")


def test_the_player_shows_who_loads_the_halo(notebook):
    output, _, sentence = notebook.widget("gl.plot.kernel_player(seen)")
    assert "Step 1 of" in sentence.inner_text()
    output.get_by_role("slider").focus()
    for _ in range(40):
        if "window[cell] =" in sentence.inner_text() and "1 of 32 lanes" in sentence.inner_text():
            break
        said = sentence.inner_text()
        notebook.page.keyboard.press("ArrowRight")
        expect(sentence).not_to_have_text(said)
    expect(sentence).to_contain_text("with 1 of 32 lanes")
    notebook.screenshot("05-halo")
