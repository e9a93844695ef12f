"""What a translation knows while it is written: names, constants, the text so far."""

from __future__ import annotations

import ast
import difflib
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpulearn.simt.core.arithmetic import BINARY, COMPARE, UNARY
from gpulearn.simt.core.findings import Finding, Stop
from gpulearn.simt.core.masks import EMPTY, union
from gpulearn.simt.core.registry import Intrinsic, LocalFunction, callee, intrinsics, is_namespace
from gpulearn.simt.core.source import LINE_BITS, MISSING, KernelSource
from gpulearn.simt.core.values import UNDEFINED, cast, settle
from gpulearn.simt.frontend.joins import Types
from gpulearn.simt.frontend.paths import doubtful_reads
from gpulearn.simt.machine.control_flow import Loop, Repeat

__all__ = ["REFUSED", "Scope", "Site", "undefined"]


REFUSED: dict[type[ast.AST], str] = {
    ast.List: "a list",
    ast.ListComp: "a list comprehension",
    ast.Dict: "a dict",
    ast.DictComp: "a dict comprehension",
    ast.Set: "a set",
    ast.SetComp: "a set comprehension",
    ast.GeneratorExp: "a generator expression",
    ast.JoinedStr: "an f-string",
    ast.Await: "await",
    ast.Yield: "yield",
    ast.YieldFrom: "yield from",
    ast.Try: "try",
    ast.With: "with",
    ast.ClassDef: "a class",
    ast.AsyncFunctionDef: "an async function",
    ast.Import: "an import",
    ast.ImportFrom: "an import",
    ast.Global: "global",
    ast.Nonlocal: "nonlocal",
}


def _meant(base: Any, node: ast.Attribute) -> str:
    """The name in `base` that a misspelt one is nearest to, as part of a sentence."""
    names = {name.lower(): name for name in dir(base) if not name.startswith("_")}
    near = difflib.get_close_matches(node.attr.lower(), names, n=1, cutoff=0.75)
    return f"; did you mean {ast.unparse(node.value)}.{names[near[0]]}?" if near else ""


def undefined(name: str) -> str:
    """The sentence for a name that stands for nothing."""
    home = "cuda" if name in intrinsics() else "math" if hasattr(math, name) else ""
    return f"name '{name}' is not defined" + (f"; did you mean {home}.{name}?" if home else "")


@dataclass(frozen=True, eq=False)
class Site:
    """A place in the source that makes an array, known by the variable it is for."""

    name: str


class Scope:
    """The text of one translation, and the objects that it names."""

    def __init__(self, source: KernelSource, types: Types, *, counting: bool) -> None:
        self.source = source
        self.types = types
        self.counting = counting
        self.locals = source.locals
        self.lines: list[str] = []
        self.depth = 1
        self.serial = 0
        self.loops: list[str] = []
        self.lazy = 0  # how many lambdas deep the current expression is
        self.reads: dict[ast.Name, Any] = {}  # see `joins`
        self.doubtful = doubtful_reads(source)
        self.watched = {name.id for name in self.doubtful}
        self.chosen = False  # the value of the current assignment depends on the path
        self.target = ""  # the variable that the current statement assigns to
        self.unused: ast.expr | None = None  # the expression whose value nobody uses
        self.names: dict[str, Any] = {
            "np": np, "EMPTY": EMPTY, "UNDEFINED": UNDEFINED, "union": union, "cast": cast,
            "settle": settle, "LocalFunction": LocalFunction, "Loop": Loop, "Repeat": Repeat,
            **BINARY, **COMPARE, **UNARY,
        }  # fmt: skip

    def say(self, text: str) -> None:
        """Writes one line at the current depth."""
        self.lines.append("    " * self.depth + text)

    def fresh(self, letter: str) -> str:
        """A name that nothing else has."""
        self.serial += 1
        return f"_{letter}{self.serial}"

    def constant(self, value: Any) -> str:
        """A name that stands for a Python object."""
        name = f"K{len(self.names)}"
        self.names[name] = value
        return name

    def refuse(self, node: ast.AST, what: str, kind: str = "not-a-kernel") -> Stop:
        """The error for something that cannot be in a kernel, or that is missing here."""
        line = getattr(node, "lineno", None)
        if kind == "not-a-kernel":
            message = f"{what} cannot be used in a kernel: a GPU thread has no Python objects"
        else:
            message = f"{what} is not supported by the SIMT machine"
        return Stop(Finding(kind, line, message))

    def at(self, node: ast.AST) -> None:
        """Says which line comes now."""
        line = self.place(node)
        self.say(f"m.at({line})" if self.counting else f"m.line = {line}")

    def place(self, node: ast.AST) -> int:
        """The number for a line of this function."""
        return self.source.unit << LINE_BITS | getattr(node, "lineno", 0)

    def static(self, node: ast.expr) -> Any:
        """The object that a name or dotted name stands for before the kernel runs."""
        if isinstance(node, ast.Name) and node.id not in self.locals:
            return self.source.lookup(node.id)
        if isinstance(node, ast.Attribute):
            base = self.static(node.value)
            if base is MISSING:
                return MISSING
            if isinstance(base, Intrinsic):
                return MISSING
            if is_namespace(base):
                found = getattr(base, node.attr, MISSING)
                if found is MISSING:
                    name = ast.unparse(node)
                    message = f"there is no {name}{_meant(base, node)}"
                    raise Stop(Finding("not-a-kernel", node.lineno, message))
                return callee(found)
        return MISSING

    def known(self, node: ast.expr, value: Any) -> str:
        """The text for an object that was known before the kernel runs."""
        found = callee(value)
        if isinstance(found, Intrinsic):
            if found.attribute:
                return f"m.{found.name}"
            return self.constant(found)
        if type(value) in (bool, int, float):
            return self.number(value)
        if isinstance(value, np.ndarray):
            return f"m.spaces.constant({self.constant(value)}, {ast.unparse(node)!r})"
        return self.constant(value)

    def variable(self, node: ast.Name) -> str:
        """A local variable, in the type that it has at this place."""
        dtype = self.reads.get(node)
        name = f"v_{node.id}"
        if node in self.doubtful:
            kind = self.constant(dtype or self.one_kind(node.id))
            name = f"m.assigned({name}, d_{node.id}, {node.id!r}, {kind})"
        return name if dtype is None else f"settle({name}, {self.constant(dtype)})"

    def one_kind(self, name: str) -> Any:
        """The type of a variable that has only one; None if it has more, or is no number."""
        kinds = {kind for (known, _), kind in self.types.items() if known == name}
        return kinds.pop() if len(kinds) == 1 else None

    def number(self, value: Any) -> str:
        """The text of a Python number."""
        if type(value) is int and not -(1 << 63) <= value < 1 << 63:
            if 0 <= value < 1 << 64:
                return self.constant(np.uint64(value))
            raise Stop(Finding("not-a-kernel", None, f"{value} does not fit in 64 bits"))
        if type(value) is float and not math.isfinite(value):
            return self.constant(value)
        return f"({value!r})"
