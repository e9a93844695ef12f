"""What a browser tab gets to run: copies of stored notebooks, without what it does not have."""

import ast

import pytest

from tests.notebooks.harness import NOTEBOOKS, has
from tests.notebooks.page import read
from tools.links import repository
from tools.site.browser_tab import EDITION, SET_UP, for_a_tab, in_the_edition, link, page
from tools.site.pages import ways

PATHS = [path for path in sorted(NOTEBOOKS.glob("*.ipynb")) if in_the_edition(path.stem)]


def test_each_number_of_the_edition_is_a_notebook() -> None:
    assert tuple(path.stem.partition("_")[0] for path in PATHS) == EDITION


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_a_copy_differs_where_a_tab_does(path) -> None:
    stored = read(path)
    copied = for_a_tab(stored, path.stem, repository())
    changed = [
        (before.source, after.source)
        for before, after in zip(stored.cells, copied.cells, strict=True)
        if before.source != after.source
    ]
    assert SET_UP in [after for _, after in changed]
    assert "Open in Colab" not in "".join(cell.source for cell in copied.cells)
    assert len(changed) == 2
    for cell in copied.cells:
        if cell.cell_type == "code" and not has(cell, "setup"):
            names = {
                one.id for one in ast.walk(ast.parse(cell.source)) if isinstance(one, ast.Name)
            }
            assert "torch" not in names


def test_pages_lead_to_the_edition_and_call_it_experimental() -> None:
    made = page({"05_shared": "How?", "06_matrices": "Why?"})
    assert "**Experimental.** Tried so far: " in made
    assert link("05_shared", "05") in made
    assert "06_matrices" not in made
    told = ways("https://github.com/a/b", "05_shared")
    assert '<a href="../lite/lab/index.html?path=05_shared.ipynb">' in told
    assert "experimental" in told
    assert "lite" not in ways("https://github.com/a/b", "06_matrices")
