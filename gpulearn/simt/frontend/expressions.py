"""Expressions of a kernel as text: one method for each kind of syntax node."""

from __future__ import annotations

import ast
import inspect
import types
from typing import Any

import numpy as np

from gpulearn.simt.core.arithmetic import BINARY
from gpulearn.simt.core.findings import Finding, Stop
from gpulearn.simt.core.registry import Intrinsic, callee, can_call
from gpulearn.simt.core.source import MISSING
from gpulearn.simt.frontend.joins import CHOSEN
from gpulearn.simt.frontend.scope import REFUSED, Scope, Site, undefined

__all__ = ["Expressions"]


def _simple(node: ast.expr) -> bool:
    """Whether it is made of variables, numbers and operators only."""
    return all(
        isinstance(
            n,
            ast.Name
            | ast.Constant
            | ast.BinOp
            | ast.UnaryOp
            | ast.Compare
            | ast.BoolOp
            | ast.operator
            | ast.unaryop
            | ast.cmpop
            | ast.boolop
            | ast.expr_context,
        )
        for n in ast.walk(node)
    )


def _is_leaf(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant | ast.Name | ast.Call)


def _kind(node: ast.expr) -> np.dtype[Any] | None:
    """The type of a number that is written out."""
    if isinstance(node, ast.UnaryOp):
        return _kind(node.operand)
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        return np.dtype(type(node.value))
    return None


_NEW_ARRAYS = {"zeros", "ones", "empty", "full", "array", "arange", "zeros_like", "empty_like"}


def _instead(function: object, name: str) -> str:
    """What to do instead of calling a function that no kernel can call."""
    home = str(getattr(function, "__module__", ""))
    if home.startswith("numpy"):
        if name.rpartition(".")[2] in _NEW_ARRAYS:
            return "; a thread's own memory is a cuda.local.array, a block's a cuda.shared.array"
        return ": it works on whole arrays, and a thread computes with single elements"
    if isinstance(function, types.FunctionType):
        return f"; decorate {name} with @cuda.jit(device=True)"
    return ""


