"""The cells of a notebook that ask for something: exercises, their checks, and predictions.

A cell is a mapping, as JSON and as nbformat have it, with its source in one text.
"""

import ast
import copy
import re
from collections.abc import Callable, Collection, Mapping
from typing import Any, TypeVar

PREDICTED = re.compile(r"""gl\.predict\(\s*["'](\w+)["']""")
CHECK = re.compile(r"""gl\.check\(\s*["'](?:[^"']+\.py:)?(\w+)["']""")

Cell = Mapping[str, Any]
Notebook = TypeVar("Notebook", bound=Mapping[str, Any])


def has(cell: Cell, tag: str) -> bool:
    """Whether a cell carries a tag."""
    return tag in cell["metadata"].get("tags", ())


def heading(notebook: Mapping[str, Any]) -> str:
    """A notebook's number and subject, as its first line has them."""
    first: str = notebook["cells"][0]["source"]
    return first.partition("\n")[0].lstrip("# ")


def stub_name(cell: Cell, known: Collection[str]) -> str | None:
    """The exercise whose stub a cell holds: the first known function or text that it defines."""
    try:
        body = ast.parse(cell["source"]).body
    except SyntaxError:
        return None
    names = [node.name for node in body if isinstance(node, ast.FunctionDef)]
    for node in body:  # a kernel in CUDA C++ is a text
        match node:
            case ast.Assign(targets=[ast.Name(name)], value=ast.Constant(value=str())):
                names.append(name)
    return next((name for name in names if name in known), None)


def checked(cell: Cell) -> str | None:
    """The exercise that a cell checks, by its name alone."""
    call = CHECK.search(cell["source"])
    return call[1] if call else None


def in_solution_form(
    notebook: Notebook, known: Collection[str], solve: Callable[[str], str]
) -> Notebook:
    """A copy of a notebook in which the known exercises have the source that `solve` gives."""
    solved = copy.deepcopy(notebook)
    for cell in solved["cells"]:
        if has(cell, "exercise") and (name := stub_name(cell, known)):
            cell["source"] = solve(name)
    return solved
