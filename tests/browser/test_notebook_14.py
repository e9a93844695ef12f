"""Notebook 14 in JupyterLab: drifting replicas, timelines, a script under torchrun, an exercise."""

import re

import pytest

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def notebook(open_notebook):
    """Notebook 14 with what the tests look at, opened and run."""
    opened = open_notebook(
        "14_data_parallel",
        "def average_gradients",
        'gl.check("average_gradients"',
        "gl.launch(train, 1, 2)",
        "script = ",
        "programs = ",
        "deep = ",
        "strong, weak = ",
        "cluster = ",
    )
    opened.run_all(240)
    return opened


def test_a_learner_works_through_notebook_14(notebook):
    notebook.has_only_unsolved(1)

    stub = notebook.cell("def average_gradients")
    check = notebook.cell('gl.check("average_gradients"')
    lines = [
        "def average_gradients(model, samples=1):",
        "total = sum_over_ranks(torch.tensor(float(samples))).item()",
        "for p in model.parameters():",
        "if p.grad is None: p.grad = torch.zeros_like(p)",
        "sum_over_ranks(p.grad)",
    ]
    notebook.type_into(stub, lines)
    notebook.run(stub)
    said = notebook.run(check)
    assert said.startswith("WrongAnswer: average_gradients:")
    assert "that is the sum of the ranks' gradients" in said
    assert "Traceback" not in said
    notebook.screenshot("14-wrong-answer")
    notebook.type_into(stub, [*lines[:-1], "sum_over_ranks(p.grad.mul_(samples / total))"])
    notebook.run(stub)
    assert notebook.run(check).startswith("✓ average_gradients is right in all")
    notebook.screenshot("14-right-answer")


def test_its_figures_state_what_they_show(notebook):
    for begins, states in {
        "programs = ": "gradients averaged equal to the bit all the way",
        "deep = ": "Timeline of overlapping, 2 ranks",
        "strong, weak = ": "measured here",
        "cluster = ": "modelled",
    }.items():
        cell = notebook.cell(begins)
        assert states in cell.locator(".jp-OutputArea img").get_attribute("alt")
        cell.scroll_into_view_if_needed()
        notebook.screenshot(f"14-{begins.split()[0].strip(',')}")


def test_ranks_and_a_script_under_torchrun_say_the_same_loss(notebook):
    cell, script = notebook.cell("gl.launch(train, 1, 2)"), notebook.cell("script = ")
    losses = [
        loss
        for each in (cell, script)
        for loss in re.findall(r"loss (\d\.\d+)", each.locator(".jp-OutputArea").inner_text())
    ]
    assert len(losses) == 5
    assert len(set(losses)) == 1
    script.scroll_into_view_if_needed()
    notebook.screenshot("14-torchrun")
