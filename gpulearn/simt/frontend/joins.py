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

from gpulearn.simt.core.source import KernelSource
from gpulearn.simt.core.values import merge_type

__all__ = ["CHOSEN", "RETURNED", "Types", "types_of_reads"]

Kind = Any  # the dtype of a number, or a tuple of kinds
Types = dict[tuple[str, int], Kind]  # of assignments, by name and line; line 0: argument
Environment = dict[str, Kind | None]
Reads = dict[ast.Name, Kind]

# among `Types`: what conditional expressions on a line give; what the function returns
CHOSEN = "?"
RETURNED = "return"


def types_of_reads(source: KernelSource, types: Types) -> Reads:
    """For each place where a variable of several types is read, its type there."""
    kinds: dict[str, set[Kind]] = {}
    for (name, _), dtype in types.items():
        kinds.setdefault(name, set()).add(dtype)
    mixed = {name for name, several in kinds.items() if len(several) > 1}
    if not mixed:
        return {}
    follower = _Follower(types, mixed)
    start: Environment = {p: types.get((p, 0)) for p in source.parameters}
    follower.suite(source.tree.body, start)
    return {node: dtype for node, dtype in follower.reads.items() if dtype is not None}


def _common(a: Kind | None, b: Kind | None) -> Kind | None:
    """The kind that two paths share; None if it is not known."""
    if a is None or b is None:
        return None
    if isinstance(a, tuple) and isinstance(b, tuple) and len(a) == len(b):
        parts = tuple(_common(x, y) for x, y in zip(a, b, strict=True))
        return None if any(p is None for p in parts) else parts
    if isinstance(a, tuple) or isinstance(b, tuple):
        return None
    return merge_type(a, b)


def _meet(paths: Iterable[Environment | None]) -> Environment | None:
    """The types after paths have met; a name that one path has not set keeps the others'."""
    alive = [p for p in paths if p is not None]
    if not alive:
        return None
    result: Environment = {}
    for path in alive:
        for name, kind in path.items():
            known = result.get(name, kind)
            result[name] = _common(known, kind)
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
        self.reads: dict[ast.Name, Kind | None] = {}
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
