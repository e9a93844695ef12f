"""Notebook 22 in JupyterLab: a patient is half mended, then mended."""

import pytest

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def notebook(open_notebook):
    """Notebook 22 with what the tests look at, opened and run."""
    opened = open_notebook("22_broken_tutorials", "def case_schedule", 'gl.check("case_schedule"')
    opened.run_all()
    return opened


def test_a_learner_mends_a_schedule_by_halves(notebook):
    notebook.has_only_unsolved(1)

    stub = notebook.cell("def case_schedule")
    check = notebook.cell('gl.check("case_schedule"')
    lines = [
        "def case_schedule(model, batches, milestones, epochs):",
        "planned = [0.1 * 0.1 ** sum(e >= m for m in milestones) for e in range(epochs)]",
        "optimizer, used = torch.optim.SGD(model.parameters(), lr=0.1), []",
        "schedule = MultiStepLR(optimizer, milestones, gamma=0.1)",
        "for _ in range(epochs):",
        "used.append(schedule.get_last_lr()[0])",
        "for x, y in batches:",
        "optimizer.zero_grad()",
        "functional.cross_entropy(model(x), y).backward()",
        "optimizer.step()",
        "schedule.step()",
    ]
    notebook.type_into(stub, [*lines, "return planned, used"])
    notebook.run(stub)
    said = notebook.run(check)
    assert said.startswith("WrongAnswer: case_schedule:")
