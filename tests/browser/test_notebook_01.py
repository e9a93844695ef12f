"""Notebook 01 in JupyterLab, from opening it to the first solved exercise."""

import pytest
from playwright.sync_api import expect

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def notebook(open_notebook):
    """Notebook 01 with what the tests look at, opened and run."""
    opened = open_notebook(
        "01_cpu_vs_gpu_matmul",
        "def matmul_flops",
        'gl.check("matmul_flops"',
        "cpu_double",
        instead={
            "sizes = [16, 32, 64, 128, 256, 512, 1024, 2048]": "sizes = [16, 32, 64]",
            "max(gl.perf.peak_rate(), *seen)": "max(seen)",
        },
    )
    opened.run_all()
    return opened


def test_a_learner_works_through_notebook_01(notebook):
    notebook.has_only_unsolved(1)

    # a wrong answer is told what it does, the right one passes
    stub = notebook.cell("def matmul_flops")
    check = notebook.cell('gl.check("matmul_flops"')
    notebook.type_into(stub, ["def matmul_flops(m, n, p):", "return m * n * p"])
    notebook.run(stub)
    said = notebook.run(check)
    assert said.startswith("WrongAnswer: matmul_flops: that counts the products")
    assert "Traceback" not in said
    notebook.screenshot("wrong-answer")
    notebook.type_into(stub, ["def matmul_flops(m, n, p):", "return 2 * m * n * p"])
    notebook.run(stub)
    assert notebook.run(check).startswith("✓ matmul_flops is right in all 5 cases")
    notebook.screenshot("right-answer")


def test_the_explorer_moves_by_keyboard(notebook):
    output = notebook.cell("cpu_double").locator(".jp-OutputArea")
    picture, sentence = output.locator("img"), output.locator("p[role=status]")
    source, said = picture.get_attribute("src"), sentence.inner_text()
    assert picture.get_attribute("alt").startswith("Time over n")

    output.get_by_role("slider").focus()
    notebook.page.keyboard.press("ArrowRight")
    expect(sentence).not_to_have_text(said)
    expect(picture).not_to_have_attribute("src", source)
    notebook.screenshot("explorer")
