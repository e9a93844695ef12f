"""Notebook 22 in JupyterLab: a case of many ranks is mended half, and then all of it."""

import pytest

pytestmark = pytest.mark.browser

CELLS = ("22_broken_tutorials", "def case_reports", 'gl.check("case_reports"', "bytes_of = ")


def test_a_learner_tells_mistakes_apart_by_their_traces(notebook):
    notebook.has_only_unsolved()
    notebook.hides_nothing_on_the_right()
    assert "whole tensors: 1440 bytes" in notebook.cell("bytes_of = ").inner_text()

    lines = [
        "def case_reports(report):",
        "n, m, s = report.ranks, report.micro_batches, report.sent",
        "k, parts = s / report.gradient_bytes, report.apart_after > report.apart_before",
        "twice, length = max(report.visits) > 1, 0 if parts else round(report.update, 6)",
        "signs = [parts and s == 0, report.apart_before > 0, parts and s > 0]",
        "signs += [m > 1 and (k == m * (n - 1) or abs(k - m * 2 * (n - 1) / n) < 1e-6)]",
        "signs += [n > 1 and length in (n, n * m), m > 1 and length in (m, n * m)]",
        "signs += [twice, k in (n - 1, m * (n - 1))]",
        "return [name for name, sign in zip(MISTAKES, signs) if sign]",
    ]
    assert "for two ranks (N − 1)·S and 2(N − 1)/N·S are the same" in notebook.answer(
        "def case_reports", lines
    )
    lines[-2] = "signs += [twice, n > 2 and k in (n - 1, m * (n - 1))]"
    assert notebook.answer("def case_reports", lines).startswith("✓ case_reports is right in all")
