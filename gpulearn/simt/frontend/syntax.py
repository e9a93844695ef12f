"""What the syntax of a kernel says by itself, whatever its names stand for."""

from __future__ import annotations

import ast
from collections.abc import Iterable

__all__ = ["bound", "hopeless", "is_simple", "leaves"]

_PLAIN = (
    ast.Name, ast.Constant, ast.Compare, ast.BoolOp, ast.BinOp, ast.UnaryOp,
    ast.expr_context, ast.cmpop, ast.boolop, ast.operator, ast.unaryop,
)  # fmt: skip


def bound(statements: Iterable[ast.stmt]) -> set[str]:
    """The names that statements assign to, not counting those of inner functions."""
    found: set[str] = set()
    waiting: list[ast.AST] = list(statements)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.FunctionDef):
            found.add(node.name)
            continue
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            found.add(node.id)
        waiting.extend(ast.iter_child_nodes(node))
    return found


def leaves(statement: ast.stmt, *, inside_loop: bool = False) -> bool:
    """Whether threads can leave the enclosing suite in this statement."""
    if isinstance(statement, ast.Return | ast.Raise | ast.Assert):
        return True
    if isinstance(statement, ast.Break | ast.Continue):
        return not inside_loop
    if isinstance(statement, ast.If):
        suites = [statement.body, statement.orelse]
        return any(leaves(s, inside_loop=inside_loop) for suite in suites for s in suite)
    if isinstance(statement, ast.For | ast.While):
        if any(leaves(s, inside_loop=True) for s in statement.body):
            return True
        return any(leaves(s, inside_loop=inside_loop) for s in statement.orelse)
    return False


def hopeless(loop: ast.While, assigned: set[str]) -> bool:
    """Whether a thread that has begun a loop can never leave it."""
    inside = [n for s in loop.body for n in ast.walk(s)]
    return (
        is_simple(loop.test)
        and not assigned & {n.id for n in ast.walk(loop.test) if isinstance(n, ast.Name)}
        and not any(isinstance(n, ast.Break | ast.Return | ast.Raise) for n in inside)
    )


def is_simple(node: ast.expr) -> bool:
    """Whether it is made of variables, numbers and operators only."""
    return all(isinstance(n, _PLAIN) for n in ast.walk(node))
