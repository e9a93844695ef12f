"""What Python's compiler makes of constants, and of lists, before Numba sees it.

It makes a tuple of a list that is written where it is only gone through or
searched: `for k in [1, 2]` and `x in [1, 2]`. Numba reads what that compiler made.
"""

import ast
import dis
import warnings
from typing import Any

_FOLDABLE = (ast.Constant, ast.UnaryOp, ast.BinOp, ast.operator, ast.unaryop)
_ONE_CONSTANT = {"RESUME", "NOP", "LOAD_CONST", "LOAD_SMALL_INT", "RETURN_CONST", "RETURN_VALUE"}


def folded(node: ast.expr) -> Any:
    """The constant that Python makes of an operation on constants, else None.

    >>> folded(ast.parse("10 ** -3", mode="eval").body)
    0.001
    """
    if not all(isinstance(inner, _FOLDABLE) for inner in ast.walk(node)):
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of ~True
        code = compile(ast.Expression(node), "", "eval")
        if any(op.opname not in _ONE_CONSTANT for op in dis.get_instructions(code)):
            return None
        return eval(code)


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
