"""Reads of a variable that some path reaches without an assignment.

In

    if a[i] > 0:
        r = a[i]
    out[i] = r

a thread with `a[i] <= 0` reads an `r` that it never set. Python would raise an error; Numba
compiles the kernel, and the variable is 0. The machine watches those reads, and only those.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from gpulearn.simt.core.source import KernelSource

__all__ = ["doubtful_reads"]

Known = frozenset[str]  # the variables that every path so far has set


def doubtful_reads(source: KernelSource) -> set[ast.Name]:
    """The places where a local variable is read that some path there has not set."""
    follower = _Follower(source)
    follower.suite(source.tree.body, frozenset(source.parameters))
    return follower.doubtful


def _meet(paths: Iterable[Known | None]) -> Known | None:
    """What all the paths that arrive have set; None if none arrives."""
    alive = [path for path in paths if path is not None]
    return frozenset.intersection(*alive) if alive else None


def _own(node: ast.AST) -> Iterator[ast.AST]:
    """A node and what is in it, but not the bodies of functions, which run later."""
    yield node
    if isinstance(node, ast.FunctionDef | ast.Lambda):
        return
    for child in ast.iter_child_nodes(node):
        yield from _own(child)


@dataclass
class _Loop:
    breaks: list[Known | None] = field(default_factory=list)


class _Follower:
    """Follows all paths through a function; `None` stands for no path."""

    def __init__(self, source: KernelSource) -> None:
        self.locals = source.locals
        self.doubtful: set[ast.Name] = set()
        self.loops: list[_Loop] = []

    def suite(self, statements: list[ast.stmt], now: Known | None) -> Known | None:
        for statement in statements:
            if now is None:
                return None
            now = self.statement(statement, now)
        return now

    def statement(self, node: ast.stmt, now: Known) -> Known | None:
        if isinstance(node, ast.If):
            now = self.read(node.test, now)
            return _meet([self.suite(node.body, now), self.suite(node.orelse, now)])
        if isinstance(node, ast.For | ast.While):
            return self.loop(node, now)
        if isinstance(node, ast.FunctionDef):
            return now | {node.name}
        after = self.read(node, now)
        if isinstance(node, ast.Return | ast.Raise):
            return None
        if isinstance(node, ast.Break):
            self.loops[-1].breaks.append(now)
            return None
        if isinstance(node, ast.Continue):
            return None
        if isinstance(node, ast.Delete):
            return after - {t.id for t in node.targets if isinstance(t, ast.Name)}
        return after

    def read(self, node: ast.AST, now: Known) -> Known:
        """Notes the reads of an expression or a simple statement; what is set after it."""
        target = node.target if isinstance(node, ast.AugAssign) else None
        set_here = set()
        for name in _own(node):
            if not isinstance(name, ast.Name) or name.id not in self.locals:
                continue
            if isinstance(name.ctx, ast.Store):
                set_here.add(name.id)
            if (isinstance(name.ctx, ast.Load) or name is target) and name.id not in now:
                self.doubtful.add(name)
        return now | set_here

    def loop(self, node: ast.For | ast.While, now: Known) -> Known | None:
        # What is set on the first way in is set on all that follow: `continue` and the end
        # of the body only add to it, so one pass over the body is enough.
        endless = False
        if isinstance(node, ast.For):
            before = inside = self.read(node.iter, now)
            inside |= {n.id for n in ast.walk(node.target) if isinstance(n, ast.Name)}
        else:
            before = inside = self.read(node.test, now)
            endless = isinstance(node.test, ast.Constant) and bool(node.test.value)
        self.loops.append(_Loop())
        self.suite(node.body, inside)
        loop = self.loops.pop()
        normal = None if endless else self.suite(node.orelse, before)
        return _meet([normal, *loop.breaks])
