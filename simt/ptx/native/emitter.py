"""LLVM's intermediate form as text, line by line; and why a kernel is not translated."""

import ast
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache, reduce
from typing import Any

LLVM = {
    "pred": "i1", "b8": "i8", "u8": "i8", "s8": "i8", "b16": "i16", "u16": "i16", "s16": "i16",
    "bf16": "i16", "b32": "i32", "u32": "i32", "s32": "i32", "f16x2": "i32", "bf16x2": "i32",
    "tf32": "i32", "b64": "i64", "u64": "i64", "s64": "i64", "f32": "float", "f64": "double",
    "f16": "half",
}  # fmt: skip
FLOATS = {"f16": 16, "f32": 32, "f64": 64}
OPERATORS = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "div", ast.BitAnd: "and",
    ast.BitOr: "or", ast.BitXor: "xor", ast.LShift: "shl", ast.RShift: "lshr",
    ast.And: "and", ast.Or: "or",
}  # fmt: skip
TESTS = {  # of whole numbers without a sign, and of floats: a NaN is unlike all
    ast.Eq: ("eq", "oeq"), ast.NotEq: ("ne", "une"), ast.Lt: ("ult", "olt"),
    ast.LtE: ("ule", "ole"), ast.Gt: ("ugt", "ogt"), ast.GtE: ("uge", "oge"),
}  # fmt: skip
parsed = cache(lambda formula: ast.parse(formula, mode="eval").body)


class NotNative(Exception):  # noqa: N818 - control flow inside the package, never shown
    """A kernel is left to the executor, for the reason that this says."""


def bits_of(kind: str) -> int:
    """The bits of a type of PTX's; 1 for a predicate."""
    if kind not in LLVM:
        raise NotNative(f"the type {kind}")
    named = LLVM[kind]
    return int(named[1:]) if named[0] == "i" else FLOATS[kind]


class Emitter:
    """The lines of a function; whatever follows a jump is a block of its own."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.variables: list[str] = []  # what the function's first block makes room for
        self._count = 0
        self._open = True

    def name(self, stem: str = "t") -> str:
        """A new name."""
        self._count += 1
        return f"{stem}.{self._count}"

    def do(self, text: str) -> None:
        """An instruction without a result."""
        if not self._open:
            self.label(self.name("dead"))
        self.lines.append(f"  {text}")

    def op(self, text: str) -> str:
        """An instruction; the name of its result."""
        name = f"%{self.name()}"
        self.do(f"{name} = {text}")
        return name

    def calc(self, kind: str, formula: str, **values: str) -> str:
        """What a formula in Python's notation gives, for numbers of one type of LLVM's."""
        floats = kind[0] != "i"

        def value(node: Any) -> str:
            match node:
                case ast.Name():
                    return values[node.id]
                case ast.Constant(value=number):
                    return f"{number!r}"
                case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=number)):
                    return f"-{number!r}"
                case ast.UnaryOp():
                    minus = f"fneg {kind} " if floats else f"sub {kind} 0, "
                    start = {
                        ast.USub: minus,
                        ast.Invert: f"xor {kind} -1, ",
                        ast.Not: "xor i1 true, ",
                    }
                    return self.op(start[type(node.op)] + value(node.operand))
                case ast.BinOp():
                    x, y = value(node.left), value(node.right)
                    return self.op(f"{'f' * floats}{OPERATORS[type(node.op)]} {kind} {x}, {y}")
                case ast.Compare():
                    x, y = value(node.left), value(node.comparators[0])
                    test = TESTS[type(node.ops[0])][floats]
                    return self.op(f"{'if'[floats]}cmp {test} {kind} {x}, {y}")
                case ast.BoolOp():
                    word = OPERATORS[type(node.op)]
                    return reduce(
                        lambda x, y: self.op(f"{word} i1 {x}, {y}"), map(value, node.values)
                    )
                case ast.IfExp():
                    holds, x, y = map(value, (node.test, node.body, node.orelse))
                    return self.op(f"select i1 {holds}, {kind} {x}, {kind} {y}")
            raise ValueError(formula)

        return value(parsed(formula))

    def variable(self, kind: str, stem: str = "v") -> str:
        """The address of a new variable of the function."""
        place = f"%{self.name(stem)}"
        self.variables.append(f"  {place} = alloca {kind}")
        return place

    def at(self, base: str, index: str | int, kind: str = "i32") -> str:
        """The address of an element of an array."""
        return self.op(f"getelementptr {kind}, ptr {base}, i64 {index}")

    def get(self, place: str, kind: str = "i32") -> str:
        """What is at an address."""
        return self.op(f"load {kind}, ptr {place}")

    def set(self, place: str, value: str | int, kind: str = "i32") -> None:
        """Puts something at an address."""
        self.do(f"store {kind} {value}, ptr {place}")

    def update(self, place: str, formula: str, kind: str = "i32", **values: str) -> None:
        """Puts what `calc` makes of `x`, which is there, in its place."""
        self.set(place, self.calc(kind, formula, x=self.get(place, kind), **values), kind)

    def label(self, name: str) -> None:
        """The start of a basic block."""
        if self._open:
            self.lines.append(f"  br label %{name}")
        self.lines.append(f"{name}:")
        self._open = True

    def jump(self, target: str) -> None:
        """Goes on at a label."""
        self.do(f"br label %{target}")
        self._open = False

    def branch(self, condition: str, target: str, other: str, *, rare: bool = False) -> None:
        """Goes on at one of two labels; `rare` says that the first is hardly ever the one."""
        weights = ", !prof !1" if rare else ""
        self.do(f"br i1 {condition}, label %{target}, label %{other}{weights}")
        self._open = False

    def leave(self, text: str) -> None:
        """Ends the function, or a block by another kind of jump."""
        self.do(text)
        self._open = False

    def unless(self, condition: str, target: str) -> None:
        """Goes on at a label where a condition, which hardly ever does, holds."""
        on = self.name("on")
        self.branch(condition, target, on, rare=True)
        self.label(on)

    @contextmanager
    def when(self, condition: str) -> Iterator[None]:
        """What is done where a condition holds."""
        then, on = self.name("then"), self.name("on")
        self.branch(condition, then, on)
        self.label(then)
        yield
        self.label(on)

    @contextmanager
    def each(self, count: str, kind: str = "i32") -> Iterator[str]:
        """A loop over the numbers below a count; gives the number."""
        head, body, end = self.name("head"), self.name("body"), self.name("end")
        place = self.variable(kind, "n")
        self.do(f"store {kind} 0, ptr {place}")
        self.label(head)
        number = self.op(f"load {kind}, ptr {place}")
        self.branch(self.op(f"icmp ult {kind} {number}, {count}"), body, end)
        self.label(body)
        yield number
        self.do(f"store {kind} {self.op(f'add {kind} {number}, 1')}, ptr {place}")
        self.jump(head)
        self.label(end)
