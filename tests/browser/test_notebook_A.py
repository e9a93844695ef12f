"""Notebook A in JupyterLab: what is recorded says so, and a step is mended."""

import pytest

pytestmark = pytest.mark.browser

CELLS = ("A_frameworks", "rows_seen = ", "def distributed_step", 'gl.check("distributed_step"')


def test_a_learner_reads_what_replicas_are_given_and_mends_the_step(notebook):
    notebook.has_only_unsolved()
    notebook.hides_nothing_on_the_right()
    rows = notebook.cell("rows_seen = ")
    said = " ".join(rows.locator(".jp-OutputArea-output").all_inner_texts())
    assert "plain tensor: 64 and 64 rows" in said
    assert "recorded on" in said or "run here" in said

    first = "def distributed_step(strategy, gradients_of, weights, batch, lr):"
    rest = [
        "(own,) = strategy.experimental_distribute_dataset([batch])",
        "parts = strategy.run(on_replica, args=(own,))",
        'return weights - lr * strategy.reduce("SUM", parts, axis=None)',
    ]
    one_line = "on_replica = lambda rows: gradients_of(weights, rows)"
    said = notebook.answer("def distributed_step", [first, f"{one_line}.mean(axis=0)", *rest])
    assert said.startswith("WrongAnswer: distributed_step:")
    assert "Divide by the rows of the whole batch" in said
    assert notebook.answer(
        "def distributed_step", [first, f"{one_line}.sum(axis=0) / len(batch)", *rest]
    ).startswith("✓ distributed_step is right in all")
