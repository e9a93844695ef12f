"""Notebook 16 in JupyterLab: an exercise on ranks."""

import pytest

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def notebook(open_notebook):
    """Notebook 16 with what the tests look at, opened and run."""
    opened = open_notebook(
        "16_data_parallel",
        "def average_gradients",
        'gl.check("average_gradients"',
    )
    opened.run_all()
    return opened


def test_a_learner_works_through_notebook_16(notebook):
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
    notebook.screenshot("16-wrong-answer")
    notebook.type_into(stub, [*lines[:-1], "sum_over_ranks(p.grad.mul_(samples / total))"])
    notebook.run(stub)
    assert notebook.run(check).startswith("✓ average_gradients is right in all")
    notebook.screenshot("16-right-answer")
