"""Lint: lines of a kernel that are legal and do nothing, though something was meant.

`cuda.syncthreads` without its parentheses, `out[i] == 1` for `out[i] = 1`, and `out = a[i]`,
which gives the name `out` to a number and leaves the array as it was.
"""

import ast
from collections.abc import Iterable, Iterator

from simt.core.findings import Finding
from simt.core.registry import Intrinsic, callee
from simt.core.source import KernelSource


def idle_lines(source: KernelSource, arrays: Iterable[str]) -> Iterator[Finding]:
    """A finding for each such line; `arrays` are the parameters that hold arrays."""
    names = set(arrays)
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Expr):
            message = _unused_expression(node.value, source)
        elif isinstance(node, ast.Assign):
            message = _rebound_array(node, names, source.tree)
        else:
            continue
        if message is not None:
            yield Finding("no-effect", node.lineno, message)


def _unused_expression(value: ast.expr, source: KernelSource) -> str | None:
    """What is wrong with an expression that stands alone, if anything is."""
    if any(isinstance(n, ast.Call | ast.NamedExpr) for n in ast.walk(value)):
        return None
    text = ast.unparse(value)
    if isinstance(value, ast.Compare):
        return f"{text} compares and forgets the result: = assigns, == compares"
    if isinstance(value, ast.BinOp):
        return f"{text} is computed and forgotten: nothing is assigned"
    if isinstance(value, ast.Attribute | ast.Name):
        thing = callee(source.named(value))
        if isinstance(thing, Intrinsic) and not thing.attribute:
            return f"{text} without () does nothing: write {text}()"
    return None


def _rebound_array(node: ast.Assign, arrays: set[str], tree: ast.AST) -> str | None:
    """What is wrong with an assignment to an array's name, if anything is."""
    target = node.targets[0]
    if not isinstance(target, ast.Name) or target.id not in arrays:
        return None
    name = target.id
    end = node.end_lineno or node.lineno, node.end_col_offset or 0
    names = [n for n in ast.walk(tree) if isinstance(n, ast.Name) and n.id == name]
    if any(isinstance(n.ctx, ast.Load) and (n.lineno, n.col_offset) > end for n in names):
        return None  # read later
    return (
        f"this gives the name {name} to a new value and leaves the array {name} as it is: "
        f"{name}[...] = writes an element"
    )
