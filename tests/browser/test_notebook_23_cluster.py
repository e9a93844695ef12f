"""Notebook 23 in JupyterLab: a plan that is asked for, and a run whose cost is foreseen."""

import pytest

pytestmark = pytest.mark.browser

CELLS = ("23_plan_a_run", "plan_explorer(", "def run_cost", 'gl.check("run_cost"')


def test_the_explorer_says_what_other_choices_come_to(notebook):
    shown = notebook.cell("plan_explorer(").locator("[role=status]")
    assert "1,024 × H100" in shown.inner_text()
    page = notebook.page
    page.get_by_label("parameters").select_option("1 trillion")
    page.wait_for_function("e => e.innerText.includes('1 trillion tokens take')",
                           arg=shown.element_handle())  # fmt: skip
    page.get_by_label("network").select_option("10 Gbit")
    page.get_by_label("GPU", exact=True).select_option("T4")
    notebook.wait_for_idle()
    page.wait_for_function(
        "() => [...document.querySelectorAll('[role=status]')]"
        ".some(e => e.innerText.includes('No layout of 1,024 GPUs works'))"
    )
    notebook.hides_nothing_on_the_right()


def test_a_learner_foresees_what_a_run_costs(notebook):
    notebook.has_only_unsolved()

    lines = [
        "def run_cost(tokens, tokens_per_second, gpus, price, power, *, availability=1.0):",
        "hours = tokens / tokens_per_second * availability / 3600",
        "return hours / 24, gpus * hours * price, gpus * hours * power / 1000",
    ]
    said = notebook.answer("def run_cost", lines)
    assert said.startswith("WrongAnswer: run_cost:")
    assert "divide by the availability" in said
    lines[1] = "hours = tokens / (tokens_per_second * availability) / 3600"
    assert notebook.answer("def run_cost", lines).startswith("✓ run_cost is right in all")
