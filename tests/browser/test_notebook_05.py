"""Notebook 05 in JupyterLab: a report that names a race, and the player by keyboard."""

import pytest
from playwright.sync_api import expect

pytestmark = pytest.mark.browser

CELLS = ("05_shared_memory_and_barriers", "by_tile", "gl.plot.kernel_player(edges_report)")


def test_the_report_names_the_race(notebook):
    cell = notebook.cell("by_tile")
    report = cell.locator("[aria-label='kernel report']")
    assert "race on tile[1, 0] in shared memory" in report.inner_text()
    assert report.evaluate("it => it.scrollWidth <= it.clientWidth")
    notebook.screenshot("race", cell)  # notebooks/images/race.png, for README and site


def test_the_player_shows_who_loads_the_halo(notebook):
    output, _, sentence = notebook.widget("gl.plot.kernel_player(edges_report)")
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
