"""Each rule of style finds what breaks it, planted in a healthy notebook, and nothing else."""

import re
from collections.abc import Callable

import nbformat
import pytest
from nbformat import NotebookNode
from nbformat.v4 import new_markdown_cell, new_output

from tests.notebooks.minutes import best, parts, rounded
from tests.notebooks.plants import ADDRESS, CHECK, EXERCISE, NAME, code, exercise, healthy
from tests.notebooks.references import readme_findings, repeated_definitions
from tests.notebooks.style import findings

BADGE = (
    "[![Open in Colab](https://colab.research.google.com/assets/colab-badge.svg)]"
    "(https://colab.research.google.com/github/someone/somewhere/blob/main/notebooks/01_planted.ipynb)"
)


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "beside.md").write_text("# A heading\n", encoding="utf-8")
    nbformat.write(healthy(), tmp_path / "other.ipynb")
    return tmp_path


def found(notebook: NotebookNode, folder) -> list[str]:
    return findings(notebook, NAME, folder, [EXERCISE], ADDRESS)


def test_a_healthy_notebook_has_no_findings(folder) -> None:
    assert found(healthy(), folder) == []
    assert BADGE in healthy().cells[0].source


def cell(number: int, **changes: object) -> Callable[[NotebookNode], None]:
    """A plant: a cell, counted from 1, with something of it changed."""
    return lambda notebook: notebook.cells[number - 1].update(changes)


def replaced(number: int, old: str, new: str) -> Callable[[NotebookNode], None]:
    """A plant: a cell, counted from 1, with part of its source replaced."""

    def plant(notebook: NotebookNode) -> None:
        assert old in notebook.cells[number - 1].source
        notebook.cells[number - 1].source = notebook.cells[number - 1].source.replace(old, new)

    return plant


def inserted(number: int, *new: NotebookNode) -> Callable[[NotebookNode], None]:
    """A plant: new cells, the first of which gets this number, counted from 1."""

    def plant(notebook: NotebookNode) -> None:
        notebook.cells[number - 1 : number - 1] = new

    return plant


def removed(*numbers: int) -> Callable[[NotebookNode], None]:
    """A plant: cells, counted from 1, are missing."""

    def plant(notebook: NotebookNode) -> None:
        notebook.cells = [c for n, c in enumerate(notebook.cells, 1) if n not in numbers]

    return plant


def prose(source: str) -> Callable[[NotebookNode], None]:
    """A plant: one more cell of prose in section 1, as cell 8."""
    return inserted(8, new_markdown_cell(source))


def program(source: str) -> Callable[[NotebookNode], None]:
    """A plant: one more code cell in section 1, as cell 8, with prose before it."""
    return inserted(7, new_markdown_cell("Prose."), code(source))


def without_id(notebook: NotebookNode) -> None:
    del notebook.cells[5]["id"]


def with_the_same_id(notebook: NotebookNode) -> None:
    notebook.cells[5].id = notebook.cells[4].id = "same"


def with_long_cells(notebook: NotebookNode) -> None:
    for each in (notebook.cells[3], notebook.cells[5], notebook.cells[7]):
        each.source = "1\n" * 7 + each.source


FRAME = "What you will do; 1 · …, 2 · …; The answer; Exercises; Where to go next"
STREAM = [new_output("stream", name="stdout", text="hi")]

