"""The translator: from a kernel's syntax tree to a Python function that runs all threads.

Each expression becomes calls that take and give *values* (see `values`); each statement
acts on the threads in `m.mask`. What the machine `m` must offer is exactly what the text
made here calls. The kernel

    if i < n:
        out[i] = 2 * x[i]

becomes, in essence,

    _b1 = m.branch(Lt(v_i, v_n))          # m.mask is now the threads that take it
    if m.mask is not EMPTY:
        m.store(v_out, v_i, Mult(2, m.load(v_x, v_i)))
    m.mask = _b1[0]                       # together again
"""

import ast
import enum
import inspect
import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from simt.core.arithmetic import BINARY, COMPARE, UNARY
from simt.core.findings import Finding, Stop
from simt.core.literals import folded
from simt.core.masks import EMPTY, union
from simt.core.memory import CODES, constant_view
from simt.core.program import Translation
from simt.core.registry import (
    DeclaredFunction,
    Intrinsic,
    Literal,
    LocalFunction,
    callee,
    can_call,
    is_namespace,
)
from simt.core.source import LINE_BITS, MISSING, KernelSource
from simt.core.values import UINT64, UNDEFINED, Maybe, cast, normal, settle
from simt.frontend import syntax
from simt.frontend.dataflow import (
    RETURNED,
    UNEQUAL,
    Types,
    branch_key,
    doubtful_reads,
    types_of_reads,
)
from simt.frontend.extensions import NO_PYTHON_CODE, is_lowered
from simt.frontend.kinds import may_be_several, several_names
from simt.frontend.refusals import ALTERNATIVES, REFUSED, instead, meant, undefined
from simt.machine.control_flow import ForLoop, WhileLoop
from simt.machine.iteration import contains


@dataclass(frozen=True, eq=False)
class Site:
    """A place in the source that makes an array, known by the variable it is for."""

    name: str


def _kind(node: ast.expr) -> np.dtype[Any] | None:
    """The type of a number that is written out."""
    if isinstance(node, ast.UnaryOp):
        return _kind(node.operand)
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        return np.dtype(type(node.value))
    return None