class Expressions(Scope):
    """Writes expressions."""

    def expression(self, node: ast.expr) -> str:
        """The text of any expression."""
        method = getattr(self, f"_on_{type(node).__name__}", None)
        if method is None:
            what = REFUSED.get(type(node))
            if what is not None:
                raise self.refuse(node, what)
            raise self.refuse(node, f"`{ast.unparse(node)}`", "unsupported")
        text: str = method(node)
        return text

    def _on_Constant(self, node: ast.Constant) -> str:  # noqa: N802
        if node.value is None or node.value is Ellipsis or isinstance(node.value, bool):
            return repr(node.value)
        if isinstance(node.value, int | float):
            return self.number(node.value)
        if isinstance(node.value, complex | str):
            return self.constant(node.value)
        raise self.refuse(node, f"`{ast.unparse(node)}`")

    def _on_Name(self, node: ast.Name) -> str:  # noqa: N802
        if node.id in self.locals:
            return self.variable(node)
        value = self.source.lookup(node.id)
        if value is MISSING:
            raise Stop(Finding("not-a-kernel", node.lineno, undefined(node.id)))
        return self.known(node, value)

    def _on_Attribute(self, node: ast.Attribute) -> str:  # noqa: N802
        value = self.static(node)
        if value is not MISSING:
            return self.known(node, value)
        return f"m.attribute({self.expression(node.value)}, {node.attr!r})"

    def _on_Tuple(self, node: ast.Tuple) -> str:  # noqa: N802
        inner = "".join(self.item(e) + ", " for e in node.elts)
        return f"({inner})"

    def item(self, node: ast.expr) -> str:
        """An element of a tuple or argument of a call, which may have a star."""
        if isinstance(node, ast.Starred):
            return f"*{self.expression(node.value)}"
        return self.expression(node)

    def _on_UnaryOp(self, node: ast.UnaryOp) -> str:  # noqa: N802
        if isinstance(node.op, ast.USub) and isinstance(node.operand, ast.Constant):
            value = node.operand.value
            if type(value) in (int, float):
                return self.number(-value)  # type: ignore[operator]
        return f"{type(node.op).__name__}({self.expression(node.operand)})"

    def _on_BinOp(self, node: ast.BinOp) -> str:  # noqa: N802
        for side in (node.left, node.right):
            if isinstance(side, ast.Constant) and isinstance(side.value, str):
                raise self.refuse(side, f"the string {side.value!r}")
        return self.binary(node, node.op, self.expression(node.left), self.expression(node.right))

    def binary(self, node: ast.AST, op: ast.operator, left: str, right: str) -> str:
        """An arithmetic operation."""
        name = type(op).__name__
        if name not in BINARY:
            raise self.refuse(node, "the operator @")
        text = f"{name}({left}, {right})"
        floats = name in ("Add", "Sub", "Mult", "Div", "FloorDiv", "Mod", "Pow")
        return f"m.flop({text})" if self.counting and floats else text

    def lazily(self, node: ast.expr) -> str:
        """A lambda, so that only the threads that need the value compute it."""
        self.lazy += 1
        text = f"lambda: {self.expression(node)}"
        self.lazy -= 1
        return text

    def _on_BoolOp(self, node: ast.BoolOp) -> str:  # noqa: N802
        word = "both" if isinstance(node.op, ast.And) else "either"
        first = self.expression(node.values[0])
        self.lazy += 1
        texts = [first, *(self.expression(v) for v in node.values[1:])]
        self.lazy -= 1
        text, simple = texts[-1], self.simple(node.values[-1])
        for value, here in zip(node.values[-2::-1], texts[-2::-1], strict=True):
            text = self.chained(word, here, text, simple)
            simple = simple and self.simple(value)
        return text

    def simple(self, node: ast.expr) -> bool:
        """Whether evaluating it for threads that do not need it can do no harm."""
        return _simple(node) and not any(n in self.doubtful for n in ast.walk(node))

    def chained(self, word: str, first: str, second: str, simple: bool) -> str:
        """`and` or `or`, the second part only by those who need it."""
        if simple:
            return f"m.{word}({first}, {second})"
        return f"m.{word}_lazily({first}, lambda: {second})"

    def _on_Compare(self, node: ast.Compare) -> str:  # noqa: N802
        parts = []
        left = self.expression(node.left)
        last = len(node.ops) - 1
        for position, (op, comparator) in enumerate(zip(node.ops, node.comparators, strict=True)):
            right = self.expression(comparator)
            name = ""
            if position < last:  # each operand is evaluated once
                name = self.fresh("c")
                right = f"({name} := {right})"
            parts.append(self.compare(node, op, left, right))
            left = name
        text, simple = parts[-1], self.simple(node.comparators[-1])
        for part, comparator in zip(parts[-2::-1], node.comparators[-2::-1], strict=True):
            text = self.chained("both", part, text, simple)
            simple = simple and self.simple(comparator)
        return text

    def compare(self, node: ast.AST, op: ast.cmpop, left: str, right: str) -> str:
        """One comparison."""
        if isinstance(op, ast.Is | ast.IsNot):
            word = "is" if isinstance(op, ast.Is) else "is not"
            return f"({left} {word} {right})"
        if isinstance(op, ast.In | ast.NotIn):
            text = f"m.contains({right}, {left})"
            return text if isinstance(op, ast.In) else f"Not({text})"
        return f"{type(op).__name__}({left}, {right})"

    def _on_Lambda(self, node: ast.Lambda) -> str:  # noqa: N802
        names = self.inner(node.args, node)
        return f"LocalFunction(lambda m{names}: {self.expression(node.body)})"

    def inner(self, arguments: ast.arguments, node: ast.AST) -> str:
        """The parameters of a function inside the kernel, as text."""
        if arguments.vararg or arguments.kwarg or arguments.kwonlyargs or arguments.defaults:
            raise self.refuse(node, "a default or * in an inner function", "unsupported")
        return "".join(f", v_{a.arg}" for a in [*arguments.posonlyargs, *arguments.args])

    def _on_NamedExpr(self, node: ast.NamedExpr) -> str:  # noqa: N802
        if self.lazy:
            what = f"`{ast.unparse(node)}` where not all threads may evaluate it"
            raise self.refuse(node, what, "unsupported")
        name = f"v_{node.target.id}"
        text = f"({name} := m.put({name}, {self.expression(node.value)}))"
        if node.target.id in self.watched:
            known = f"d_{node.target.id}"
            text = f"({text}, {known} := union({known}, m.mask))[0]"
        return text

    def _on_IfExp(self, node: ast.IfExp) -> str:  # noqa: N802
        test = self.expression(node.test)
        yes, no = self.lazily(node.body), self.lazily(node.orelse)
        kinds = [_kind(node.body), _kind(node.orelse)]
        more = "" if kinds == [None, None] else f", {self.constant(tuple(kinds))}"
        text = f"m.choose({test}, {yes}, {no}{more})"
        lines = range(node.lineno, (node.end_lineno or node.lineno) + 1)
        given = {self.types[CHOSEN, n] for n in lines if (CHOSEN, n) in self.types}
        if len(given) == 1:
            text = f"settle({text}, {self.constant(given.pop())})"
        return text

    def _on_Subscript(self, node: ast.Subscript) -> str:  # noqa: N802
        return f"m.load({self.expression(node.value)}, {self.expression(node.slice)})"

    def _on_Slice(self, node: ast.Slice) -> str:  # noqa: N802
        parts = [self.expression(p) if p else "None" for p in (node.lower, node.upper, node.step)]
        return f"slice({', '.join(parts)})"

    def check_arguments(self, node: ast.Call, found: Intrinsic) -> None:
        """A call must have as many arguments as the function takes."""
        given = [*node.args, *(k.value for k in node.keywords)]
        if any(isinstance(a, ast.Starred) for a in given):
            return
        signature = inspect.signature(found.run)
        hidden = 1 + found.site
        try:
            named = {k.arg: None for k in node.keywords if k.arg}
            signature.bind(*[None] * (hidden + len(node.args)), **named)
        except TypeError:
            names = [
                p.name
                for p in list(signature.parameters.values())[hidden:]
                if p.default is p.empty and p.kind is p.POSITIONAL_OR_KEYWORD
            ]
            if not names:
                return
            message = (
                f"{ast.unparse(node.func)} takes {len(names)} "
                f"argument{'s' * (len(names) != 1)} ({', '.join(names)}), {len(given)} given"
            )
            raise Stop(Finding("not-a-kernel", node.lineno, message)) from None

    def check_shape(self, node: ast.Call, name: str) -> None:
        """The shape of an array of the kernel's own must be fixed before it runs."""
        shapes = [*node.args[:1], *(k.value for k in node.keywords if k.arg == "shape")]
        for shape in shapes:
            for n in shape.elts if isinstance(shape, ast.Tuple) else [shape]:
                passed = isinstance(n, ast.Name) and n.id in self.source.parameters
                fixed = all(isinstance(p, ast.Constant) for p in ast.walk(n) if _is_leaf(p))
                if not passed and (fixed or not isinstance(n, ast.BinOp | ast.Call)):
                    continue
                text = ast.unparse(n)
                why = "an argument" if passed else "computed"
                message = (
                    f"the shape of cuda.{name} must be made of constants; {text} is {why}: "
                    "give it a name outside of the kernel"
                )
                raise Stop(Finding("not-a-kernel", node.lineno, message))

    def _on_Call(self, node: ast.Call) -> str:  # noqa: N802
        arguments = [self.item(a) for a in node.args]
        for keyword in node.keywords:
            if keyword.arg is None:
                raise self.refuse(node, "** in a call")
            arguments.append(f"{keyword.arg}={self.expression(keyword.value)}")
        inner = "".join(", " + a for a in arguments)
        function = self.static(node.func)
        strings = [a for a in node.args if isinstance(a, ast.Constant) and type(a.value) is str]
        if strings and function in (int, len, bool, abs, round, complex):
            raise self.refuse(node, f"the string {strings[0].value!r}")
        if function is MISSING and isinstance(node.func, ast.Name):
            name = node.func.id
            if name not in self.locals:
                raise Stop(Finding("not-a-kernel", node.lineno, undefined(name)))
        if function is MISSING:
            if isinstance(node.func, ast.Attribute):
                base = self.expression(node.func.value)
                return f"m.method({base}, {node.func.attr!r}{inner})"
            return f"m.call({self.expression(node.func)}{inner})"
        found = callee(function)
        if isinstance(found, Intrinsic):
            if found.name.startswith("atomic.") and self.unused is node:
                inner += ", used=False"
            text = f"{self.constant(found.run)}(m{inner})"
            self.check_arguments(node, found)
            if found.site:
                self.check_shape(node, found.name)
                site = self.constant(Site(self.target or found.name.split(".")[0]))
                text = f"{self.constant(found.run)}(m, {site}{inner})"
            return f"m.flop({text})" if self.counting and found.flop else text
        if not can_call(found):
            name = ast.unparse(node.func)
            hint = _instead(function, name)
            message = f"{name}() cannot be called in a kernel{hint}"
            raise Stop(Finding("not-a-kernel", node.lineno, message))
        return f"m.call({self.constant(found)}{inner})"
