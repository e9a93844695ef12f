"""Notebook 23 in JupyterLab: a plan that is asked for."""

import pytest

pytestmark = pytest.mark.browser

CELLS = ("23_plan_a_run", "plan_explorer(")


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
