"""Notebook 01 in JupyterLab, from opening it to the first solved exercise."""

import pytest

pytestmark = pytest.mark.browser

CELLS = ("01_cpu_vs_gpu_matmul", "def matmul_flops", 'gl.check("matmul_flops"')


def test_a_learner_works_through_notebook_01(notebook):
    notebook.has_only_unsolved()

    # a wrong answer is told what it does, the right one passes
    said = notebook.answer("def matmul_flops", ["def matmul_flops(m, n, p):", "return m * n * p"])
    assert said.startswith("WrongAnswer: matmul_flops: that counts the products")
    assert notebook.answer(
        "def matmul_flops", ["def matmul_flops(m, n, p):", "return 2 * m * n * p"]
    ).startswith("✓ matmul_flops is right in all 5 cases")
