"""What of a submission an answer needs: a slice of the program, in the sense of M. Weiser (1984).

A notebook does much beside its answers, which need not run to grade them: it draws, trains and
waits. The slice of a name holds the statements that give it its value, and those that the names
in them need, in their order.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from gpulearn_grading.submissions import Statement

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
IMPORTS = (ast.Import, ast.ImportFrom)


def slice_of(statements: Sequence[Statement], name: str) -> list[Statement]:
    """The statements that a name needs, in their order; none if nothing defines it.

    >>> code = "import math; a = 2; b = 3" + chr(10) + "def f(x): return a * math.sqrt(x)"
    >>> parts = [Statement(one, ast.unparse(one), code) for one in ast.parse(code).body]
    >>> [one.text for one in slice_of(parts, "f")][:2]
    ['import math', 'a = 2']
    """
    kept: set[int] = set()
    wanted, done = [name], set[str]()
    while wanted:
        one = wanted.pop()
        if one in done:
            continue
        done.add(one)
        for number in _making(statements, one):
            if number not in kept:
                kept.add(number)
                wanted += free_names(statements[number].node)
    if not kept:
        return []
    stars = {n for n, one in enumerate(statements) if _is_star(one.node)}
    future = [one for one in statements if _is_future(one.node)]  # they must come first
    rest = [statements[n] for n in sorted(kept | stars)]
    return [*future, *(one for one in rest if not _is_future(one.node))]


def _making(statements: Sequence[Statement], name: str) -> list[int]:
    """Which statements bind a name or change what it stands for, from its last `def` on."""
    found = [n for n, one in enumerate(statements) if name in binds(one.node)]
    whole = [n for n in found if isinstance(statements[n].node, FUNCTIONS)]
    if whole:
        found = [n for n in found if n >= whole[-1]]
    first = min(found, default=0)
    changed = [n for n, one in enumerate(statements) if n > first and name in _changes(one.node)]
    return sorted({*found, *changed}) if found else []


def binds(node: ast.stmt) -> set[str]:
    """The names that a top-level statement binds."""
    if isinstance(node, FUNCTIONS):
        return {node.name}
    if isinstance(node, IMPORTS):
        return {(one.asname or one.name).partition(".")[0] for one in node.names}
    found: set[str] = set()
    for inner in _outside_functions(node):
        if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store):
            found.add(inner.id)
        elif isinstance(inner, FUNCTIONS):
            found.add(inner.name)
        elif isinstance(inner, IMPORTS):
            found |= {(one.asname or one.name).partition(".")[0] for one in inner.names}
    return found


def _changes(node: ast.stmt) -> set[str]:
    """The names whose elements or attributes a statement sets, or whose method it calls alone."""
    targets: list[ast.expr] = []
    if isinstance(node, ast.Assign):
        targets = [one for one in node.targets if isinstance(one, ast.Subscript | ast.Attribute)]
    elif isinstance(node, ast.AugAssign):
        targets = [node.target]
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        targets = [node.value.func] if isinstance(node.value.func, ast.Attribute) else []
    bases = set()
    for one in targets:
        base: ast.expr = one
        while isinstance(base, ast.Subscript | ast.Attribute):
            base = base.value
        if isinstance(base, ast.Name):
            bases.add(base.id)
    return bases - {"gl", "plt"}  # a figure or a check changes no answer


def free_names(node: ast.AST) -> list[str]:
    """All names that a statement reads, in functions that it defines too."""
    return [one.id for one in ast.walk(node) if isinstance(one, ast.Name)]


def _outside_functions(node: ast.AST) -> Iterator[ast.AST]:
    yield node
    for inner in ast.iter_child_nodes(node):
        if isinstance(inner, FUNCTIONS):
            yield inner
        elif not isinstance(inner, ast.Lambda):
            yield from _outside_functions(inner)


def _is_star(node: ast.stmt) -> bool:
    return isinstance(node, ast.ImportFrom) and node.names[0].name == "*"


def _is_future(node: ast.stmt) -> bool:
    return isinstance(node, ast.ImportFrom) and node.module == "__future__"