class _Translator:
    """Writes the text of one translation, and collects the objects that it names."""

    def __init__(self, source: KernelSource, types: Types, *, counting: bool, debug: bool) -> None:
        self.source = source
        self.types = types
        self.counting = counting
        self.debug = debug
        self.locals = source.locals
        self.lines: list[str] = []
        self.depth = 1
        self.serial = 0
        self.loops: list[str] = []
        self.inside = 0  # how many inner functions deep the current statement is
        self.lazy = 0  # how many lambdas deep the current expression is
        self.reads: dict[ast.Name, Any] = {}  # the types of variables that have several
        self.several: set[str] = set()  # variables that may be other things than numbers
        self.doubtful = doubtful_reads(source)
        self.watched = {name.id for name in self.doubtful}
        self.chosen = False  # the value of the current assignment depends on the path
        self.target = ""  # the variable that the current statement assigns to
        self.may_diverge: ast.expr | None = None  # what need not be one thing for all threads
        self.unused: ast.expr | None = None  # the expression whose value nobody uses
        self.names: dict[str, Any] = {
            "np": np, "EMPTY": EMPTY, "UNDEFINED": UNDEFINED, "union": union, "cast": cast,
            "settle": settle, "LocalFunction": LocalFunction, "ForLoop": ForLoop,
            "WhileLoop": WhileLoop, "contains": contains,
            **BINARY, **COMPARE, **UNARY,
        }  # fmt: skip

    def say(self, text: str) -> None:
        """Writes one line at the current depth."""
        self.lines.append("    " * self.depth + text)

    def fresh(self, letter: str) -> str:
        """A fresh name."""
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
            hint = ALTERNATIVES.get(type(node), "")
            outside = isinstance(node, ast.Import | ast.ImportFrom | ast.With)
            why = "Numba does not compile it" if outside else "a GPU thread has no Python objects"
            message = f"{what} cannot be used in a kernel: {why}"
            message += f"; {hint}" if hint else ""
        else:
            message = f"{what} is not supported by the SIMT machine"
        return Stop(Finding(kind, line, message))

    def at(self, node: ast.AST) -> None:
        """Emits the current line."""
        line = self.place(node)
        self.say(f"m.at({line})" if self.counting else f"m.line = {line}")

    def place(self, node: ast.AST) -> int:
        """The number for a line of this function."""
        return self.source.unit << LINE_BITS | getattr(node, "lineno", 0)

    def static(self, node: ast.expr) -> Any:
        """The object that a name or dotted name stands for before the kernel runs."""
        if isinstance(node, ast.Name) and node.id not in self.locals:
            return self.source.lookup(node.id)
        if isinstance(node, ast.Attribute) and is_namespace(base := self.static(node.value)):
            name, member = ast.unparse(node), getattr(base, node.attr, MISSING)
            if member is MISSING:
                message = f"there is no {name}{meant(base, node)}"
                raise Stop(Finding("not-a-kernel", node.lineno, message))
            return callee(self.source.keep(name, member))
        return MISSING

    def condition(self, node: ast.expr) -> str:
        """The text of a condition."""
        outcome = syntax.decided(node, self.static)
        return self.expression(node) if outcome is None else repr(outcome)

    def constant_of(self, value: Any, name: str) -> str:
        """The text for an object that is known before the kernel runs, under `name`."""
        thing = callee(value)
        if isinstance(thing, Intrinsic):
            if thing.attribute:
                return f"m.{thing.name}"
            return self.constant(thing)
        if isinstance(value, enum.Enum):
            return self.constant_of(value.value, name)
        value = normal(value)
        if type(value) in (bool, int, float):
            return self.number(value)
        if isinstance(value, tuple):
            items = "".join(f"{self.constant_of(item, name)}, " for item in value)
            is_named = hasattr(value, "_fields")
            return f"{self.constant(type(value))}({items})" if is_named else f"({items})"
        if isinstance(value, np.ndarray):
            return self.constant(constant_view(value, name))
        if hasattr(thing, "as_view"):  # an array on the device
            return self.constant(thing.as_view(name))
        return self.constant(value)

    def variable(self, node: ast.Name) -> str:
        """A local variable, in the type that it has at this place."""
        dtype = self.reads.get(node)
        name = f"v_{node.id}"
        if node in self.doubtful:
            kind = self.constant(dtype or self.one_kind(node.id))
            name = f"m.assigned({name}, d_{node.id}, {node.id!r}, {kind})"
        if node.id in self.several and node is not self.may_diverge:
            name = f"m.own({name}, {node.id!r})"
        return name if dtype is None else f"settle({name}, {self.constant(dtype)})"

    @staticmethod
    def uniform(text: str, may_diverge: bool) -> str:
        """A value that must be uniform, unless it may diverge here."""
        return text if may_diverge else f"m.own({text}, 'this value')"

    def one_kind(self, name: str) -> Any:
        """The type of a variable that has only one; None if it has more, or is no number."""
        kinds = {kind for (variable, _), kind in self.types.items() if variable == name} - {None}
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

    # --- expressions

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
        message = f"`{ast.unparse(node)}` is not supported by the SIMT machine: {CODES}"
        raise Stop(Finding("unsupported", node.lineno, message))

    def _on_Name(self, node: ast.Name) -> str:  # noqa: N802
        if node.id in self.locals:
            return self.variable(node)
        value = self.source.lookup(node.id)
        if value is MISSING:
            raise Stop(Finding("not-a-kernel", node.lineno, undefined(node.id)))
        return self.constant_of(value, ast.unparse(node))

    def _on_Attribute(self, node: ast.Attribute) -> str:  # noqa: N802
        value = self.static(node)
        if value is not MISSING:
            return self.constant_of(value, ast.unparse(node))
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
        value = folded(node)
        if isinstance(value, int | float | complex):
            return self.number(value)
        return f"{type(node.op).__name__}({self.expression(node.operand)})"

    def _on_BinOp(self, node: ast.BinOp) -> str:  # noqa: N802
        value = folded(node)
        if isinstance(value, int | float | complex):
            return self.number(value)
        for side in (node.left, node.right):
            if isinstance(side, ast.Constant) and isinstance(side.value, str):
                raise self.refuse(side, f"the string {side.value!r}")
        return self.binary(node, node.op, self.expression(node.left), self.expression(node.right))

    def binary(self, node: ast.AST, op: ast.operator, left: str, right: str) -> str:
        """An arithmetic operation."""
        name = type(op).__name__
        if name not in BINARY:
            raise self.refuse(node, "the operator @")
        if self.debug and name in ("FloorDiv", "Mod"):
            right = f"m.divisor({right})"
        operation = "m.quotient" if name == "Div" else name
        text = f"{operation}({left}, {right})"
        floats = name in ("Add", "Sub", "Mult", "Div", "FloorDiv", "Mod", "Pow")
        return f"m.flop({text})" if self.counting and floats else text

    def lazily(self, node: ast.expr) -> str:
        """A lambda, so that only the threads that need the value compute it."""
        self.lazy += 1
        text = f"lambda: {self.expression(node)}"
        self.lazy -= 1
        return text

    def _on_BoolOp(self, node: ast.BoolOp) -> str:  # noqa: N802
        decides = isinstance(node.op, ast.Or)
        first = self.expression(node.values[0])
        self.lazy += 1
        texts = [first, *(self.expression(v) for v in node.values[1:])]
        self.lazy -= 1
        text, simple = texts[-1], self.simple(node.values[-1])
        for value, here in zip(node.values[-2::-1], texts[-2::-1], strict=True):
            text = self.chained(decides, here, text, simple)
            simple = simple and self.simple(value)
        kind = self.branch_type(node)
        return text if kind is None else f"settle({text}, {self.constant(kind)})"

    def branch_type(self, node: ast.expr) -> Any:
        """The type that Numba gives to what several branches end in; None if it is not known."""
        kinds = (self.types.get(branch_key(end)) for end in syntax.ends(node))
        return next((kind for kind in kinds if kind is not None), None)

    def simple(self, node: ast.expr) -> bool:
        """Whether it is safe to evaluate for threads that do not need it."""
        names = [n for n in ast.walk(node) if isinstance(n, ast.Name)]
        harmful = any(n in self.doubtful or n.id in self.several for n in names)
        return syntax.is_simple(node) and not harmful

    def chained(self, decides: bool, first: str, second: str, simple: bool) -> str:
        """`and`, or `or` (True), the second part only by those who need it."""
        if simple:
            return f"m.connected({first}, {second}, {decides})"
        return f"m.connected_lazily({first}, lambda: {second}, {decides})"

    def _on_Compare(self, node: ast.Compare) -> str:  # noqa: N802
        parts = []
        # what it is may differ among threads
        self.may_diverge = node.left if isinstance(node.ops[0], ast.Is | ast.IsNot) else None
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
            text = self.chained(False, part, text, simple)
            simple = simple and self.simple(comparator)
        return text

    def compare(self, node: ast.AST, op: ast.cmpop, left: str, right: str) -> str:
        """One comparison."""
        if isinstance(op, ast.Is | ast.IsNot):
            unequal = (UNEQUAL, getattr(node, "lineno", 0)) in self.types
            text = "False" if unequal else f"m.same({left}, {right})"
            return text if isinstance(op, ast.Is) else f"Not({text})"
        if isinstance(op, ast.In | ast.NotIn):
            text = f"contains(m, {right}, {left})"
            return text if isinstance(op, ast.In) else f"Not({text})"
        return f"{type(op).__name__}({left}, {right})"

    def _on_Lambda(self, node: ast.Lambda) -> str:  # noqa: N802
        names = self.inner(node.args, node)
        return f"LocalFunction(lambda m{names}: {self.expression(node.body)})"

    def inner(self, arguments: ast.arguments, node: ast.AST) -> str:
        """The parameters of a function inside the kernel, as text."""
        if arguments.kwarg or arguments.kwonlyargs:
            raise self.refuse(node, "** or a bare * in an inner function", "unsupported")
        names = [f", v_{a.arg}" for a in [*arguments.posonlyargs, *arguments.args]]
        defaults = [f"={self.expression(d)}" for d in arguments.defaults]
        bare = [""] * (len(names) - len(defaults))
        rest = f", *v_{arguments.vararg.arg}" if arguments.vararg else ""
        return "".join(n + d for n, d in zip(names, [*bare, *defaults], strict=True)) + rest

    def _on_NamedExpr(self, node: ast.NamedExpr) -> str:  # noqa: N802
        if self.lazy:
            what = f"`{ast.unparse(node)}` where not all threads may evaluate it"
            raise self.refuse(node, what, "unsupported")
        name = f"v_{node.target.id}"
        text = f"({name} := m.put({name}, {self.expression(node.value)}))"
        if node.target.id in self.watched:
            flag = f"d_{node.target.id}"
            text = f"({text}, {flag} := union({flag}, m.mask))[0]"
        return text

    def _on_IfExp(self, node: ast.IfExp) -> str:  # noqa: N802
        may_diverge = node is self.may_diverge
        test = self.condition(node.test)
        branches = []
        for branch in (node.body, node.orelse):
            self.may_diverge = branch if may_diverge else None
            branches.append(self.lazily(branch))
        yes, no = branches
        kinds = [_kind(node.body), _kind(node.orelse)]
        extra = "" if kinds == [None, None] else f", {self.constant(tuple(kinds))}"
        text = f"m.choose({test}, {yes}, {no}{extra})"
        kind = self.branch_type(node)
        if kind is not None:
            text = f"settle({text}, {self.constant(kind)})"
        has_type = kind is not None and not isinstance(kind, Maybe)
        return self.uniform(text, may_diverge or has_type)

    def _on_Subscript(self, node: ast.Subscript) -> str:  # noqa: N802
        members = getattr(self.static(node.value), "__members__", {})  # of an enum
        if isinstance(node.slice, ast.Constant) and node.slice.value in members:
            return self.constant_of(members[node.slice.value], ast.unparse(node))
        return f"m.load({self.expression(node.value)}, {self.expression(node.slice)})"

    def _on_Slice(self, node: ast.Slice) -> str:  # noqa: N802
        parts = [self.expression(p) if p else "None" for p in (node.lower, node.upper, node.step)]
        return f"slice({', '.join(parts)})"

    def check_arguments(self, node: ast.Call, function: Intrinsic) -> None:
        """A call must have as many arguments as the function takes."""
        arguments = [*node.args, *(k.value for k in node.keywords)]
        if any(isinstance(a, ast.Starred) for a in arguments):
            return
        signature = inspect.signature(function.run)
        hidden = 1 + function.site
        try:
            keywords = {k.arg: None for k in node.keywords if k.arg}
            signature.bind(*[None] * (hidden + len(node.args)), **keywords)
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
                f"argument{'s' * (len(names) != 1)} ({', '.join(names)}), {len(arguments)} given"
            )
            raise Stop(Finding("not-a-kernel", node.lineno, message)) from None

    def literal_item(self, node: ast.expr) -> str:
        """An argument of a call for which it matters whether it is a literal."""
        value = self.source.literal(node)
        return self.item(node) if value is MISSING else self.constant(Literal(value))

    def _on_Call(self, node: ast.Call) -> str:  # noqa: N802
        may_diverge = node is self.may_diverge
        function = self.static(node.func)
        target = callee(function)
        item = self.literal_item if isinstance(target, Intrinsic) and target.literals else self.item
        divergent = may_be_several(node, self.static)  # its arguments may be several things too
        arguments = []
        for argument in node.args:
            self.may_diverge = argument if divergent else None
            arguments.append(item(argument))
        for keyword in node.keywords:
            if keyword.arg is None:
                raise self.refuse(node, "** in a call")
            arguments.append(f"{keyword.arg}={item(keyword.value)}")
        inner = "".join(", " + a for a in arguments)
        strings = [a for a in node.args if isinstance(a, ast.Constant) and type(a.value) is str]
        if strings and function in (int, bool, abs, round, complex):
            raise self.refuse(node, f"the string {strings[0].value!r}")
        if function is MISSING and isinstance(node.func, ast.Name):
            name = node.func.id
            if name not in self.locals:
                raise Stop(Finding("not-a-kernel", node.lineno, undefined(name)))
        if function is MISSING:
            if isinstance(node.func, ast.Attribute):
                base = self.expression(node.func.value)
                return f"m.method({base}, {node.func.attr!r}{inner})"
            return self.uniform(f"m.call({self.expression(node.func)}{inner})", may_diverge)
        if isinstance(target, Intrinsic):
            if target.name.startswith("atomic.") and self.unused is node:
                inner += ", used=False"
            text = f"{self.constant(target.run)}(m{inner})"
            self.check_arguments(node, target)
            if target.site:
                site = self.constant(Site(self.target or target.name.split(".")[0]))
                text = f"{self.constant(target.run)}(m, {site}{inner})"
            return f"m.flop({text})" if self.counting and target.flop else text
        if isinstance(target, DeclaredFunction):
            message = (
                f"{target.__name__}(), which cuda.declare_device takes from compiled code, is not "
                "supported by the SIMT machine: write it in Python, as @cuda.jit(device=True)"
            )
            raise Stop(Finding("unsupported", node.lineno, message))
        if not can_call(target):
            name = ast.unparse(node.func)
            if is_lowered(function):
                kind = "a namedtuple" if isinstance(function, type) else "a device function"
                message = f"{name}() {NO_PYTHON_CODE.format(kind)}"
                raise Stop(Finding("unsupported", node.lineno, message))
            hint = instead(function, name)
            message = f"{name}() cannot be called in a kernel{hint}"
            raise Stop(Finding("not-a-kernel", node.lineno, message))
        return self.uniform(f"m.call({self.constant(target)}{inner})", may_diverge)

    # --- statements

    def suite(self, statements: list[ast.stmt]) -> None:
        opened = 0
        for position, statement in enumerate(statements):
            self.statement(statement)
            rest = statements[position + 1 :]
            if isinstance(statement, ast.Return | ast.Break | ast.Continue | ast.Raise):
                break
            if rest and syntax.leaves(statement):
                self.say("if m.mask is not EMPTY:")
                self.depth += 1
                opened += 1
        if not statements:
            self.say("pass")
        self.depth -= opened

    def statement(self, node: ast.stmt) -> None:
        method = getattr(self, f"_do_{type(node).__name__}", None)
        if method is None:
            what = REFUSED.get(type(node))
            if what is not None:
                raise self.refuse(node, what)
            what = type(node).__name__.removesuffix("Def").lower()
            raise self.refuse(node, f"a statement `{what}`", "unsupported")
        method(node)

    def assign(self, target: ast.expr, text: str) -> None:
        if isinstance(target, ast.Name):
            fixed = self.types.get((target.id, target.lineno))
            if fixed is not None and self.chosen:
                text = f"settle({text}, {self.constant(fixed)})"
            self.say(f"v_{target.id} = m.put(v_{target.id}, {text})")
            if target.id in self.watched:
                self.say(f"d_{target.id} = union(d_{target.id}, m.mask)")
        elif isinstance(target, ast.Tuple | ast.List):
            for starred in (e for e in target.elts if isinstance(e, ast.Starred)):
                raise self.refuse(starred, "a starred target")
            name = self.fresh("t")
            self.say(f"{name} = m.unpack({text}, {len(target.elts)})")
            for position, element in enumerate(target.elts):
                self.assign(element, f"{name}[{position}]")
        elif isinstance(target, ast.Subscript):
            base, index = self.expression(target.value), self.expression(target.slice)
            value = self.fresh("t")
            self.say(f"{value} = {text}")
            self.say(f"m.store({base}, {index}, {value})")
        elif isinstance(target, ast.Attribute):
            base = self.expression(target.value)
            self.say(f"m.set_attribute({base}, {target.attr!r}, {text})")
        else:
            raise self.refuse(target, f"assigning to `{ast.unparse(target)}`")

    def _do_Assign(self, node: ast.Assign) -> None:  # noqa: N802
        self.at(node)
        first = node.targets[0]
        self.target = first.id if isinstance(first, ast.Name) else ""
        # which of several values, and so which type, may depend on the path
        self.chosen = any(isinstance(n, ast.IfExp | ast.BoolOp) for n in ast.walk(node.value))
        choice = isinstance(node.value, ast.IfExp | ast.Call | ast.Name)
        self.may_diverge = node.value if self.target and choice else None
        text = self.expression(node.value)
        self.target = ""
        if len(node.targets) > 1:
            name = self.fresh("t")
            self.say(f"{name} = {text}")
            text = name
        for target in node.targets:
            self.assign(target, text)

    def _do_AnnAssign(self, node: ast.AnnAssign) -> None:  # noqa: N802
        if node.value is not None:
            self.at(node)
            self.may_diverge = node.value
            self.assign(node.target, self.expression(node.value))

    def _do_AugAssign(self, node: ast.AugAssign) -> None:  # noqa: N802
        self.at(node)
        target = node.target
        value = self.expression(node.value)
        if isinstance(target, ast.Name):
            self.assign(target, self.binary(node, node.op, self.variable(target), value))
        elif isinstance(target, ast.Subscript):
            base, index = self.fresh("t"), self.fresh("t")
            self.say(f"{base} = {self.expression(target.value)}")
            self.say(f"{index} = {self.expression(target.slice)}")
            old = f"m.load({base}, {index})"
            self.say(f"m.store({base}, {index}, {self.binary(node, node.op, old, value)})")
        else:
            base = self.fresh("t")
            self.say(f"{base} = {self.expression(target.value)}")
            new = self.binary(node, node.op, f"m.attribute({base}, {target.attr!r})", value)
            self.say(f"m.set_attribute({base}, {target.attr!r}, {new})")

    def _do_Expr(self, node: ast.Expr) -> None:  # noqa: N802
        if isinstance(node.value, ast.Constant):
            return
        self.at(node)
        self.unused = self.may_diverge = node.value
        self.say(self.expression(node.value))
        self.unused = None

    def _do_FunctionDef(self, node: ast.FunctionDef) -> None:  # noqa: N802
        names = self.inner(node.args, node)
        name = self.fresh("d")
        self.say(f"def {name}(m{names}):")
        self.depth += 1
        self.say("_f = m.enter()")
        outer = {n for s in ast.walk(node) if isinstance(s, ast.Nonlocal) for n in s.names}
        if outer:
            self.say("nonlocal " + ", ".join(f"v_{n}" for n in sorted(outer)))
        bound = syntax.bound(node.body) - outer
        if bound:
            self.say(" = ".join(f"v_{n}" for n in sorted(bound)) + " = UNDEFINED")
        loops, self.loops = self.loops, []
        self.inside += 1
        self.suite(node.body)
        self.inside -= 1
        self.loops = loops
        self.say("return m.exit(_f)")
        self.depth -= 1
        self.say(f"v_{node.name} = LocalFunction({name})")

    def _do_Nonlocal(self, node: ast.Nonlocal) -> None:  # noqa: N802
        """Does nothing: it is emitted where the inner function begins."""

    def _do_Global(self, node: ast.Global) -> None:  # noqa: N802
        for name in sorted(self.locals.intersection(node.names)):
            message = f"a kernel cannot assign to the global {name}: it writes to arrays"
            raise Stop(Finding("not-a-kernel", node.lineno, message))

    def _do_Pass(self, node: ast.Pass) -> None:  # noqa: N802
        self.say("pass")

    def _do_Delete(self, node: ast.Delete) -> None:  # noqa: N802
        for target in node.targets:
            if not isinstance(target, ast.Name):
                raise self.refuse(node, f"`{ast.unparse(node)}`")
            self.say(f"v_{target.id} = UNDEFINED")
            if target.id in self.watched:
                self.say(f"d_{target.id} = EMPTY")

    def _do_Assert(self, node: ast.Assert) -> None:  # noqa: N802
        message = [node.msg] if node.msg else []
        failure = ast.Call(ast.Name(AssertionError.__name__, ast.Load()), message, [])
        failed = ast.UnaryOp(ast.Not(), node.test)
        self._do_If(
            ast.copy_location(
                ast.If(failed, [ast.copy_location(ast.Raise(failure), node)], []), node
            )
        )

    def _do_Raise(self, node: ast.Raise) -> None:  # noqa: N802
        self.at(node)
        call = node.exc if isinstance(node.exc, ast.Call) else None
        kind = self.static(call.func if call else node.exc) if node.exc else MISSING
        if not (isinstance(kind, type) and issubclass(kind, Exception)):
            raise self.refuse(node, f"`{ast.unparse(node)}`")
        arguments = "".join(f"{self.expression(a)}, " for a in call.args) if call else ""
        self.say(f"m.fail(_f, {self.constant(kind)}, ({arguments}))")

    def _do_Return(self, node: ast.Return) -> None:  # noqa: N802
        self.at(node)
        self.may_diverge = node.value
        value = self.expression(node.value) if node.value else "None"
        fixed = None if self.inside else self.types.get((RETURNED, 0))
        if fixed is not None:
            value = f"settle({value}, {self.constant(fixed)})"
        self.say(f"m.give_back(_f, {value})")

    def _do_Break(self, node: ast.Break) -> None:  # noqa: N802
        self.at(node)
        self.say(f"{self.loops[-1]}.leave()")

    def _do_Continue(self, node: ast.Continue) -> None:  # noqa: N802
        self.at(node)
        self.say(f"{self.loops[-1]}.skip()")

    def _do_If(self, node: ast.If) -> None:  # noqa: N802
        self.at(node)
        branch = self.fresh("b")
        leaves = syntax.leaves(node)
        self.say(f"{branch} = m.branch({self.condition(node.test)})")
        self.say("if m.mask is not EMPTY:")
        self.indented(node.body)
        end = self.fresh("e")
        if leaves:
            self.say(f"{end} = m.mask")
        if node.orelse:
            self.say(f"m.mask = {branch}[1]")
            self.say("if m.mask is not EMPTY:")
            self.indented(node.orelse)
            if leaves:
                self.say(f"m.mask = m.whole(union({end}, m.mask), {branch}[0])")
        elif leaves:
            self.say(f"m.mask = m.whole(union({end}, {branch}[1]), {branch}[0])")
        if not leaves:
            self.say(f"m.mask = {branch}[0]")

    def indented(self, statements: Iterable[ast.stmt]) -> None:
        self.depth += 1
        self.suite(list(statements))
        self.depth -= 1

    def loop_leaves(self, node: ast.For | ast.While) -> bool:
        return any(syntax.leaves(s) for s in node.body)

    def finish_loop(self, loop: str, node: ast.For | ast.While) -> None:
        self.say(f"{loop}.finish()")
        if node.orelse:
            self.say("if m.mask is not EMPTY:")
            self.indented(node.orelse)
        self.say(f"{loop}.close()")

    def _do_For(self, node: ast.For) -> None:  # noqa: N802
        self.at(node)
        loop, item = self.fresh("l"), self.fresh("x")
        text = self.expression(node.iter)
        self.say(f"{loop} = ForLoop(m, {text}, {self.place(node)}, {self.loop_leaves(node)})")
        self.say(f"for {item} in {loop}:")
        self.loops.append(loop)
        self.depth += 1
        name = node.target.id if isinstance(node.target, ast.Name) else ""
        if self.types.get((name, node.lineno)) == UINT64:  # that of unsigned numbers
            item = f"settle({item}, {self.constant(UINT64)})"
        self.assign(node.target, item)
        self.suite(node.body)
        self.depth -= 1
        self.loops.pop()
        self.finish_loop(loop, node)

    def _do_While(self, node: ast.While) -> None:  # noqa: N802
        loop = self.fresh("l")
        inside = [n for s in node.body for n in ast.walk(s)]
        waits = not any(isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store) for n in inside)
        leaves = self.loop_leaves(node)
        state = sorted(syntax.bound([node]))
        endless = syntax.is_endless(node, set(state))
        self.say(f"{loop} = WhileLoop(m, {self.place(node)}, {leaves}, {waits}, {endless})")
        test = self.expression(node.test)
        names = ", ".join(f"v_{name}" for name in state)
        self.say(f"while {loop}.again({names}) and {loop}.test({test}):")
        self.loops.append(loop)
        self.indented(node.body)
        self.loops.pop()
        self.finish_loop(loop, node)

    # --- the whole

    def function(self) -> Translation:
        tree = self.source.tree
        arguments = tree.args
        self.reads = types_of_reads(self.source, self.types)
        self.several = several_names(self.source, self.types, self.static)
        if arguments.kwarg:
            raise self.refuse(tree, "**kwargs")
        parameters = self.source.parameters
        self.suite(tree.body)
        head = [f"def run(m{''.join(f', v_{p}' for p in parameters)}):", "    _f = m.enter()"]
        unset = sorted(syntax.bound(tree.body) - set(parameters))
        if unset:
            head.append("    " + " = ".join(f"v_{name}" for name in unset) + " = UNDEFINED")
        names = sorted(self.watched)
        if names:  # which threads have set them
            head.append("    " + " = ".join(f"d_{name}" for name in names) + " = EMPTY")
        text = "\n".join([*head, *self.lines, "    return m.exit(_f)", ""])
        exec(compile(text, f"<simt {self.source.name}>", "exec"), self.names)
        run: Translation = self.names["run"]
        run.__doc__ = text
        return run


def translate(
    source: KernelSource, types: Types | None = None, *, counting: bool, debug: bool = False
) -> Translation:
    """The function `run(m, *arguments)` that carries out a kernel on a machine `m`.

    `types` gives variables whose type Numba fixed beforehand; `counting` adds the calls
    that tell of each statement and operation, `debug` those that look for a division by zero.
    The generated text is the function's docstring.
    """
    return _Translator(source, types or {}, counting=counting, debug=debug).function()
