"""Notebook 17 in JupyterLab: an exercise that is foreseen."""

import pytest

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def notebook(open_notebook):
    """Notebook 17 with what the tests look at, opened and run."""
    opened = open_notebook("17_scaling_out", "def how_many_gpus", 'gl.check("how_many_gpus"')
    opened.run_all()
    return opened


def test_a_learner_foresees_how_many_gpus_are_worth_it(notebook):
    notebook.has_only_unsolved(1)

    stub = notebook.cell("def how_many_gpus")
    check = notebook.cell('gl.check("how_many_gpus"')
    lines = [
        "def how_many_gpus(compute, size, link, batch, least=0.5):",
        "sends = {n: 2 * (n - 1) * (size / n / link.bandwidth) for n in range(1, batch + 1)}",
        "return max(n for n, s in sends.items() if compute / n >= least * (compute / n + s))",
    ]
    notebook.type_into(stub, lines)
    notebook.run(stub)
    said = notebook.run(check)
    assert said.startswith("WrongAnswer: how_many_gpus:")
    assert "the latency is left out" in said
    lines[1] = lines[1].replace("(size / n", "(link.latency + size / n")
    notebook.type_into(stub, lines)
    notebook.run(stub)
    assert notebook.run(check).startswith("✓ how_many_gpus is right in all")
