"""A notebook as the style rules read it: its cells, headings and code."""

import ast
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

import nbformat.v4
from nbformat import NotebookNode

from tests.notebooks.markup import headings

Finding = tuple[int | None, str]  # number of the cell, from 0, or None for the whole; and what


@dataclass(frozen=True)
class Page:
    """A notebook with all that its rules need to know."""

    notebook: NotebookNode
    name: str  # the file's, without .ipynb
    folder: Path
    exercises: Collection[str] = ()  # registered for this notebook
    address: str = ""  # the repository's

    def cells(self, kind: str) -> list[tuple[int, NotebookNode]]:
        """Its cells of a kind with their numbers, from 0."""
        numbered = enumerate(self.notebook.cells)
        return [(index, cell) for index, cell in numbered if cell.cell_type == kind]

    def headings(self) -> list[tuple[int, int, str]]:
        """Number of the cell, level and text of each heading."""
        texts = self.cells("markdown")
        return [(index, *found) for index, cell in texts for found in headings(cell.source)]


def read(path: Path) -> NotebookNode:
    """A notebook exactly as stored: `nbformat.read` would mend missing and double ids."""
    return nbformat.v4.reads(path.read_text(encoding="utf-8"))


def tree(source: str) -> ast.Module:
    """The syntax tree of a cell; its magics stand in it as `pass`."""
    return ast.parse(re.sub(r"^(\s*)[!%].*$", r"\1pass", source, flags=re.MULTILINE))


def calls(source: str, name: str) -> Iterator[ast.Call]:
    """The calls of a function, such as "gl.show", in a cell."""
    for node in ast.walk(tree(source)):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == name:
            yield node


def definitions(source: str) -> list[str]:
    """The functions and classes that a cell defines for the cells after it."""
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    return [node.name for node in tree(source).body if isinstance(node, kinds)]
