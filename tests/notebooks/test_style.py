"""Every notebook keeps the course's style, and the README's map is complete."""

import nbformat
import pytest
from nbformat.v4 import new_markdown_cell, new_notebook

from gpulearn.judge.catalogue import catalogue
from tests.notebooks.harness import NOTEBOOKS
from tests.notebooks.markup import pictures_without_words
from tests.notebooks.minutes import readme_minutes
from tests.notebooks.page import Page, read
from tests.notebooks.references import links_lead_somewhere, readme_findings, repeated_definitions
from tests.notebooks.style import findings
from tools import links

PATHS = sorted(NOTEBOOKS.glob("*.ipynb"))
README = NOTEBOOKS.parent / "README.md"


@pytest.fixture(scope="module")
def notebooks() -> dict[str, nbformat.NotebookNode]:
    return {path.stem: read(path) for path in PATHS}


@pytest.mark.parametrize("name", [path.stem for path in PATHS])
def test_style(name, notebooks) -> None:
    found = findings(notebooks[name], name)
    assert not found, "\n" + "\n".join(found)


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_stored_as_the_format_demands(path) -> None:
    nbformat.validate(read(path))


def test_no_name_is_defined_in_two_notebooks(notebooks) -> None:
    assert repeated_definitions(notebooks) == []


def test_every_exercise_has_its_notebook(notebooks) -> None:
    homeless = [e.name for e in catalogue().values() if e.notebook not in notebooks]
    assert homeless == []


def test_readme_lists_every_notebook(notebooks) -> None:
    found = readme_findings(README.read_text(encoding="utf-8"), notebooks, links.repository())
    assert not found, "\n" + "\n".join(found)


def test_readme_says_the_minutes_of_every_notebook(notebooks) -> None:
    found = list(readme_minutes(README.read_text(encoding="utf-8"), notebooks))
    assert not found, "\n" + "\n".join(found)


def test_readme_points_to_what_exists() -> None:
    text = README.read_text(encoding="utf-8")
    page = Page(new_notebook(cells=[new_markdown_cell(text)]), "README", README.parent)
    assert list(links_lead_somewhere(page)) == []
    assert pictures_without_words(text) == []
