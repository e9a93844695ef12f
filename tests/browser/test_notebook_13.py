"""Notebook 13 in JupyterLab: the board of a network that trains."""

import pytest
from playwright.sync_api import expect

pytestmark = pytest.mark.browser

CELLS = ("13_training_loop", "reader = gl.train.LeNet")


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