PLANTS = {
    "output": (cell(6, outputs=STREAM), " cell 6: is stored with outputs or an execution count"),
    "count": (cell(6, execution_count=1), " cell 6: is stored with outputs or an execution count"),
    "no id": (without_id, " cell 6: has no id"),
    "same id": (with_the_same_id, " cell 6: has the id 'same' of another cell"),
    "title": (replaced(1, "# 01 ·", "# 02 ·"), " cell 1: must start with '# 01 · ' and the title"),
    "no question": (replaced(1, "?", "."), " cell 1: asks 0 questions: a notebook asks one"),
    "two questions": (replaced(1, "A title", "Why?"), " cell 1: asks 2 questions"),
    "no badge": (replaced(1, BADGE, ""), " cell 1: lacks this notebook's Colab badge"),
    "other's badge": (
        replaced(1, "01_planted.ipynb", "02_planted.ipynb"),
        " cell 1: lacks this notebook's Colab badge",
    ),
    "second title": (prose("# Again"), " cell 8: has a second title"),
    "stray heading": (prose("## Aside"), f" cell 8: '## Aside' is not in the frame: {FRAME}"),
    "order": (
        inserted(6, new_markdown_cell("## Exercises")),
        " cell 10: '## 2 · A `second` section' is out of order",
        " cell 11: '## The answer' is out of order",
        " cell 12: '## Exercises' is out of order",
    ),
    "numbering": (
        replaced(9, "## 2", "## 3"),
        " cell 9: '## 3 · A `second` section' is section 2",
        " cell 10: links to #2-·-A-second-section, which is no heading",
    ),
    "missing heading": (replaced(15, "## ", "**"), ": lacks the heading '## Where to go next'"),
    "minutes": (replaced(2, "about 5", "some"), " cell 2: does not say how long it takes"),
    "no set-up": (
        removed(3),
        ": the first code cell, and no other, must be tagged setup",
        ": the second code cell must",
    ),
    "other set-up": (replaced(3, "-q", "-qq"), " cell 3: is not the set-up cell of"),
    "no banner": (replaced(4, "\n\ngl.banner()", ""), ": the second code cell must import"),
    "long cell": (program("\n".join("1" * 21)), " cell 8: has 21 lines: none over 20"),
    "median": (with_long_cells, ": its code cells have a median of 5.5 lines: at most 5"),
    "little prose": (inserted(8, *map(code, "1234")), ": has 10 code cells and only 9 cells"),
    "empty cell": (prose(" \n"), " cell 8: is empty"),
    "pip": (program("%pip install x"), " cell 8: installs packages outside the set-up cell"),
    "shell pip": (program("!pip install x"), " cell 8: installs packages outside"),
    "writefile": (program("%%writefile x.py\n1"), " cell 8: writes a file"),
    "wget": (program("!wget x"), " cell 8: fetches from the network"),
    "sys.path": (program("sys.path.append('.')"), " cell 8: changes sys.path"),
    "plt.show": (program("plt.show()"), " cell 8: draws with pyplot"),
    "Image": (program("Image('x.png')"), " cell 8: shows an Image"),
    "gl.show": (program("gl.show(fig)"), " cell 8: gl.show lacks alt="),
    "sentence": (
        program("gl.plot.curves('The loss falls to its lowest at 3.', {})"),
        " cell 8: tells in code what will be seen",
    ),
    "no words": (prose("![](beside.md)"), " cell 8: the picture beside.md has no alternative text"),
    "no words in HTML": (prose("<img src='beside.md'>"), " cell 8: the picture <img> has no"),
    "dead link": (prose("[x](gone.ipynb)"), " cell 8: links to gone.ipynb, which does not exist"),
    "dead image": (prose("![A line.](gone.png)"), " cell 8: links to gone.png, which does not"),
    "dead HTML link": (prose("<a href='gone.md'>x</a>"), " cell 8: links to gone.md, which"),
    "dead anchor": (prose("[x](#the-answer)"), " cell 8: links to #the-answer, which is no"),
    "dead anchor there": (prose("[x](other.ipynb#Gone)"), " cell 8: links to #Gone, which is no"),
    "unchecked": (replaced(14, CHECK, "1"), f" cell 13: must be followed by a cell with {CHECK}"),
    "untagged": (
        cell(14, metadata={"tags": ["check"]}),
        " cell 14: must be tagged check and raises-exception",
    ),
    "unknown stub": (
        inserted(15, new_markdown_cell("Prose."), *exercise("def f():\n    ...", "f()")),
        " cell 16: is tagged exercise, but holds no stub of this notebook's exercises",
    ),
    "lone check": (program(CHECK), " cell 8: checks an exercise, and no exercise stands before it"),
    "twice": (
        inserted(15, new_markdown_cell("Prose."), *exercise()),
        f": sets the exercise {EXERCISE} 2 times: once is right",
    ),
    "not set": (removed(13, 14), f": sets the exercise {EXERCISE} 0 times: once is right"),
    "no exercise heading": (
        replaced(12, "### ", "**"),
        f": lacks the heading '### Exercise: {EXERCISE}'",
    ),
}


def timed(notebook: NotebookNode) -> None:
    """The notebook says its minutes as it is now: the rates by which they are counted move."""
    counted, stops = best(parts(notebook))
    replaced(2, "about 5 minutes", f"about {rounded(*counted)} minutes")(notebook)
    assert not stops


@pytest.mark.parametrize("name", PLANTS)
def test_a_planted_fault_of_style_is_found(name, folder) -> None:
    plant, *expected = PLANTS[name]
    notebook = healthy()
    plant(notebook)
    if name != "minutes":
        timed(notebook)
    lines = found(notebook, folder)
    assert len(lines) == len(expected), lines
    for line, head in zip(lines, expected, strict=True):
        assert line.startswith(f"{NAME}.ipynb{head}")


def test_good_links_are_left_alone(folder) -> None:
    notebook = healthy()
    prose(
        "[a](https://example.org/x#y) [b](other.ipynb#The-answer) [c](mailto:x@example.org) "
        "[d](#1-%C2%B7-One-section) `[e](gone.md)` ![A line.](beside.md)"
    )(notebook)
    assert found(notebook, folder) == []


def test_a_name_defined_in_two_notebooks_is_found() -> None:
    one, other = healthy(), healthy()
    program("class Machine:\n    pass")(other)
    assert repeated_definitions({"01_a": one}) == []
    (line,) = repeated_definitions({"01_a": one, "02_b": other})
    assert re.match("01_a, 02_b: both define double", line)  # and not the stub, and no Machine


def test_a_readme_that_lacks_or_invents_a_notebook_is_found() -> None:
    row = f"| [01](notebooks/{NAME}.ipynb) | {BADGE} |"
    notebooks = {NAME: healthy()}
    assert readme_findings(row, notebooks, ADDRESS) == []
    assert readme_findings("", notebooks, ADDRESS) == [
        f"README.md lacks the Colab badge of {NAME}: {BADGE}",
        f"README.md does not link to notebooks/{NAME}.ipynb",
    ]
    assert readme_findings(f"{row} (notebooks/99_gone.ipynb)", notebooks, ADDRESS) == [
        "README.md lists notebooks/99_gone.ipynb, which does not exist"
    ]
