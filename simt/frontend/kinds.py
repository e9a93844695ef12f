"""Kinds: what Numba's types say of values, and which variables may be several things at once."""

import ast
from collections.abc import Callable
from typing import Any

import numpy as np

from simt.core.registry import DeviceFunction, callee
from simt.core.source import MISSING, KernelSource
from simt.core.values import Maybe
from simt.frontend.dataflow import RETURNED, Types


def kind_of(kind: Any) -> Any:
    """The dtype of a number, a tuple of kinds for a tuple of numbers, None for the rest.

    A `Maybe` stands for what may be None.
    """
    from numba import types

    if isinstance(kind, types.NoneType | types.Optional):
        return Maybe(kind_of(getattr(kind, "type", None)))
    if isinstance(kind, types.BaseTuple):
        kinds = tuple(kind_of(t) for t in kind.types)
        return None if any(k is None for k in kinds) else kinds
    return number_dtype(kind)


def number_dtype(kind: Any) -> np.dtype[Any] | None:
    """The dtype of a number, None for anything else."""
    from numba import types

    if isinstance(kind, types.Boolean | types.Integer | types.Float | types.Complex):
        return np.dtype(str(types.unliteral(kind)).replace("bool", "bool_"))
    return None


def several_names(
    source: KernelSource, types: Types, static: Callable[[ast.expr], Any]
) -> set[str]:
    """The variables of which it is not known that they are numbers, or one for all threads.

    `types` are those of assignments, `static` is what an expression stands for before a launch.
    """
    definitions = source.definitions
    names = {name for (name, _), kind in types.items() if isinstance(kind, Maybe)}
    names |= {name for name, value in definitions.items() if may_be_several(value, static)}
    if (RETURNED, 0) in types:  # a device function, to which such values may be handed over
        parameters = source.parameters
        names |= {p for p in parameters if not isinstance(types.get((p, 0)), np.dtype)}
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            lines = {node.lineno} | ({0} if node.id in source.parameters else set())
            kinds = [types.get((node.id, line)) for line in lines]
            if node.id not in definitions and not all(isinstance(k, np.dtype) for k in kinds):
                names.add(node.id)
    return names


def may_be_several(node: ast.expr, static: Callable[[ast.expr], Any]) -> bool:
    """Whether a value may be one thing for some threads and another for others."""
    if isinstance(node, ast.Call):
        function = static(node.func)
        is_local = function is MISSING and not isinstance(node.func, ast.Attribute)
        return is_local or isinstance(callee(function), DeviceFunction)
    return isinstance(node, ast.IfExp)
