"""The expressions of a random kernel: numbers and conditions, no operation undefined."""

import copy
from collections.abc import Callable
from dataclasses import dataclass, field

Choose = Callable[[int], int]

INT_OPS = ["+", "-", "*", "&", "|", "^", "//", "%", "<<", ">>"]
FLOAT_OPS = ["+", "-", "*", "/", "%", "//"]
COMPARE = ["<", "<=", ">", ">=", "==", "!="]


@dataclass
class Scope:
    """What may be written at this point."""

    ints: list[str] = field(default_factory=list)
    floats: list[str] = field(default_factory=list)
    locals: list[str] = field(default_factory=list)
    complexes: list[str] = field(default_factory=list)
    loop: bool = False
    leave: str | None = None  # the statement that leaves the function early, if allowed

    def inner(self, *, loop: bool | None = None) -> "Scope":
        within = copy.deepcopy(self)
        within.loop = self.loop if loop is None else loop
        return within


class Expressions:
    """Writes expressions, and lines of them."""

    def __init__(self, choose: Choose) -> None:
        self.choose = choose
        self.lines: list[str] = []
        self.indent = 1
        self.fresh = 0
        self.in_kernel = False
        self.helpers = {"int": 0, "float": 0, "pair": 0}

    def pick(self, options: list[str]) -> str:
        return options[self.choose(len(options))]

    def say(self, line: str) -> None:
        self.lines.append("    " * self.indent + line)

    def name(self, letter: str) -> str:
        self.fresh += 1
        return f"{letter}{self.fresh}"

    # --- expressions -------------------------------------------------------------

    def integer(self, scope: Scope, depth: int = 2) -> str:
        if depth == 0 or self.choose(4) == 0:
            leaves = [*scope.ints, str(self.choose(9) - 3)]
            if self.in_kernel:
                # a bare unsigned one would make the whole expression float64, as in NumPy
                leaves += ["i4[i]", "i8[i]", "i2[i]", "(u1[i] - 3)", "(u4[i] * 2)", "t", "n"]
                leaves += ["cuda.blockIdx.x", "cuda.blockDim.x", "oi4[i]"]
            return self.pick(leaves)
        a = self.integer(scope, depth - 1)
        form = self.choose(14)
        if form < 7:
            op = self.pick(INT_OPS)
            if op in ("//", "%"):
                divisors = ["3", "7", "-5", f"(({self.integer(scope, 0)}) % 4 + 1)"]
                return f"({a} {op} {self.pick(divisors)})"
            b = self.integer(scope, depth - 1)
            return f"({a} {op} ({b} & 7))" if op in ("<<", ">>") else f"({a} {op} {b})"
        if form == 7:
            return f"({a} if {self.condition(scope, depth - 1)} else {self.integer(scope, 0)})"
        if form == 8:
            return self.pick([f"(-{a})", f"(~{a})", f"abs({a})", f"({a} ** 2)"])
        if form == 9:
            return self.pick([f"np.int32({a})", f"(np.uint8({a}) + 0)", f"np.int64({a})"])
        if form == 10 and self.in_kernel:
            return self.pick(["int(f4[i])", "int(f8[i])", "int(math.floor(f8[i]))"])
        if form == 11 and self.helpers["int"]:
            return f"whole{self.choose(self.helpers['int'])}({a}, {self.integer(scope, 0)})"
        if form == 12:
            return f"({self.integer(scope, 0)}, {a}, {self.integer(scope, 0)})[{self.choose(3)}]"
        return f"({self.condition(scope, depth - 1)}) + {a}"

    def real(self, scope: Scope, depth: int = 2) -> str:
        if depth == 0 or self.choose(4) == 0:
            constant = f"{(self.choose(17) - 8) / 4}"
            leaves = [*scope.floats, *scope.floats, constant, f"np.float32({constant})"]
            leaves += ["0.1", "np.float32(0.1)"]  # which is more than 0.1
            if self.in_kernel:
                leaves += ["f4[i]", "f8[i]", "x", "f4[i] * f4[i]", "f4[i] * u1[i]", "of8[i]"]
                leaves += ["math.ceil(f4[i])", "math.floor(f8[i])"]
            return self.pick(leaves)
        a = self.real(scope, depth - 1)
        form = self.choose(13)
        if form < 6:
            op = self.pick(FLOAT_OPS)
            if op in ("%", "//"):
                return f"({a} {op} {self.pick(['1.5', '-2.0', 'np.float32(0.75)'])})"
            return f"({a} {op} {self.real(scope, depth - 1)})"
        if form == 6:
            return f"({a} {self.pick(['+', '-', '*'])} {self.integer(scope, depth - 1)})"
        if form == 7:
            return f"({a} if {self.condition(scope, depth - 1)} else {self.real(scope, 0)})"
        if form == 8:
            return self.pick([f"(-{a})", f"abs({a})", f"math.sqrt(abs({a}))", f"math.fabs({a})"])
        if form == 9:
            b = self.integer(scope, 0)
            return self.pick([f"np.float32({a})", f"float({b})", f"np.float64({a})"])
        if form == 10:
            return f"({self.integer(scope, 0)} / {self.pick(['3', '4.0', '-7'])})"
        if form == 11 and self.helpers["float"]:
            return f"part{self.choose(self.helpers['float'])}({a}, {self.real(scope, 0)})"
        if scope.locals:
            return f"{self.pick(scope.locals)}[({self.integer(scope, 0)}) % 4]"
        return a

    def condition(self, scope: Scope, depth: int = 1) -> str:
        form = self.choose(10)
        if form > 7 and self.in_kernel:  # the same for every thread: names join all the same
            return self.pick([f"n > {self.choose(6)}", f"x < {self.choose(9) - 4}.5"])
        side = self.integer if self.choose(2) else self.real
        a, b = side(scope, max(depth, 0)), side(scope, 0)
        if form < 4:
            return f"{a} {self.pick(COMPARE)} {b}"
        if form == 4:
            return f"{a} < {b} <= {side(scope, 0)}"
        if form == 5:
            return f"not ({a} > {b})"
        other = f"{self.integer(scope, 0)} {self.pick(COMPARE)} {self.integer(scope, 0)}"
        return f"({a} > {b} {self.pick(['and', 'or'])} {other})"
