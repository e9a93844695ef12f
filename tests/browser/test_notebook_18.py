"""Notebook 18 in JupyterLab: a server that is mended."""

import pytest

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def notebook(open_notebook):
    """Notebook 18 with what the tests look at, opened and run."""
    opened = open_notebook(
        "18_parameter_server",
        *("def on_its_own", "late_kill", "def serve_with_backup", 'gl.check("serve_with_backup"'),
    )
    opened.run_all()
    return opened


def test_a_learner_mends_the_server(notebook):
    notebook.has_only_unsolved(1)

    stub = notebook.cell("def serve_with_backup")
    check = notebook.cell('gl.check("serve_with_backup"')
    lines = [
        "def serve_with_backup(state, push, forward, acknowledge):",
        "forward(push)",
        "state.weights -= state.lr * push.gradient",
        "acknowledge(push)",
    ]
    notebook.type_into(stub, lines)
    notebook.run(stub)
    said = notebook.run(check)
    assert said.startswith("WrongAnswer: serve_with_backup:")
    assert "a push that is sent again is applied again" in said
    lines[1:3] = [
        "new, known = push.number > state.applied.get(push.worker, 0), state.applied",
        f"if new: {'; '.join(lines[1:3])}; known[push.worker] = push.number",
    ]
    notebook.type_into(stub, lines)
    notebook.run(stub)
    assert notebook.run(check).startswith("✓ serve_with_backup is right in all")
