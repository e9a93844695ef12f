"""Notebook 06 in JupyterLab: an exercise typed in, the ladder chart by keyboard."""

import pytest
from playwright.sync_api import expect

from gpulearn.perf import recordings
from gpulearn.perf.gpus import GPUS

pytestmark = pytest.mark.browser

CELLS = (
    "06_matmul_ladder",
    "@cuda.jitdef matmul_coalesced",
    'gl.check("matmul_coalesced"',
    "ladder = ladder_counts",
)

RIGHT = [
    "@cuda.jit",
    "def matmul_coalesced(a, b, c):",
    "j, i = cuda.grid(2)",
    "if i < c.shape[0] and j < c.shape[1]:",
    "total = np.float32(0)",
    "for k in range(a.shape[1]): total += a[i, k] * b[k, j]",  # no block to leave again
    "c[i, j] = total",
]
WRONG = [line.replace("j, i = cuda", "i, j = cuda") for line in RIGHT]


def test_a_learner_works_through_notebook_06(notebook):
    notebook.has_only_unsolved()

    said = notebook.answer("@cuda.jitdef matmul_coalesced", WRONG)
    assert said.startswith("WrongAnswer: matmul_coalesced: the results are right, but for")
    assert "16.5 sectors per load request, the budget is 4" in said
    assert said.endswith("let x be the column, the last index of B and of C.")
    assert notebook.answer("@cuda.jitdef matmul_coalesced", RIGHT).startswith(
        "✓ matmul_coalesced is right in all 5 cases"
    )


def test_the_ladder_moves_by_keyboard(notebook):
    output, picture, sentence = notebook.widget("ladder = ladder_counts")
    expect(sentence).to_contain_text("Share of ")
    source = picture.get_attribute("src")
    assert "RTX A6000" in picture.get_attribute("alt")

    output.get_by_role("slider").first.focus()
    notebook.page.keyboard.press("ArrowRight")
    recorded = recordings.find("ladder")
    modelled = "modelled by the three roofs of the T4"
    origin = f"recorded on {recorded.device}" if recorded else modelled
    expect(sentence).to_contain_text(f"Rate (GFLOP/s), {origin}")
    expect(picture).not_to_have_attribute("src", source)
    output.get_by_role("slider").nth(1).focus()
    notebook.page.keyboard.press("End")
    expect(sentence).to_contain_text(f"the three roofs of the {list(GPUS)[-1]}")
    notebook.screenshot("06-ladder")
