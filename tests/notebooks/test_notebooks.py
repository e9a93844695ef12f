"""Every notebook, executed in both forms."""

from __future__ import annotations

import pytest

from tests.notebooks.harness import NOTEBOOKS, Form, faults
from tests.notebooks.page import read

PATHS = sorted(NOTEBOOKS.glob("*.ipynb"))


def test_there_are_notebooks() -> None:
    assert PATHS


@pytest.mark.notebook
@pytest.mark.parametrize("form", ["student", "solution"])
@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_runs(path, form: Form) -> None:
    found = faults(read(path), path.name, form)
    assert not found, "\n" + "\n".join(found)
