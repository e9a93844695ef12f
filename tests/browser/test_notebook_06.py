"""Notebook 06 in JupyterLab: an exercise typed in, the ladder chart by keyboard."""

import pytest
from playwright.sync_api import expect

from gpulearn.perf import recordings
from gpulearn.perf.gpus import GPUS

pytestmark = pytest.mark.browser

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


@pytest.fixture(scope="module")
def notebook(open_notebook):
    """Notebook 06 with what the tests look at, opened and run."""
    opened = open_notebook(
        "06_matmul_ladder",
        "@cuda.jitdef matmul_coalesced",
        'gl.check("matmul_coalesced"',
        "ladder = ladder_counts",
    )
    opened.run_all(300)
    return opened


def test_a_learner_works_through_notebook_06(notebook):
    notebook.has_only_unsolved(1)

    stub = notebook.cell("@cuda.jitdef matmul_coalesced")
    check = notebook.cell('gl.check("matmul_coalesced"')
    notebook.type_into(stub, WRONG)
    notebook.run(stub)
    said = notebook.run(check)
    assert said.startswith("WrongAnswer: matmul_coalesced: the results are right, but for")
    assert "16.5 sectors per load request, the budget is 4" in said
    assert said.endswith("let x be the column, the last index of B and of C.")
    assert "Traceback" not in said
    notebook.screenshot("06-wrong-answer")
    notebook.type_into(stub, RIGHT)
    notebook.run(stub)
    assert notebook.run(check).startswith("✓ matmul_coalesced is right in all 5 cases")
    notebook.screenshot("06-right-answer")


def test_the_ladder_moves_by_keyboard(notebook):
    output = notebook.cell("ladder = ladder_counts").locator(".jp-OutputArea")
    picture, sentence = output.locator("img"), output.locator("p[role=status]")
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
