"""Every notebook, executed in both forms."""

from __future__ import annotations

import pytest

from tests.notebooks.harness import NOTEBOOKS, Form, faults, needs_two_runs
from tests.notebooks.page import read

PATHS = sorted(NOTEBOOKS.glob("*.ipynb"))
FORMS: dict[bool, tuple[Form, ...]] = {False: ("both",), True: ("student", "solution")}
RUNS = [
    pytest.param(path, form, id=f"{path.stem}-{form}")
    for path in PATHS
    for form in FORMS[needs_two_runs(read(path))]
]


def test_there_are_notebooks() -> None:
    assert PATHS


@pytest.mark.notebook
@pytest.mark.parametrize(("path", "form"), RUNS)
def test_runs(path, form: Form) -> None:
    found = faults(read(path), path.name, form)
    assert not found, "\n" + "\n".join(found)
