"""Source of a function: its syntax tree, the names it can see, a number for each line."""

from __future__ import annotations

import ast
import builtins
import inspect
import itertools
import linecache
import textwrap
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any
from weakref import WeakValueDictionary

from gpulearn.simt.core.findings import Finding, Stop
from gpulearn.simt.core.match import without_match
from gpulearn.simt.core.registry import is_namespace

__all__ = ["LINE_BITS", "MISSING", "KernelSource", "read", "unit"]

MISSING = object()

# A running kernel says where it is by one number: which function, and which line of its
# file. Cells of a notebook all begin at line 1, so that a line alone would be ambiguous.
LINE_BITS = 24
_UNITS: WeakValueDictionary[int, KernelSource] = WeakValueDictionary()
_serial = itertools.count(1)


def unit(place: int) -> tuple[KernelSource, int]:
    """The function and the line for which a place stands."""
    return _UNITS[place >> LINE_BITS], place & ((1 << LINE_BITS) - 1)


@dataclass
class KernelSource:
    """A function's text, its tree with the line numbers of the file, and its names."""

    function: Callable[..., Any]
    tree: ast.FunctionDef
    first_line: int
    text: str
    scope: dict[str, Any] = field(default_factory=dict)
    unit: int = 0

    def __post_init__(self) -> None:
        self.unit = next(_serial)
        _UNITS[self.unit] = self

    @property
    def file(self) -> str:
        """The file, or the notebook cell, that the function stands in."""
        return self.function.__code__.co_filename

    @property
    def name(self) -> str:
        """The function's own name."""
        return self.tree.name

    @property
    def parameters(self) -> list[str]:
        """The names of the parameters, in the order of the function's signature."""
        given = self.tree.args
        star = [given.vararg] if given.vararg else []
        return [a.arg for a in [*given.posonlyargs, *given.args, *star, *given.kwonlyargs]]

    @cached_property
    def locals(self) -> set[str]:
        """The names that the function binds: its parameters and all it assigns to."""
        names = set(self.parameters)
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store | ast.Del):
                names.add(node.id)
            elif isinstance(node, ast.arg):
                names.add(node.arg)
            elif isinstance(node, ast.FunctionDef) and node is not self.tree:
                names.add(node.name)
        return names

    def lookup(self, name: str) -> Any:
        """What a name that is not local stands for: closure, global, builtin or `MISSING`."""
        if name in self.scope:
            return self.scope[name]
        module = self.function.__globals__
        if name in module:
            return module[name]
        return getattr(builtins, name, MISSING)

    def named(self, node: ast.expr) -> Any:
        """What a name or dotted name stands for before the kernel runs; `MISSING` if nothing."""
        if isinstance(node, ast.Name) and node.id not in self.locals:
            return self.lookup(node.id)
        if isinstance(node, ast.Attribute) and is_namespace(base := self.named(node.value)):
            return getattr(base, node.attr, MISSING)
        return MISSING


def _closure(function: Callable[..., Any]) -> dict[str, Any]:
    cells = getattr(function, "__closure__", None) or ()
    names = function.__code__.co_freevars
    found = {}
    for name, cell in zip(names, cells, strict=True):
        try:
            found[name] = cell.cell_contents
        except ValueError:  # not assigned yet
            continue
    return found


def _refuse(function: Callable[..., Any], why: str) -> Stop:
    name = getattr(function, "__name__", repr(function))
    return Stop(Finding("not-a-kernel", None, f"{name} {why}"))


def _find(tree: ast.AST, name: str, line: int) -> ast.FunctionDef | None:
    """The definition of `name` whose first line (decorators included) is `line`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name == name:
            lines = [node.lineno, *(d.lineno for d in node.decorator_list)]
            if line in lines or line == 0:
                return node
    return None


def _lambda(tree: ast.AST) -> ast.FunctionDef | None:
    """The only lambda of a statement, as a definition."""
    found = [node for node in ast.walk(tree) if isinstance(node, ast.Lambda)]
    if len(found) != 1:
        return None
    node = found[0]
    made = ast.FunctionDef("a_lambda", node.args, [ast.Return(node.body)], [])
    return ast.fix_missing_locations(ast.copy_location(made, node))


def read(function: Callable[..., Any]) -> KernelSource:
    """Finds the source of a function and parses it.

    Raises:
        Stop: with a `not-a-kernel` finding when there is no such source.
    """
    if not inspect.isfunction(function):
        raise _refuse(function, "is not a Python function")
    linecache.checkcache(function.__code__.co_filename)
    try:
        lines, first = inspect.getsourcelines(function)
    except (OSError, TypeError, IndexError):
        raise _refuse(
            function, "has no source text: define it in a file or in a notebook cell"
        ) from None
    first = max(first, 1)
    text = textwrap.dedent("".join(lines))
    try:
        parsed = ast.parse(text)
        tree = (
            _lambda(parsed)
            if function.__name__ == "<lambda>"
            else _find(parsed, function.__name__, 0)
        )
    except SyntaxError:
        raise _refuse(function, "has source text that cannot be read on its own") from None
    if tree is None:
        raise _refuse(function, "is not defined by a def statement")
    ast.increment_lineno(tree, first - 1)
    return KernelSource(function, without_match(tree), first, text, _closure(function))
