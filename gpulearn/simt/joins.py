"""The type that a variable has where it is read, whatever path led there.

Numba types every assignment by itself and unifies where paths meet: after

    r = 0.0
    for k in range(n):
        r = a[k]        # float32

`r` is float64. The machine computes only the path it takes, so it converts where a variable
of several types is read. What each assignment gives comes from Numba's typemap.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gpulearn.simt.source import KernelSource
from gpulearn.simt.values import merge_type

__all__ = ["Types", "types_of_reads"]

Types = dict[tuple[str, int], np.dtype[Any]]  # of assignments, by name and line; line 0: argument
Environment = dict[str, np.dtype[Any] | None]
Reads = dict[ast.Name, np.dtype[Any]]


def types_of_reads(source: KernelSource, types: Types) -> Reads:
    """For each place where a variable of several types is read, its type there."""
    kinds: dict[str, set[np.dtype[Any]]] = {}
    for (name, _), dtype in types.items():
        kinds.setdefault(name, set()).add(dtype)
    mixed = {name for name, several in kinds.items() if len(several) > 1}
    if not mixed:
        return {}
    follower = _Follower(types, mixed)
    start: Environment = {p: types.get((p, 0)) for p in source.parameters}
    follower.suite(source.tree.body, start)
    return {node: dtype for node, dtype in follower.reads.items() if dtype is not None}


def _meet(paths: Iterable[Environment | None]) -> Environment | None:
    """The types after paths have met; a name that one path has not set keeps the others'."""
    alive = [p for p in paths if p is not None]
    if not alive:
        return None
    result: Environment = {}
    for path in alive:
        for name, kind in path.items():
            known = result.get(name, kind)
            both = known is not None and kind is not None
            result[name] = merge_type(known, kind) if both else None
    return result


@dataclass
class _Loop:
    breaks: list[Environment | None] = field(default_factory=list)
    continues: list[Environment | None] = field(default_factory=list)


class _Follower:
    """Follows the types of variables along all paths; `None` stands for no path."""

    def __init__(self, types: Types, mixed: set[str]) -> None:
        self.types = types
        self.mixed = mixed
        self.reads: dict[ast.Name, np.dtype[Any] | None] = {}
        self.loops: list[_Loop] = []

    def suite(self, statements: list[ast.stmt], now: Environment | None) -> Environment | None:
        for statement in statements:
            if now is None:
                return None
            now = self.statement(statement, now)
        return now

    def statement(self, node: ast.stmt, now: Environment) -> Environment | None:
        if isinstance(node, ast.If):
            self.read(node.test, now)
            return _meet([self.suite(node.body, now), self.suite(node.orelse, now)])
        if isinstance(node, ast.For | ast.While):
            return self.loop(node, now)
        self.read(node, now)
        if isinstance(node, ast.Return | ast.Raise):
            return None
        if isinstance(node, ast.Break):
            self.loops[-1].breaks.append(now)
            return None
        if isinstance(node, ast.Continue):
            self.loops[-1].continues.append(now)
            return None
        return self.assigned(node, now)

    def read(self, node: ast.AST, now: Environment) -> None:
        """Notes the types of all variables that an expression or simple statement reads."""
        target = node.target if isinstance(node, ast.AugAssign) else None
        for name in ast.walk(node):
            if not isinstance(name, ast.Name) or name.id not in self.mixed:
                continue
            if isinstance(name.ctx, ast.Load) or name is target:
                self.reads[name] = now.get(name.id)

    def assigned(self, node: ast.AST, now: Environment) -> Environment:
        names = [
            n for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
        ]
        return {**now, **{n.id: self.types.get((n.id, n.lineno)) for n in names}}

    def loop(self, node: ast.For | ast.While, now: Environment) -> Environment | None:
        if isinstance(node, ast.For):
            self.read(node.iter, now)
        head: Environment | None = now
        while True:
            assert head is not None
            loop = _Loop()
            self.loops.append(loop)
            if isinstance(node, ast.While):
                self.read(node.test, head)
                inside = head
            else:
                inside = self.assigned(node.target, head)
            end = self.suite(node.body, inside)
            self.loops.pop()
            before, head = head, _meet([now, head, end, *loop.continues])
            if head == before:
                break
        return _meet([self.suite(node.orelse, head), *loop.breaks])
