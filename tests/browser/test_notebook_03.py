"""Notebook 03 in JupyterLab: exercises typed in, and the thread explorers moved by keyboard."""

import re

import pytest
from playwright.sync_api import expect

from .conftest import Notebook, page_of

pytestmark = pytest.mark.browser

CELLS = (
    "03_threads_blocks_grids",
    'gl.predict("random_order"',
    "in_any_order = ",
    'gl.predict("pixel_of_a_thread"',
    "def negate_one(block",
    "@cuda.jitdef vector_add",
    'gl.check("vector_add"',
    "thread_explorer(20)",
    "thread_explorer(20, 10)",
)

KERNEL = ["@cuda.jit", "def vector_add(a, b, out):"]
GUARDED = [*KERNEL, "i = cuda.grid(1)", "if i < out.size:", "out[i] = a[i] + b[i]"]
UNGUARDED = [*KERNEL, "i = cuda.grid(1)", "out[i] = a[i] + b[i]"]

# below the question: a cell that shows nothing, prose, the cell with the answer, prose, a heading
ADD_CELLS = """() => {
    const {model, widgets} = jupyterapp.shell.currentWidget.content;
    const shared = model.sharedModel;
    const asked = shared.cells.findIndex(cell => cell.source.startsWith("gl.predict"));
    shared.insertCell(asked + 1, {cell_type: "code", source: "del in_any_order"});
    shared.insertCell(asked + 2, {cell_type: "markdown", source: "The loop is next."});
    shared.insertCell(asked + 4, {cell_type: "markdown", source: "Nothing: the rounds are apart."});
    shared.insertCell(asked + 5, {cell_type: "markdown", source: "## Next\\n\\nFrom a loop on."});
    jupyterapp.commands.execute("notebook:render-all-markdown");
    widgets[asked + 3].model.clearExecution(); // nothing has come yet
}"""

STOP_FOR_TODAY = """async () => {
    const {context} = jupyterapp.shell.currentWidget;
    await context.save();
    await context.sessionContext.shutdown();
}"""


def test_a_learner_writes_a_kernel(notebook):
    notebook.has_only_unsolved()

    # a kernel without a guard is told its line and threads, with a guard it passes
    said = notebook.answer("@cuda.jitdef vector_add", UNGUARDED)
    assert said.startswith("WrongAnswer: vector_add: for 97 elements in 4 blocks of 32, line 4 (")
    assert "thread 1 of block 3 accesses a[97], out of bounds" in said
    assert said.endswith("a guard must let them do nothing.")
    assert notebook.answer("@cuda.jitdef vector_add", GUARDED, by_keys=True).startswith(
        "✓ vector_add is right in all 6 cases"
    )


def test_predictions_are_made_by_keyboard_and_held_against_what_comes(notebook):
    keyboard = notebook.page.keyboard

    # a choice: arrows stay in it, Enter keeps it and goes on, and the next cell shows both
    asked = notebook.cell('gl.predict("random_order"')
    notebook.page.evaluate(ADD_CELLS)
    said = notebook.run(asked)
    assert said.startswith("Predict: What changes if the loop visits the 500 pixels in random")
    between, after, heading = notebook.page.locator(".jp-MarkdownCell p").all()
    shows = notebook.cell("in_any_order = ")
    for hidden in (between, shows, after):
        expect(hidden).to_be_hidden()
    expect(heading).to_be_visible()
    notebook.screenshot("03-asked")
    keyboard.press("Escape")
    keyboard.press("Tab")
    expect(asked.locator("input[type=radio]").first).to_be_focused()
    keyboard.press("Enter")  # nothing is chosen: on to the next cell
    expect(notebook.cell("del in_any_order")).to_have_class(re.compile("jp-mod-selected"))
    keyboard.press("Shift+Tab")
    expect(asked.locator("input[type=radio]").last).to_be_focused()
    keyboard.press("ArrowUp")
    status = asked.locator("[role=status]")
    expect(status).to_have_text("Noted: the pixels are shuffled. Now run the next cell.")
    notebook.run(asked)  # once more: the choice is still there
    expect(asked.locator("input[type=radio]:checked")).to_have_count(1)
    expect(status).to_contain_text("Noted: the pixels are shuffled.")
    asked.locator("input[type=radio]:checked").focus()
    keyboard.press("Enter")
    assert notebook.run(notebook.cell("del in_any_order")) == ""
    expect(between).to_be_visible()
    expect(after).to_be_hidden()
    said = notebook.run(shows)
    assert "You predicted the pixels are shuffled What came nothing" in said
    expect(after).to_be_visible()
    notebook.screenshot("03-predicted")

    # a number: typed, with a mistake first, and foreseen
    asked = notebook.cell('gl.predict("pixel_of_a_thread"')
    notebook.run(asked)
    field, status = asked.locator("input[type=text]"), asked.locator("[role=status]")
    field.focus()
    keyboard.press("Shift+Enter")  # skipped
    expect(notebook.cell("def negate_one(block")).to_have_class(re.compile("jp-mod-selected"))
    field.focus()
    keyboard.type("two")
    keyboard.press("Enter")
    expect(status).to_have_text("'two' is no number: write it in digits, such as 32 or 1.5.")
    field.fill("257")
    keyboard.press("Shift+Enter")
    expect(status).to_contain_text("Noted: 257.")
    shows = notebook.cell("def negate_one(block")
    expect(shows).to_have_class(re.compile("jp-mod-selected"))
    said = notebook.run(shows)
    assert said.endswith("equal: True ✓ You foresaw it 257")
    notebook.screenshot("03-foreseen")

    field.fill("9")
    keyboard.press("Enter")
    expect(status).to_contain_text("not counted")


@pytest.mark.parametrize(
    ("cell", "slider", "first", "then"),
    [
        ("thread_explorer(20)", 2, "Thread 3 of block 1: i = 1 × 8 + 3 = 11", "Thread 4 of"),
        ("thread_explorer(20, 10)", 5, "x = 1 × 8 + 3 = 11, y = 0 × 4 + 2 = 2", "y = 0 × 4 + 3"),
    ],
)
def test_the_thread_explorer_moves_by_keyboard(notebook, cell, slider, first, then):
    output = notebook.cell(cell).locator(".jp-OutputArea")
    sentence, picture = output.locator("p[role=status]"), output.locator("svg.gl-threads")
    expect(sentence).to_contain_text(first)
    output.get_by_role("slider").nth(slider).focus()
    notebook.page.keyboard.press("ArrowRight")
    expect(sentence).to_contain_text(then)
    expect(picture).to_have_attribute("aria-label", sentence.inner_text())
    notebook.screenshot(f"03-explorer-{slider}")


def test_the_pointer_reads_a_thread(notebook):
    output = notebook.cell("thread_explorer(20)").locator(".jp-OutputArea")
    last = output.locator("svg.gl-threads g").last
    expect(last.locator(".said")).not_to_be_visible()
    last.hover()
    expect(last.locator(".said")).to_be_visible()
    assert last.locator(".said").text_content().endswith("there is no element [23].")


def test_the_next_day_a_widget_says_how_to_get_it_back(notebook, lab, learner):
    notebook.page.evaluate(STOP_FOR_TODAY)
    notebook.page.close()
    again = Notebook(page_of(learner, lab[0]), notebook.name)
    for begin in ("thread_explorer(20)", 'gl.predict("random_order"'):
        widget = again.cell(begin).locator(".jupyter-widgets")
        expect(widget).to_have_text(
            "This was shown by a kernel that has ended: run the cell again."
        )
