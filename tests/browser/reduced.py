"""A notebook with the cells that a test looks at, and those that they build on.

Whole notebooks are run in both forms by tests/notebooks; a browser need not do it again.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Sequence

from nbformat import NotebookNode

__all__ = ["reduced"]


def reduced(notebook: NotebookNode, begins: Sequence[str]) -> NotebookNode:
    """A copy with the code cells that begin with one of the texts, and all that they need.

    A text is compared without line ends. Headings and prose stay.

    Raises:
        ValueError: a text is the beginning of no cell, or of several.
    """
    cells = notebook.cells
    kept: set[int] = set()
    for text in begins:
        found = [
            n for n, cell in enumerate(cells) if _is_code(cell) and _flat(cell).startswith(text)
        ]
        if len(found) != 1:
            raise ValueError(f"{text!r} is the beginning of {len(found)} cells, not of one")
        kept.add(found[0])
    needed: set[str] = set()
    for number in reversed(range(len(cells))):
        if not _is_code(cells[number]):
            kept.add(number)
            continue
        made, used = _names(cells[number].source)
        if number in kept or made & needed:
            kept.add(number)
            needed |= used
    smaller = copy.deepcopy(notebook)
    smaller.cells = [cell for number, cell in enumerate(smaller.cells) if number in kept]
    return smaller


def _is_code(cell: NotebookNode) -> bool:
    return bool(cell.cell_type == "code")


def _flat(cell: NotebookNode) -> str:
    return cell.source.replace("\n", "")


def _names(source: str) -> tuple[set[str], set[str]]:
    """The names that a cell binds or changes, and those that it uses."""
    made: set[str] = set()
    used: set[str] = set()
    try:
        nodes = list(ast.walk(ast.parse(source)))
    except SyntaxError:  # the set-up cell, which does something in Colab alone
        return made, used
    for node in nodes:
        match node:
            case ast.Name(id=name, ctx=ast.Load()):
                used.add(name)
            case ast.Name(id=name):
                made.add(name)
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                made.add(name)
            case ast.alias(name=name, asname=asname):
                made.add(asname or name.partition(".")[0])
        match node:  # what is called on an object, or stored in it, may change it
            case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=name)))):
                made.add(name)
            case ast.Subscript(value=ast.Name(id=name), ctx=ast.Store()):
                made.add(name)
            case ast.Attribute(value=ast.Name(id=name), ctx=ast.Store()):
                made.add(name)
    return made, used
