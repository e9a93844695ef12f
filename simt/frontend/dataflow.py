"""Dataflow: what is known about the variables of a kernel where each of them is read.

One walker follows all paths through a function. It answers two questions: which type a
variable has at a read, and whether some path reaches the read without an assignment. A third
answer needs no paths: which array parameters a kernel only reads.
"""

import ast
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from dis import Positions
from typing import Any, Generic, TypeVar

from simt.core.registry import DeviceFunction, callee
from simt.core.source import KernelSource
from simt.core.values import Maybe, merge_type

State = TypeVar("State")


@dataclass
class _Loop(Generic[State]):
    breaks: list[State | None] = field(default_factory=list)
    continues: list[State | None] = field(default_factory=list)


class _Walker(ABC, Generic[State]):
    """Follows all paths through a function; a state of `None` stands for no path."""

    def __init__(self) -> None:
        self.loops: list[_Loop[State]] = []

    @abstractmethod
    def meet(self, paths: list[State]) -> State:
        """What is known after paths have met."""

    @abstractmethod
    def after(self, node: ast.AST, now: State) -> State:
        """What is known after an expression or a simple statement."""

    @abstractmethod
    def bound(self, target: ast.expr, now: State) -> State:
        """What is known when a `for` loop has given its variable a value."""

    def suite(self, statements: list[ast.stmt], now: State | None) -> State | None:
        for statement in statements:
            if now is None:
                return None
            now = self.statement(statement, now)
        return now

    def statement(self, node: ast.stmt, now: State) -> State | None:
        if isinstance(node, ast.If):
            now = self.after(node.test, now)
            return self._meet_paths([self.suite(node.body, now), self.suite(node.orelse, now)])
        if isinstance(node, ast.For | ast.While):
            return self.loop(node, now)
        if isinstance(node, ast.Break):
            self.loops[-1].breaks.append(now)
            return None
        if isinstance(node, ast.Continue):
            self.loops[-1].continues.append(now)
            return None
        now = self.after(node, now)
        return None if isinstance(node, ast.Return | ast.Raise) else now

    def _meet_paths(self, paths: Iterable[State | None]) -> State | None:
        alive = [path for path in paths if path is not None]
        return self.meet(alive) if alive else None

    def loop(self, node: ast.For | ast.While, now: State) -> State | None:
        """Walks the body until the next iteration begins with what the last one began with."""
        if isinstance(node, ast.For):
            now = self.after(node.iter, now)
        head = now
        while True:
            loop: _Loop[State] = _Loop()
            self.loops.append(loop)
            if isinstance(node, ast.For):
                tested, inside = head, self.bound(node.target, head)
            else:
                tested = inside = self.after(node.test, head)
            end = self.suite(node.body, inside)
            self.loops.pop()
            before, merged = head, self._meet_paths([now, head, end, *loop.continues])
            assert merged is not None
            head = merged
            if head == before:
                break
        normal = None if self.endless(node) else self.suite(node.orelse, tested)
        return self._meet_paths([normal, *loop.breaks])

    def endless(self, node: ast.For | ast.While) -> bool:
        """Whether a loop is left by `break` alone, as `while True` is."""
        test = getattr(node, "test", None)
        return isinstance(test, ast.Constant) and bool(test.value)


# --- the type of a variable where it is read
#
# Numba types every assignment by itself and unifies where paths meet: after
#
#     r = 0.0
#     for k in range(n):
#         r = a[k]        # float32
#
# `r` is float64. The machine computes only the path it takes, so it converts where a variable
# of several types is read. What each assignment gives comes from Numba's typemap.

Kind = Any  # the dtype of a number, or a tuple of kinds
Types = dict[tuple[str, int], Kind]  # of assignments, by name and line; line 0: argument
Environment = dict[str, Kind | None]

# among `Types`: where `is` compares members of two enums; what the function returns
UNEQUAL = "is"
RETURNED = "return"


def branch_key(branch: ast.expr | Positions) -> tuple[str, int]:
    """The key, among `Types`, of what `a if c else b` gives, by where one of its branches stands.

    Of an expression, or of the instruction that computes it, which stand in the same place.
    """
    if isinstance(branch, ast.expr):
        end = branch.end_lineno, branch.col_offset, branch.end_col_offset
        branch = Positions(branch.lineno, *end)
    begin = branch.lineno or 0
    return f"?{branch.col_offset}-{branch.end_lineno}:{branch.end_col_offset}", begin


def types_of_reads(source: KernelSource, types: Types) -> dict[ast.Name, Kind]:
    """For each place where a variable of several types is read, its type there."""
    kinds: dict[str, set[Kind]] = {}
    for (name, _), dtype in types.items():
        kinds.setdefault(name, set()).add(dtype)
    mixed = {name for name, several in kinds.items() if len(several) > 1}
    if not mixed:
        return {}
    walker = _TypeWalker(types, mixed)
    walker.suite(source.tree.body, {p: types.get((p, 0)) for p in source.parameters})
    return {node: dtype for node, dtype in walker.reads.items() if dtype is not None}


