"""Notebook 21 in JupyterLab: the rank that makes all others wait."""

import pytest

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def notebook(open_notebook):
    """Notebook 21 with what the tests look at, opened and run."""
    opened = open_notebook(
        "21_fault_tolerance", "def find_the_straggler", 'gl.check("find_the_straggler"'
    )
    opened.run_all()
    return opened


def test_a_learner_finds_the_straggler(notebook):
    notebook.has_only_unsolved(1)

    stub = notebook.cell("def find_the_straggler")
    check = notebook.cell('gl.check("find_the_straggler"')
    lines = [
        "def find_the_straggler(compute, wait, times=1.2):",
        "usual = compute.mean(axis=0)",
        "slowest = usual.argmax()",
        "others = np.median(np.delete(usual, slowest))",
        "return slowest if usual[slowest] > times * others else None",
    ]
    notebook.type_into(stub, lines)
    notebook.run(stub)
    said = notebook.run(check)
    assert said.startswith("WrongAnswer: find_the_straggler:")
    assert "moved by a single hiccup" in said
    lines[1] = "usual = np.median(compute, axis=0)"
    notebook.type_into(stub, lines)
    notebook.run(stub)
    assert notebook.run(check).startswith("✓ find_the_straggler is right in all")
