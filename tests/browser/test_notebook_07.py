"""Notebook 07 in JupyterLab: a wrong kernel, a right one, and the reduction player."""

import pytest
from playwright.sync_api import expect

pytestmark = pytest.mark.browser

CELLS = (
    "07_atomics_reductions_scans",
    "@cuda.jitdef warp_sum",
    'gl.check("warp_sum"',
    "reduction_player(",
    'gl.plot.kernel_times("histograms")',
    'times = gl.plot.kernel_times("sums")',
)

WARP_SUM = [
    "@cuda.jit",
    "def warp_sum(values, sums):",
    "i = cuda.grid(1)",
    "total = np.float32(0)",
    "if i < values.size:",
    "total = values[i]",
]


def test_a_learner_works_through_notebook_07(notebook):
    notebook.has_only_unsolved()
    notebook.hides_nothing_on_the_right()

    shuffles = ["total += cuda.shfl_down_sync(FULL_WARP, total, step)"]
    store = ["\bif i % WARP == 0 and i < values.size:", "sums[i // WARP] = total"]

    def solve(steps):
        loop = [f"\bfor step in {steps}:", *shuffles]  # \b takes one indent back
        return notebook.answer("@cuda.jitdef warp_sum", [*WARP_SUM, *loop, *store])

    said = solve("(8, 4, 2, 1)")
    assert "only the first 16 values of each warp are summed" in said
    assert solve("(16, 8, 4, 2, 1)").startswith("✓ warp_sum is right in all 5 cases")


def test_the_player_moves_by_keyboard(notebook):
    output, picture, sentence = notebook.widget("reduction_player(")
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
