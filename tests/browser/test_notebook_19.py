"""Notebook 19 in JupyterLab: a loss that runs and is wrong is mended."""

import pytest

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def notebook(open_notebook):
    """Notebook 19 with what the tests look at, opened and run."""
    opened = open_notebook("19_model_parallel", "def vocabulary_loss", 'gl.check("vocabulary_loss"')
    opened.run_all()
    return opened


def test_a_learner_mends_the_loss(notebook):
    notebook.has_only_unsolved(1)

    stub = notebook.cell("def vocabulary_loss")
    check = notebook.cell('gl.check("vocabulary_loss"')
    lines = [
        "def vocabulary_loss(scores, targets, first):",
        'largest = gl.parallel.all_reduce(scores.detach().amax(-1), "max")',
        "shifted = scores - largest[:, None]",
        "total = shifted.exp().sum(-1)",
        "here = (first + torch.arange(scores.shape[1])) == targets[:, None]",
        "target = sum_of_ranks(shifted.where(here, 0.0).sum(-1))",
        "return (total.log() - target).mean()",
    ]
    notebook.type_into(stub, lines)
    notebook.run(stub)
    said = notebook.run(check)
    assert said.startswith("WrongAnswer: vocabulary_loss:")
    assert "the total is still over this rank's own" in said
    lines[3] = "total = sum_of_ranks(shifted.exp().sum(-1))"
    notebook.type_into(stub, lines)
    notebook.run(stub)
    assert notebook.run(check).startswith("✓ vocabulary_loss is right in all")
