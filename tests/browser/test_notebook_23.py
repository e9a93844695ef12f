"""Notebook 23 in JupyterLab: a run planned from trials."""

import pytest

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def notebook(open_notebook):
    """Notebook 23 with what the tests look at, opened and run."""
    opened = open_notebook("23_plan_a_run", "def cheapest_plan", 'gl.check("cheapest_plan"')
    opened.run_all()
    return opened


def test_a_learner_plans_a_run(notebook):
    notebook.has_only_unsolved(1)

    stub = notebook.cell("def cheapest_plan")
    check = notebook.cell('gl.check("cheapest_plan"')
    lines = [
        "def cheapest_plan(trials, steps, deadline, lost, wait):",
        "costs = {h * t.gpus * t.price: t.name for t in trials for r in [t.interruptions]"
        " if r * lost < 1 for h in [steps * t.step / 3600 / (1 - r * lost)]"
        " if t.needed <= t.memory and h <= deadline}",
        "return costs[min(costs)] if costs else None",
    ]
    notebook.type_into(stub, lines)
    notebook.run(stub)
    assert "the run waits for GPUs as well" in notebook.run(check)
    lines[1] = lines[1].replace("h <= deadline", "h * (1 + r * wait) <= deadline")
    notebook.type_into(stub, lines)
    notebook.run(stub)
    assert notebook.run(check).startswith("✓ cheapest_plan is right in all")
