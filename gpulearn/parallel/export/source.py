"""The source of what a notebook defines, and which of the notebook's names it uses."""

from __future__ import annotations

import ast
import inspect
import linecache
import symtable
import sys
import textwrap
from collections.abc import Iterator
from types import CodeType, FunctionType
from typing import Any

Def = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def source_of(thing: Any) -> str | None:
    """The lines that define a function or a class, with its decorators; None if they are gone.

    A notebook's kernel keeps each cell it has run where tracebacks look for lines (`linecache`).
    A class does not say where its lines are, but the functions in it do.
    """
    if isinstance(thing, type):
        return _class_source(thing)
    code = unwrapped(thing).__code__
    lines = linecache.getlines(code.co_filename)
    for node in _definitions(lines):
        if node.name == code.co_name and _first_line(node) == code.co_firstlineno:
            return _text(lines, node)
    return None


def unwrapped(function: Any) -> FunctionType:
    """The function that was written, under the decorators that say what they wrap."""
    inner: FunctionType = inspect.unwrap(function)
    return inner


def global_names(source: str, *, annotations: bool = True) -> list[str]:
    r"""The names that a definition takes from around it, in order of appearance.

    >>> global_names("def area(r, unit=METRE):\n    return pi * r * r * unit")
    ['METRE', 'pi']
    """
    used: set[str] = set()
    first = "" if annotations else "from __future__ import annotations\n"  # they stay text
    tables = [symtable.symtable(first + source, "<definition>", "exec")]
    top = tables[0]
    while tables:
        table = tables.pop()
        tables += table.get_children()
        for symbol in table.get_symbols():
            outside = not symbol.is_assigned() if table is top else symbol.is_global()
            if symbol.is_referenced() and outside:
                used.add(symbol.get_name())
    tree = ast.parse(source)
    used -= {node.name for node in tree.body if isinstance(node, Def)}
    nodes = [node for node in ast.walk(tree) if isinstance(node, ast.Name) and node.id in used]
    nodes.sort(key=lambda node: (node.lineno, node.col_offset))
    return list(dict.fromkeys(node.id for node in nodes))


def returns_something(source: str) -> bool:
    r"""Whether a function has a `return` with a value, or yields.

    >>> returns_something("def f():\n    def g():\n        return 1\n    g()")
    False
    """
    (function,) = ast.parse(source).body
    waiting: list[ast.AST] = list(ast.iter_child_nodes(function))
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Return) and node.value is not None:
            return True
        if not isinstance(node, Def | ast.Lambda):
            waiting += ast.iter_child_nodes(node)
    return False


def _class_source(kind: type) -> str | None:
    for code in _codes(kind):
        lines = linecache.getlines(code.co_filename)
        for node in _definitions(lines):
            inside = _first_line(node) <= code.co_firstlineno <= (node.end_lineno or 0)
            if isinstance(node, ast.ClassDef) and node.name == kind.__name__ and inside:
                return _text(lines, node)
    # without functions of its own: the script, or the last cell, that defines one of this name
    # and content
    line = getattr(kind, "__firstlineno__", None)  # from Python 3.13
    script: str = getattr(sys.modules.get(kind.__module__), "__file__", None) or ""
    cells = [name for name in linecache.cache if not name.endswith(".py") or "ipykernel" in name]
    for name in [script, *reversed(cells)]:
        lines = linecache.getlines(name)
        for node in reversed(list(_definitions(lines))):
            called = isinstance(node, ast.ClassDef) and node.name == kind.__name__
            if called and line in (None, _first_line(node)) and _fits(node, kind):
                return _text(lines, node)
    return None


def _codes(kind: type) -> Iterator[CodeType]:
    """The code of the functions that a class's body defines."""
    for value in vars(kind).values():
        function = getattr(value, "fget", None) or getattr(value, "__func__", value)
        code = getattr(inspect.unwrap(function), "__code__", None) if callable(function) else None
        if code is not None and code.co_qualname.startswith(f"{kind.__qualname__}."):
            yield code


def _fits(node: Def, kind: type) -> bool:
    """Whether a class has all that a class's body assigns and annotates."""
    has = {*vars(kind), *inspect.get_annotations(kind), *getattr(kind, "_fields", ())}
    for line in node.body:
        targets = line.targets if isinstance(line, ast.Assign) else [getattr(line, "target", None)]
        if not all(target.id in has for target in targets if isinstance(target, ast.Name)):
            return False
    return True


def parsed(lines: list[str]) -> ast.AST:
    """The syntax tree of a file or a cell; an empty one of what is not Python."""
    try:
        flags = ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT  # as a cell may
        tree: ast.AST = compile("".join(lines), "<cell>", "exec", flags=flags, dont_inherit=True)
    except (SyntaxError, ValueError):
        return ast.Module([], [])
    return tree


def _definitions(lines: list[str]) -> Iterator[Def]:
    """All functions and classes in a file or a cell."""
    return (node for node in ast.walk(parsed(lines)) if isinstance(node, Def))


def _first_line(node: Def) -> int:
    return min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])


def _text(lines: list[str], node: Def) -> str:
    return textwrap.dedent("".join(lines[_first_line(node) - 1 : node.end_lineno])).rstrip()
