"""Notebook 03 in JupyterLab: exercises typed in, and the thread explorers moved by keyboard."""

import pytest
from playwright.sync_api import expect

pytestmark = pytest.mark.browser

KERNEL = ["@cuda.jit", "def vector_add(a, b, out):"]
GUARDED = [*KERNEL, "i = cuda.grid(1)", "if i < out.size:", "out[i] = a[i] + b[i]"]
UNGUARDED = [*KERNEL, "i = cuda.grid(1)", "out[i] = a[i] + b[i]"]


@pytest.fixture(scope="module")
def notebook(open_notebook):
    """Notebook 03 with what the tests look at, opened and run."""
    opened = open_notebook(
        "03_threads_blocks_grids",
        "@cuda.jitdef vector_add",
        'gl.check("vector_add"',
        "gl.plot.thread_explorer(20)",
        "gl.plot.thread_explorer(20, 10)",
    )
    opened.run_all()
    return opened


def test_a_learner_writes_a_kernel(notebook):
    notebook.has_only_unsolved(1)

    # a kernel without a guard is told its line and threads, with a guard it passes
    stub = notebook.cell("@cuda.jitdef vector_add")
    check = notebook.cell('gl.check("vector_add"')
    notebook.type_into(stub, UNGUARDED)
    notebook.run(stub)
    said = notebook.run(check)
    assert said.startswith("WrongAnswer: vector_add: for 97 elements in 4 blocks of 32, line 4 (")
    assert "thread 1 of block 3 accesses a[97], out of bounds" in said
    assert said.endswith("There is no guard: threads beyond the end must do nothing.")
    notebook.screenshot("03-wrong-answer")
    notebook.type_into(stub, GUARDED)
    notebook.run(stub)
    assert notebook.run(check).startswith("✓ vector_add is right in all 5 cases")
    notebook.screenshot("03-right-answer")


@pytest.mark.parametrize(
    ("cell", "slider", "first", "then"),
    [
        (
            "gl.plot.thread_explorer(20)",
            2,
            "Thread 3 of block 1: i = 1 × 8 + 3 = 11",
            "Thread 4 of",
        ),
        (
            "gl.plot.thread_explorer(20, 10)",
            5,
            "x = 1 × 8 + 3 = 11, y = 0 × 4 + 2 = 2",
            "y = 0 × 4 + 3",
        ),
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
    output = notebook.cell("gl.plot.thread_explorer(20)").locator(".jp-OutputArea")
    last = output.locator("svg.gl-threads g").last
    expect(last.locator(".said")).not_to_be_visible()
    last.hover()
    expect(last.locator(".said")).to_be_visible()
    assert last.locator(".said").text_content().endswith("there is no element [23].")
