"""Notebook 15 in JupyterLab: real ranks, and the ring by keyboard."""

import re

import psutil
import pytest
from playwright.sync_api import expect

pytestmark = pytest.mark.browser

CELLS = ("15_collectives", "def attempt", "def introduce", "ring_player(", "gl.progress()")


def test_ranks_print_and_a_deadlock_is_told(notebook):
    said = notebook.cell("def introduce").locator(".jp-OutputArea").inner_text()
    for rank in range(4):
        assert f"[rank {rank}] I am rank {rank} of 4, process" in said
    cell = notebook.cell("def attempt")
    assert "Timed out waiting 2000ms" in cell.locator(".jp-OutputArea").inner_text()
    cell.scroll_into_view_if_needed()
    notebook.screenshot("15-deadlock")


def test_the_ring_moves_by_keyboard(notebook):
    output, picture, sentence = notebook.widget("ring_player(")
    source = picture.get_attribute("src")
    assert "Step 1 of 6" in sentence.inner_text()
    output.get_by_role("slider").nth(1).focus()
    for step in (2, 3):
        notebook.page.keyboard.press("ArrowRight")
        expect(sentence).to_contain_text(f"Step {step} of 6")
    expect(sentence).to_contain_text("rank r holds chunk r of the sum")
    expect(picture).not_to_have_attribute("src", source)
    notebook.screenshot("15-ring")


def test_interrupt_ends_the_ranks_and_the_next_launch_works(notebook):
    cell = notebook.cell("gl.progress()")
    sleep = 'gl.launch(lambda: print("process", os.getpid()) or time.sleep(1000), 2)'
    notebook.type_into(cell, ["import os, time", sleep])
    cell = notebook.cell("import os, time")
    output = cell.locator(".jp-OutputArea")
    cell.locator(".cm-content").click()
    notebook.page.keyboard.press("Control+Enter")
    for rank in (0, 1):
        expect(output).to_contain_text(f"[rank {rank}] process")
    pids = [int(pid) for pid in re.findall(r"process (\d+)", output.inner_text())]
    assert len(pids) == 2
    assert all(psutil.pid_exists(pid) for pid in pids)
    notebook.page.get_by_role("menuitem", name="Kernel", exact=True).click()
    notebook.page.get_by_role("menuitem", name="Interrupt Kernel").click()
    notebook.wait_for_idle(60)
    expect(output).to_contain_text("Interrupted: you ended it: none of the 2 ranks is left.")
    assert len(output.inner_text().split("\n\n")[-1].splitlines()) == 1  # and no stack trace
    assert not any(psutil.pid_exists(pid) for pid in pids)
    notebook.screenshot("15-interrupted")
    notebook.type_into(cell, ["import os, time", "gl.launch(gl.parallel.rank, 2)"])
    assert notebook.run(notebook.cell("import os, time")) == "[0, 1]"
