"""Notebook 20 in JupyterLab: a budget that is foreseen."""

import pytest

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def notebook(open_notebook):
    """Notebook 20 with what the tests look at, opened and run."""
    opened = open_notebook("20_sharded_training", "def zero_memory", 'gl.check("zero_memory"')
    opened.run_all()
    return opened


def test_a_learner_foresees_what_a_rank_keeps(notebook):
    notebook.has_only_unsolved(1)

    stub = notebook.cell("def zero_memory")
    check = notebook.cell('gl.check("zero_memory"')
    lines = [
        "def zero_memory(counts, ranks, stage, *, weights=2, gradients=2, state=12):",
        "kept = weights, gradients, state",
        "whole, cut = sum(counts), sum(counts) / ranks",
        "return [b * (cut if stage > i else whole) for b, i in zip(kept, (2, 1, 0))]",
    ]
    notebook.type_into(stub, lines)
    notebook.run(stub)
    said = notebook.run(check)
    assert said.startswith("WrongAnswer: zero_memory:")
    assert "shards are padded" in said
    lines[2] = "whole, cut = sum(counts), sum(-(-count // ranks) for count in counts)"
    notebook.type_into(stub, lines)
    notebook.run(stub)
    assert notebook.run(check).startswith("✓ zero_memory is right in all")
