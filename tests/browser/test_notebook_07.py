"""Notebook 07 in JupyterLab: a wrong kernel, a right one, and the reduction player."""

import pytest
from playwright.sync_api import expect

pytestmark = pytest.mark.browser

WARP_SUM = [
    "@cuda.jit",
    "def warp_sum(values, sums):",
    "i = cuda.grid(1)",
    "total = np.float32(0)",
    "if i < values.size:",
    "total = values[i]",
]


@pytest.fixture(scope="module")
def notebook(open_notebook):
    """Notebook 07 with what the tests look at, opened and run."""
    opened = open_notebook(
        "07_atomics_reductions_scans",
        "@cuda.jitdef warp_sum",
        'gl.check("warp_sum"',
        "reduction_player(",
        'gl.plot.kernel_times("histograms")',
        'times = gl.plot.kernel_times("sums")',
    )
    opened.run_all()
    return opened


def test_a_learner_works_through_notebook_07(notebook):
    notebook.has_only_unsolved(1)
    notebook.hides_nothing_on_the_right()

    stub = notebook.cell("@cuda.jitdef warp_sum")
    check = notebook.cell('gl.check("warp_sum"')
    shuffles = ["total += cuda.shfl_down_sync(FULL_WARP, total, step)"]
    store = ["if i % WARP == 0 and i < values.size:", "sums[i // WARP] = total"]

    # lines are typed as the editor indents them; None takes one indent back
    def solve(steps):
        loop = [None, f"for step in {steps}:", *shuffles]
        type_lines(notebook, stub, [*WARP_SUM, *loop, None, *store])
        notebook.run(stub)
        return notebook.run(check)

    said = solve("(8, 4, 2, 1)")
    assert "only the first 16 values of each warp are summed" in said
    assert "Traceback" not in said
    notebook.screenshot("07-wrong-answer")
    assert solve("(16, 8, 4, 2, 1)").startswith("✓ warp_sum is right in all 5 cases")
    notebook.screenshot("07-right-answer")


def type_lines(notebook, cell, lines):
    """Type lines one after the other, as the editor indents; None takes one indent back."""
    keyboard = notebook.page.keyboard
    cell.locator(".cm-content").click()
    keyboard.press("Control+a")
    keyboard.press("Delete")
    begun = False
    for line in lines:
        if line is None:
            keyboard.press("Enter")
            keyboard.press("Backspace")
            begun = False
            continue
        if begun:
            keyboard.press("Enter")
        keyboard.insert_text(line)
        begun = True
    keyboard.press("Escape")


def test_the_player_moves_by_keyboard(notebook):
    output = notebook.cell("reduction_player(").locator(".jp-OutputArea")
    picture, sentence = output.locator("img"), output.locator("p[role=status]")
    expect(sentence).to_contain_text("interleaved, round 1 of 6")
    source = picture.get_attribute("src")

    output.get_by_role("slider").focus()
    notebook.page.keyboard.press("ArrowRight")
    expect(sentence).to_contain_text("interleaved, round 2 of 6")
    expect(picture).not_to_have_attribute("src", source)
    assert picture.get_attribute("alt").startswith("interleaved, round 2 of 6")
    notebook.screenshot("07-player")

    output.locator("select").focus()
    notebook.page.keyboard.type("p")  # the list goes to what begins with it
    expect(sentence).to_contain_text("packed, round 1 of 6")