def _common(a: Kind | None, b: Kind | None) -> Kind | None:
    """The kind that two paths share; None if it is not known."""
    if a is None or b is None:
        return None
    if isinstance(a, Maybe) or isinstance(b, Maybe):
        first, second = (kind.kind if isinstance(kind, Maybe) else kind for kind in (a, b))
        if first is None or second is None:
            return Maybe(second if first is None else first)
        return Maybe(_common(first, second))
    if isinstance(a, tuple) and isinstance(b, tuple) and len(a) == len(b):
        parts = tuple(_common(x, y) for x, y in zip(a, b, strict=True))
        return None if any(p is None for p in parts) else parts
    if isinstance(a, tuple) or isinstance(b, tuple):
        return None
    return merge_type(a, b)


class _TypeWalker(_Walker[Environment]):
    """Notes the type of each read of the `mixed` variables, those of several types."""

    def __init__(self, types: Types, mixed: set[str]) -> None:
        super().__init__()
        self.types = types
        self.mixed = mixed
        self.reads: dict[ast.Name, Kind | None] = {}

    def meet(self, paths: list[Environment]) -> Environment:
        """A name that one path has not set keeps the others' type."""
        result: Environment = {}
        for path in paths:
            for name, kind in path.items():
                result[name] = _common(result.get(name, kind), kind)
        return result

    def after(self, node: ast.AST, now: Environment) -> Environment:
        target = node.target if isinstance(node, ast.AugAssign) else None
        for name in ast.walk(node):
            if not isinstance(name, ast.Name) or name.id not in self.mixed:
                continue
            if isinstance(name.ctx, ast.Load) or name is target:
                self.reads[name] = now.get(name.id)
        return self.bound(node, now)

    def bound(self, target: ast.AST, now: Environment) -> Environment:
        names = [
            n for n in ast.walk(target) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
        ]
        keys = [(n.id, n.lineno) for n in names]
        # Numba has dropped what is not among the types: no thread comes there
        return {**now, **{key[0]: self.types[key] for key in keys if key in self.types}}


# --- whether every path to a read has set the variable
#
# In
#
#     if a[i] > 0:
#         r = a[i]
#     out[i] = r
#
# a thread with `a[i] <= 0` reads an `r` that it never set. Python would raise an error; Numba
# compiles the kernel, to code that may store anything. The machine watches those reads, and only
# those.

Known = frozenset[str]  # the variables that every path so far has set


def doubtful_reads(source: KernelSource) -> set[ast.Name]:
    """The places where a local variable is read that some path there has not set."""
    walker = _SetWalker(source)
    walker.suite(source.tree.body, frozenset(source.parameters))
    return walker.doubtful


def _own_nodes(node: ast.AST) -> Iterator[ast.AST]:
    """A node and what is in it, but not the bodies of functions, which run later."""
    yield node
    if isinstance(node, ast.FunctionDef | ast.Lambda):
        return
    for child in ast.iter_child_nodes(node):
        yield from _own_nodes(child)


class _SetWalker(_Walker[Known]):
    """Notes the reads of variables that are not known to be set."""

    def __init__(self, source: KernelSource) -> None:
        super().__init__()
        self.locals = source.locals
        self.doubtful: set[ast.Name] = set()

    def meet(self, paths: list[Known]) -> Known:
        return frozenset.intersection(*paths)

    def after(self, node: ast.AST, now: Known) -> Known:
        if isinstance(node, ast.FunctionDef):
            return now | {node.name}
        target = node.target if isinstance(node, ast.AugAssign) else None
        set_here = set()
        for name in _own_nodes(node):
            if not isinstance(name, ast.Name) or name.id not in self.locals:
                continue
            if isinstance(name.ctx, ast.Store):
                set_here.add(name.id)
            if (isinstance(name.ctx, ast.Load) or name is target) and name.id not in now:
                self.doubtful.add(name)
        if isinstance(node, ast.Delete):
            return now - {t.id for t in node.targets if isinstance(t, ast.Name)}
        return now | set_here

    def bound(self, target: ast.AST, now: Known) -> Known:
        return now | {n.id for n in ast.walk(target) if isinstance(n, ast.Name)}


# --- array parameters that a kernel only reads: nothing can race on those
#
# The answer errs on the safe side: a parameter that is used in any unusual way counts as
# written.

_FACTS = {"shape", "size", "ndim", "dtype", "strides", "itemsize", "nbytes"}


def only_read(source: KernelSource) -> set[str]:
    """The parameters whose every use is a fact such as `.shape`, or the read of a number."""
    nodes = [*ast.walk(source.tree)]
    parents = {child: node for node in nodes for child in ast.iter_child_nodes(node)}
    owners = [n.value for n in nodes if isinstance(n, ast.Subscript | ast.Attribute)]
    indexed = {owner.id for owner in owners if isinstance(owner, ast.Name)}
    parameters = set(source.parameters)
    uses = [n for n in nodes if isinstance(n, ast.Name) and n.id in parameters]
    return parameters - {n.id for n in uses if not _harmless(n, parents, indexed, source)}


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
        if isinstance(parent.func, ast.Name) and parent.func.id in source.locals:
            return False
        return not isinstance(callee(source.named(parent.func)), DeviceFunction)
    if isinstance(parent, ast.Assign):
        targets = [n for t in parent.targets for n in ast.walk(t) if isinstance(n, ast.Name)]
        return not any(t.id in indexed for t in targets if isinstance(t.ctx, ast.Store))
    if isinstance(parent, ast.IfExp | ast.Tuple | ast.keyword | ast.Starred):
        return _is_value(parent, parents, indexed, source)
    return not isinstance(parent, ast.For | ast.Return | ast.NamedExpr)
