"""Lists that are tuples by the time Numba sees them.

Python's compiler makes a tuple of a list that is written where it is only gone through or
searched: `for k in [1, 2]` and `x in [1, 2]`. Numba reads what that compiler made.
"""

from __future__ import annotations

import ast

__all__ = ["with_tuples"]


def with_tuples(tree: ast.FunctionDef) -> ast.FunctionDef:
    """The function with each such list as the tuple that it is compiled to."""
    for node in ast.walk(tree):
        if isinstance(node, ast.For):
            node.iter = _compiled(node.iter)
        elif isinstance(node, ast.Compare) and isinstance(node.ops[-1], ast.In | ast.NotIn):
            node.comparators[-1] = _compiled(node.comparators[-1])
    return tree


def _compiled(node: ast.expr) -> ast.expr:
    if isinstance(node, ast.List) and not any(isinstance(e, ast.Starred) for e in node.elts):
        return ast.copy_location(ast.Tuple(node.elts, ast.Load()), node)
    return node
