"""Which array parameters a kernel only reads: nothing can race on those.

The answer errs on the safe side: a parameter that is used in any unusual way counts as
written.
"""

from __future__ import annotations

import ast

from gpulearn.simt.core.registry import DeviceFunction, Intrinsic, callee
from gpulearn.simt.core.source import KernelSource

__all__ = ["only_read"]

_FACTS = {"shape", "size", "ndim", "dtype", "strides", "itemsize", "nbytes"}


def only_read(source: KernelSource) -> set[str]:
    """The parameters whose every use is a fact such as `.shape`, or the read of a number."""
    parents = {
        child: node for node in ast.walk(source.tree) for child in ast.iter_child_nodes(node)
    }
    indexed = {
        node.value.id
        for node in ast.walk(source.tree)
        if isinstance(node, ast.Subscript | ast.Attribute) and isinstance(node.value, ast.Name)
    }
    parameters = set(source.parameters)
    written = {
        node.id
        for node in ast.walk(source.tree)
        if isinstance(node, ast.Name)
        and node.id in parameters
        and not _harmless(node, parents, indexed, source)
    }
    return parameters - written


def _harmless(
    node: ast.Name, parents: dict[ast.AST, ast.AST], indexed: set[str], source: KernelSource
) -> bool:
    parent = parents[node]
    if isinstance(parent, ast.Attribute):
        return parent.attr in _FACTS
    if isinstance(parent, ast.Call):
        return ast.unparse(parent.func) == "len"
    if not (isinstance(parent, ast.Subscript) and parent.value is node):
        # an operand is a number; anything else may give the array another name
        return isinstance(parent, ast.BinOp | ast.Compare | ast.UnaryOp | ast.Subscript)
    if not isinstance(parent.ctx, ast.Load) or not _numbers(parent.slice):
        return False
    return _is_value(parent, parents, indexed, source)


def _numbers(index: ast.expr) -> bool:
    parts = index.elts if isinstance(index, ast.Tuple) else [index]
    return not any(
        isinstance(p, ast.Slice) or (isinstance(p, ast.Constant) and type(p.value) is not int)
        for p in parts
    )


def _is_value(
    node: ast.AST, parents: dict[ast.AST, ast.AST], indexed: set[str], source: KernelSource
) -> bool:
    """Whether `a[i]` is used as a number, not as a row or record that may be written."""
    parent = parents[node]
    if isinstance(parent, ast.Subscript | ast.Attribute):
        return not (isinstance(parent, ast.Attribute) or parent.value is node)
    if isinstance(parent, ast.Call):
        function = parent.func
        if isinstance(function, ast.Name) and function.id not in source.locals:
            return not isinstance(callee(source.lookup(function.id)), DeviceFunction)
        return isinstance(function, ast.Attribute) and not isinstance(
            callee(_attribute(function, source)), DeviceFunction
        )
    if isinstance(parent, ast.Assign):
        targets = [n for t in parent.targets for n in ast.walk(t) if isinstance(n, ast.Name)]
        return not any(t.id in indexed for t in targets if isinstance(t.ctx, ast.Store))
    if isinstance(parent, ast.IfExp | ast.Tuple | ast.keyword | ast.Starred):
        return _is_value(parent, parents, indexed, source)
    return not isinstance(parent, ast.For | ast.Return | ast.NamedExpr)


def _attribute(node: ast.Attribute, source: KernelSource) -> object:
    base: object = None
    if isinstance(node.value, ast.Name) and node.value.id not in source.locals:
        base = source.lookup(node.value.id)
    elif isinstance(node.value, ast.Attribute):
        base = _attribute(node.value, source)
    if isinstance(base, Intrinsic):
        return base
    return getattr(base, node.attr, None)
