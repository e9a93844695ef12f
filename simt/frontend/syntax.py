"""What the syntax of a kernel tells, whatever its names stand for."""

import ast
import operator
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

_SIMPLE_NODES = (
    ast.Name, ast.Constant, ast.Compare, ast.BoolOp, ast.BinOp, ast.UnaryOp,
    ast.expr_context, ast.cmpop, ast.boolop, ast.operator, ast.unaryop,
)  # fmt: skip


_COMPARISONS: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le,
    ast.Gt: operator.gt, ast.GtE: operator.ge,
}  # fmt: skip


def decided(node: ast.expr, static: Callable[[ast.expr], Any]) -> bool | None:
    """What Numba has Python decide of a condition on two constants, before it looks at types.

    np.float32(0.1) is not above 0.1 then. None for conditions on which types make no difference.
    `static` is what a name stands for.
    """
    if not isinstance(node, ast.Compare) or type(node.ops[0]) not in _COMPARISONS:
        return None
    operands = [node.left, *node.comparators]
    left, *rest = (n.value if isinstance(n, ast.Constant) else static(n) for n in operands)
    kinds = {type(left), *map(type, rest)}
    if len(rest) > 1 or np.float32 not in kinds or not kinds & {int, float}:
        return None
    return bool(_COMPARISONS[type(node.ops[0])](left, rest[0]))


def bound(statements: Iterable[ast.stmt]) -> set[str]:
    """The names that statements assign to, not counting those of inner functions."""
    names: set[str] = set()
    waiting: list[ast.AST] = list(statements)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.FunctionDef):
            names.add(node.name)
            continue
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            names.add(node.id)
        waiting.extend(ast.iter_child_nodes(node))
    return names


def ends(node: ast.expr) -> list[ast.expr]:
    """What the paths through a conditional expression, `and` or `or` may end in, the last first."""
    if isinstance(node, ast.IfExp):
        return [*ends(node.orelse), *ends(node.body)]
    if isinstance(node, ast.BoolOp):
        return [end for value in reversed(node.values) for end in ends(value)]
    return [node]


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


def is_endless(loop: ast.While, assigned: set[str]) -> bool:
    """Whether a thread that has begun a loop can never leave it."""
    inside = [n for s in loop.body for n in ast.walk(s)]
    return (
        is_simple(loop.test)
        and not assigned & {n.id for n in ast.walk(loop.test) if isinstance(n, ast.Name)}
        and not any(isinstance(n, ast.Break | ast.Return | ast.Raise) for n in inside)
    )


def is_simple(node: ast.expr) -> bool:
    """Whether it is made of variables, numbers and operators only."""
    return all(isinstance(n, _SIMPLE_NODES) for n in ast.walk(node))
