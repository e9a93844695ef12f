"""Notebook 14 in JupyterLab: the bars of memory, and an answer that is told what it forgets."""

import pytest

pytestmark = pytest.mark.browser

CELLS = (
    "14_memory_precision_time",
    'device = "cuda"',
    "def find_the_bottleneck",
    'gl.check("find_the_bottleneck"',
)

LINES = [
    "def find_the_bottleneck(fetch, copy, compute, workers):",
    'times = {"fetch": fetch, "copy": copy, "compute": compute}',
    "step = max(times.values()) if workers else sum(times.values())",
    "return max(times, key=times.get), step, compute / step",
]


def test_a_learner_says_what_a_run_waits_for(notebook):
    notebook.has_only_unsolved()
    said = notebook.answer("def find_the_bottleneck", LINES)
    assert said.startswith("WrongAnswer: find_the_bottleneck: with several workers so many")
    assert notebook.answer(
        "def find_the_bottleneck", [LINES[0], "fetch = fetch / max(workers, 1)", *LINES[1:]]
    ).startswith("✓ find_the_bottleneck is right in all")


def test_the_bars_have_their_sentence(notebook):
    output = notebook.cell('device = "cuda"').locator(".jp-OutputArea")
    alt = output.locator("img").get_attribute("alt")
    assert "batch 64, measured 2.05 MB, most of it activations" in alt
    notebook.screenshot("14-memory")
