"""A notebook with the cells that a test looks at, and those that they build on.

Whole notebooks are run in both forms by tests/notebooks; a browser need not do it again.
"""

import ast
import copy
from collections.abc import Sequence

from nbformat import NotebookNode


def reduced(notebook: NotebookNode, begins: Sequence[str]) -> NotebookNode:
    """A copy with the code cells that begin with one of the texts, and all that they need.

    A text is compared without line ends. Headings and prose, whose formulas a page takes long to
    set, are left out: no test looks at them.
    """
    cells = notebook.cells
    code = {number: cell.source for number, cell in enumerate(cells) if cell.cell_type == "code"}
    kept: set[int] = set()
    for text in begins:
        found = [n for n, source in code.items() if source.replace("\n", "").startswith(text)]
        if len(found) != 1:
            raise ValueError(f"{text!r} is the beginning of {len(found)} cells, not of one")
        kept.add(found[0])
    modules = {name for source in code.values() for name in _imported(source)}
    needed: set[str] = set()
    for number in reversed(code):
        made, changed, used = _names(code[number])
        made |= changed - modules  # what is called on a module changes nothing
        if number in kept or made & needed:
            kept.add(number)
            needed |= used
    smaller = copy.deepcopy(notebook)
    smaller.cells = [cell for number, cell in enumerate(smaller.cells) if number in kept]
    return smaller


def _nodes(source: str) -> list[ast.AST]:
    try:
        return list(ast.walk(ast.parse(source)))
    except SyntaxError:  # the set-up cell, which does something in Colab alone
        return []


def _imported(source: str) -> set[str]:
    """The names that a cell imports."""
    aliases = [node for node in _nodes(source) if isinstance(node, ast.alias)]
    return {one.asname or one.name.partition(".")[0] for one in aliases}


def _names(source: str) -> tuple[set[str], set[str], set[str]]:
    """The names that a cell binds, those whose objects it may change, and those that it uses."""
    made, changed, used = _imported(source), set(), set()
    for node in _nodes(source):
        match node:
            case ast.Name(id=name, ctx=ast.Load()):
                used.add(name)
            case ast.Name(id=name) | ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                made.add(name)
        match node:
            case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=name)))):
                changed.add(name)
            case ast.Subscript(value=ast.Name(id=name), ctx=ast.Store()):
                changed.add(name)
            case ast.Attribute(value=ast.Name(id=name), ctx=ast.Store()):
                changed.add(name)
    return made, changed, used
