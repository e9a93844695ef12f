"""Arithmetic in LLVM's form, to the bit what `simt.ptx.arithmetic` computes with NumPy."""

from collections.abc import Callable
from typing import Any

import numpy as np

from simt.ptx.arithmetic import TYPES
from simt.ptx.native.emitter import FLOATS, LLVM, Emitter, NotNative, bits_of

TINY = {kind: np.finfo(TYPES[kind]).tiny for kind in ("f16", "f32", "f64")}
NUMPY = {"ex2": "exp2", "lg2": "log2", "sin": "sin", "cos": "cos", "tanh": "tanh"}
COMPARE = {"eq": "eq", "ne": "ne", "lt": "lt", "le": "le", "gt": "gt", "ge": "ge",
           "lo": "ult", "ls": "ule", "hi": "ugt", "hs": "uge"}  # fmt: skip
ROUND = {"rni": "rint", "rzi": "trunc", "rmi": "floor", "rpi": "ceil"}
FORMULAS = {
    "add": "a + b", "sub": "a - b", "mul": "a * b", "and": "a & b", "or": "a | b", "xor": "a ^ b",
    "not": "~a", "neg": "-a", "cnot": "1 if a == 0 else 0",
}  # fmt: skip
OF_FLOATS = {
    "add": "a + b", "sub": "a - b", "mul": "a * b", "div": "a / b", "neg": "-a", "rcp": "1.0 / a",
    "min": "a if a < b or b != b or low and a == b else b",
    "max": "a if a > b or b != b or low and a == b else b",
    "min.NaN": "a if a < b or a != a or low and a == b else b",
    "max.NaN": "a if a > b or a != a or low and a == b else b",
}  # fmt: skip
OF_HALVES = ("add", "sub", "mul", "fma", "min", "max", "neg", "abs")
Op = tuple[str, ...]
SHORT = {"float": "f32", "double": "f64", "half": "f16"}  # types in names of LLVM's
MODES = {"rm", "rp", "rz"}


def constant(value: Any, kind: str) -> str:
    """A number as LLVM writes it, of a type of PTX's."""
    whole = np.array(value).astype(TYPES[kind])
    if kind == "pred":
        return "true" if whole else "false"
    bits = int(whole.view(f"u{whole.itemsize}"))
    n = 8 * whole.itemsize
    return f"bitcast (i{n} {bits} to {LLVM[kind]})" if kind in FLOATS else f"{bits}"


class Arithmetic(Emitter):
    """The instructions that only compute."""

    def __init__(self) -> None:
        super().__init__()
        self.functions: set[tuple[str, str]] = set()  # of NumPy, with the type

    def cast(self, how: str, value: str, of: str, to: str) -> str:
        """A conversion of LLVM's, unless both types are one."""
        return value if of == to else self.op(f"{how} {of} {value} to {to}")

    def select(self, condition: str, kind: str, yes: str, no: str) -> str:
        """One of two values."""
        return self.op(f"select i1 {condition}, {kind} {yes}, {kind} {no}")

    def call(self, name: str, kind: str, *values: str) -> str:
        """A function of LLVM's of values of one type."""
        arguments = ", ".join(f"{kind} {v}" for v in values)
        return self.op(f"call {kind} @llvm.{name}.{SHORT.get(kind, kind)}({arguments})")

    def bits(self, value: str, of: str, to: str) -> str:
        """The same bits as another type of PTX's; the lower ones, or more of them."""
        a, b = LLVM[of], LLVM[to]
        if a == b:
            return value
        n, m = bits_of(of), bits_of(to)
        whole = self.cast("bitcast", value, a, f"i{n}")
        if n != m:
            extend = "trunc" if n > m else "sext" if of[0] == "s" else "zext"
            whole = self.op(f"{extend} i{n} {whole} to i{m}")
        return self.cast("bitcast", whole, f"i{m}", b)

    # --- operations

    def arithmetic(self, op: Op, values: list[str]) -> str:
        """The result of an arithmetic instruction."""
        name, words, kind = op[0], set(op[1:-1]), op[-1]
        known = words - {"rn", "lo", "hi", "wide", "approx", "full", "ftz", "sat", "cc", "wrapping"}
        if kind in FLOATS:
            return self._of_floats(name, words, known, kind, values)
        if kind in ("f16x2", "bf16x2"):
            halves = [[self.half(v, up, kind) for v in values] for up in (False, True)]
            low, high = (self.arithmetic((*op[:-1], kind[:-2]), half) for half in halves)
            return self.joined(low, high, kind)
        if kind == "bf16":
            wide = [self.from_bfloat16(v) for v in values]
            return self.to_bfloat16(self.arithmetic((*op[:-1], "f32"), wide))
        if kind not in LLVM or kind == "tf32":
            raise NotNative(".".join(op))
        special: Callable[..., str] | None = getattr(self, f"_op_{name}", None)
        if special is not None:
            return special(op, LLVM[kind], bits_of(kind), *values)
        t = LLVM[kind]
        if "sat" in words and name in ("add", "sub") and kind == "s32":
            return self.call(f"s{name}.sat", t, *values[:2])
        if known or "sat" in words:
            raise NotNative(".".join(op))
        if name in FORMULAS:
            return self.calc(t, FORMULAS[name], **dict(zip("abc", values, strict=False)))
        if name in ("min", "max"):
            return self.call(f"{'s' if kind[0] == 's' else 'u'}{name}", t, *values[:2])
        if name == "abs":
            return self.op(f"call {t} @llvm.abs.{t}({t} {values[0]}, i1 false)")
        raise NotNative(".".join(op))

    def _extended(self, value: str, signed: bool, n: int, m: int) -> str:
        return self.op(f"{'sext' if signed else 'zext'} i{n} {value} to i{m}")

    def _op_mul(self, op: Op, t: str, n: int, a: str, b: str, *_: str) -> str:
        if "hi" not in op and "wide" not in op:
            return self.op(f"mul {t} {a}, {b}")
        x, y = (self._extended(v, op[-1][0] == "s", n, 2 * n) for v in (a, b))
        product = self.op(f"mul i{2 * n} {x}, {y}")
        if "wide" in op:
            return product
        return self.op(f"trunc i{2 * n} {self.op(f'lshr i{2 * n} {product}, {n}')} to {t}")

    def _op_mad(self, op: Op, t: str, n: int, a: str, b: str, c: str, *_: str) -> str:
        if "sat" in op:
            raise NotNative(".".join(op))
        product = self._op_mul(op, t, n, a, b)
        return self.op(f"add i{2 * n if 'wide' in op else n} {product}, {c}")

    def _op_mul24(self, op: Op, t: str, n: int, a: str, b: str, *c: str) -> str:
        down = "ashr" if op[-1][0] == "s" else "lshr"
        x, y = (self.op(f"{down} i32 {self.op(f'shl i32 {v}, 8')}, 8") for v in (a, b))
        x, y = (self._extended(v, op[-1][0] == "s", 32, 64) for v in (x, y))
        product = self.calc("i64", f"x * y >> {16 if 'hi' in op else 0}", x=x, y=y)
        result = self.op(f"trunc i64 {product} to i32")
        return self.op(f"add i32 {result}, {c[0]}") if op[0] == "mad24" else result

    _op_mad24 = _op_mul24

    def _op_div(self, op: Op, t: str, n: int, a: str, b: str, *_: str) -> str:
        by = self.calc(t, "1 if b == 0 else b", b=b)
        if op[-1][0] != "s":
            return self.op(f"udiv {t} {a}, {by}")
        by = self.calc(t, "1 if b == -1 else by", b=b, by=by)  # by which it overflows once
        return self.calc(t, "-a if b == -1 else q", a=a, b=b, q=self.op(f"sdiv {t} {a}, {by}"))

    def _op_rem(self, op: Op, t: str, n: int, a: str, b: str, *_: str) -> str:
        return self.calc(t, "a - q * b", a=a, b=b, q=self._op_div(op, t, n, a, b))

    def _op_shr(self, op: Op, t: str, n: int, a: str, amount: str, *_: str) -> str:
        how = "shl" if op[0] == "shl" else "ashr" if op[-1][0] == "s" else "lshr"
        return self._shifted(how, n, a, amount)

    _op_shl = _op_shr

    def _shifted(self, how: str, n: int, a: str, amount: str) -> str:
        """By a number of 32 bits, of which any is allowed."""
        at_most = self.call("umin", "i32", amount, str(n - 1))
        by = self.cast("zext" if n > 32 else "trunc", at_most, "i32", f"i{n}")
        moved = self.op(f"{how} i{n} {a}, {by}")
        if how == "ashr":
            return moved
        return self.select(self.op(f"icmp uge i32 {amount}, {n}"), f"i{n}", "0", moved)

    def _op_bmsk(self, op: Op, t: str, n: int, start: str, size: str, *_: str) -> str:
        if "wrap" in op:
            start, size = (self.op(f"and i32 {v}, 31") for v in (start, size))
        ones = self.op(f"sub {t} {self._shifted('shl', n, '1', size)}, 1")
        return self._shifted("shl", n, ones, start)

    def _op_bfi(self, op: Op, t: str, n: int, a: str, b: str, start: str, size: str) -> str:
        mask = self._op_bmsk(op, t, n, start, size)
        return self.calc(t, "b & ~m | x & m", b=b, m=mask, x=self._shifted("shl", n, a, start))

    def _op_bfe(self, op: Op, t: str, n: int, a: str, start: str, size: str, *_: str) -> str:
        x, y = (self.op(f"zext i32 {v} to i64") for v in (start, size))
        left = self.call("smax", "i64", self.calc("i64", f"{n} - x - y", x=x, y=y), "0")
        how = "ashr" if op[-1][0] == "s" else "lshr"
        moved = self._shifted("shl", n, a, self.op(f"trunc i64 {left} to i32"))
        return self._shifted(how, n, moved, self.op(f"sub i32 {n}, {size}"))

    def _op_popc(self, op: Op, t: str, n: int, a: str, *_: str) -> str:
        return self.cast("trunc", self.call("ctpop", t, a), t, "i32")

    def _op_clz(self, op: Op, t: str, n: int, a: str, *_: str) -> str:
        zeros = self.op(f"call {t} @llvm.ctlz.{t}({t} {a}, i1 false)")
        return self.cast("trunc", zeros, t, "i32")

    def _op_brev(self, op: Op, t: str, n: int, a: str, *_: str) -> str:
        return self.call("bitreverse", t, a)

    def _op_bfind(self, op: Op, t: str, n: int, a: str, *_: str) -> str:
        if op[-1][0] == "s":
            a = self.op(f"xor {t} {a}, {self.op(f'ashr {t} {a}, {n - 1}')}")
        zeros = self._op_clz(op, t, n, a)
        place = zeros if "shiftamt" in op else self.op(f"sub i32 {n - 1}, {zeros}")
        return self.select(self.op(f"icmp eq {t} {a}, 0"), "i32", "-1", place)

    def _op_prmt(self, op: Op, t: str, n: int, a: str, b: str, pick: str, *_: str) -> str:
        if len(op) > 2:
            raise NotNative(".".join(op))
        low, high = (self._extended(v, False, 32, 64) for v in (a, b))
        both, result = self.calc("i64", "high << 32 | low", low=low, high=high), "0"
        for k in range(4):
            place = self.calc("i32", f"(pick >> {4 * k} & 7) << 3", pick=pick)
            place = self._extended(place, False, 32, 64)
            byte = self.op(f"trunc i64 {self.op(f'lshr i64 {both}, {place}')} to i8")
            sign = self.calc("i32", f"pick >> {4 * k + 3} & 1 != 0", pick=pick)
            byte = self.select(sign, "i8", self.op(f"ashr i8 {byte}, 7"), byte)
            byte = self._extended(byte, False, 8, 32)
            result = self.calc("i32", f"result | byte << {8 * k}", result=result, byte=byte)
        return result

    def _op_lop3(self, op: Op, t: str, n: int, *values: str) -> str:
        if not values[3].isdigit():
            raise NotNative(".".join(op))
        rows = [[(k & bit, v) for v, bit in zip("abc", (4, 2, 1), strict=True)] for k in range(8)]
        terms = [" & ".join(v if holds else f"~{v}" for holds, v in row)
                 for k, row in enumerate(rows) if int(values[3]) >> k & 1]  # fmt: skip
        return self.calc(t, " | ".join(terms) or "0", **dict(zip("abc", values, strict=False)))

    def _op_sad(self, op: Op, t: str, n: int, a: str, b: str, c: str, *_: str) -> str:
        more = self.op(f"icmp {'s' if op[-1][0] == 's' else 'u'}gt {t} {a}, {b}")
        return self.calc(t, "(a - b if more else b - a) + c", a=a, b=b, c=c, more=more)

    def _op_shf(self, op: Op, t: str, n: int, low: str, high: str, amount: str, *_: str) -> str:
        moved = self.call("fshl" if "l" in op else "fshr", "i32", high, low, amount)
        end = low if "l" in op else high  # what is left of 32 bits and more
        if "wrap" in op:
            return moved
        return self.calc("i32", "moved if n < 32 else end", moved=moved, n=amount, end=end)

    def _parts(self, value: str, signed: bool, size: int, count: int) -> list[str]:
        """The first parts of a register, each as 32 bits."""
        return [
            self._extended(
                self.op(f"trunc i32 {self.op(f'lshr i32 {value}, {size * k}')} to i{size}"),
                signed, size, 32,
            )
            for k in range(count)
        ]  # fmt: skip

    def _op_dp4a(self, op: Op, t: str, n: int, a: str, b: str, c: str, *_: str) -> str:
        x = self._parts(a, op[-2][0] == "s", *((8, 4) if op[0] == "dp4a" else (16, 2)))
        y = self._parts(b, op[-1][0] == "s", 8, 4)[2 if "hi" in op else 0 :]
        for left, right in zip(x, y, strict=False):
            c = self.calc("i32", "c + a * b", c=c, a=left, b=right)
        return c

    _op_dp2a = _op_dp4a

    def with_carry(self, op: Op, carry: str, values: list[str]) -> tuple[str, str]:
        """`add.cc` and its kin: the result and what is carried on, both predicates aside."""
        t = LLVM[op[-1]]
        *factors, y = values[: 3 if op[0].startswith("mad") else 2]
        x = self._op_mul(op, t, bits_of(op[-1]), *factors) if factors[1:] else factors[0]
        into = self.op(f"zext i1 {carry} to {t}")
        if op[0].startswith("sub"):
            first, into = self.op(f"sub {t} {x}, {y}"), self.op(f"sub {t} 1, {into}")
            holds = self.calc(t, "x >= y and first >= into", x=x, y=y, first=first, into=into)
            return self.op(f"sub {t} {first}, {into}"), holds
        first = self.op(f"add {t} {x}, {y}")
        result = self.op(f"add {t} {first}, {into}")
        return result, self.calc(t, "a < x or b < a", a=first, b=result, x=x)

    # --- floats

    def half(self, value: str, up: bool, kind: str) -> str:
        """One of the two numbers in a register."""
        moved = self.op(f"lshr i32 {value}, 16") if up else value
        return self.bits(self.op(f"trunc i32 {moved} to i16"), "b16", kind[:-2])

    def joined(self, low: str, high: str, kind: str) -> str:
        """Two numbers in one register."""
        below, above = (
            self._extended(self.bits(v, kind[:-2], "b16"), False, 16, 32) for v in (low, high)
        )
        return self.op(f"or i32 {self.op(f'shl i32 {above}, 16')}, {below}")

    def packed(self, parts: list[str], size: int, n: int) -> str:
        """Numbers of so many bits as one of n, the first one lowest."""
        whole = "0"
        for k, part in enumerate(parts):
            wide = self.cast("zext", part, f"i{size}", f"i{n}")
            whole = self.calc(f"i{n}", f"a | b << {k * size}", a=whole, b=wide)
        return whole

    def unpacked(self, value: str, size: int, n: int) -> list[str]:
        """The numbers of so many bits in one of n."""
        moved = (self.op(f"lshr i{n} {value}, {start}") for start in range(0, n, size))
        return [self.cast("trunc", part, f"i{n}", f"i{size}") for part in moved]

    def from_bfloat16(self, value: str) -> str:
        """The bits of a bfloat16 as a float32."""
        bits = self.op(f"shl i32 {self._extended(value, False, 16, 32)}, 16")
        return self.op(f"bitcast i32 {bits} to float")

    def to_bfloat16(self, value: str, mode: str = "rn") -> str:
        """A float32 as the bits of a bfloat16, to the nearest even one or towards zero."""
        bits = self.op(f"bitcast float {value} to i32")
        if mode == "rz":
            return self.op(f"trunc i32 {self.op(f'lshr i32 {bits}, 16')} to i16")
        near = self.calc("i32", "bits + 32767 + (bits >> 16 & 1)", bits=bits)
        nan = self.calc("float", "x != x", x=value)
        top = self.calc("i32", f"({0x7FFF0000} if nan else near) >> 16", nan=nan, near=near)
        return self.op(f"trunc i32 {top} to i16")

    def _to_half(self, value: str) -> str:
        """A float64 as the nearest float16: by a float32 that is rounded to odd."""
        near = self.rounded(value, "rz")
        back = self.op(f"fpext float {near} to double")
        inexact = self._extended(self.calc("double", "x != y", x=back, y=value), False, 1, 32)
        bits, nan = self.op(f"bitcast float {near} to i32"), self.calc("float", "x != x", x=near)
        odd = self.calc("i32", "bits if nan else bits | more", bits=bits, nan=nan, more=inexact)
        return self.op(f"fptrunc float {self.op(f'bitcast i32 {odd} to float')} to half")

    def _of_floats(
        self, name: str, words: set[str], known: set[str], kind: str, values: list[str]
    ) -> str:
        t = LLVM[kind]
        modes = set() if "approx" in words or name in NUMPY else known & MODES
        small = kind == "f16" and name not in OF_HALVES
        if "NaN" in words:
            name = f"{name}.NaN"
        if known - MODES - {"relu", "NaN"} or small or (modes and kind not in ("f32", "f64")):
            raise NotNative(f"{name} of {kind}")
        if "ftz" in words:
            values = [self.flushed(v, kind) for v in values]
        if modes:
            result = self._directed(name, modes.pop(), kind, values)
        elif name in OF_FLOATS:
            named = dict(zip("ab", values, strict=False))
            if name[:3] in ("min", "max"):  # -0 is less than 0
                bits = self.op(f"bitcast {t} {values[name[1] == 'a']} to i{bits_of(kind)}")
                named["low"] = self.op(f"icmp slt i{bits_of(kind)} {bits}, 0")
            result = self.calc(t, OF_FLOATS[name], **named)
        elif name == "fma" and kind == "f16":  # as the executor: the sum is rounded as a float64
            a, b, c = (self.op(f"fpext half {v} to double") for v in values[:3])
            result = self._to_half(self.calc("double", "a * b + c", a=a, b=b, c=c))
        elif name in ("fma", "mad"):
            result = self.call("fma", t, *values[:3])
        elif name == "abs":
            result = self.call("fabs", t, values[0])
        elif name == "copysign":
            result = self.call("copysign", t, values[1], values[0])
        elif name in ("sqrt", "rsqrt"):
            root = self.call("sqrt", t, values[0])
            result = root if name == "sqrt" else self.calc(t, "1.0 / a", a=root)
        elif name in NUMPY:
            self.functions.add((NUMPY[name], kind))
            result = self.op(f"call {t} @numpy.{NUMPY[name]}.{kind}({t} {values[0]})")
        else:
            raise NotNative(f"{name} of {kind}")
        if "ftz" in words:
            result = self.flushed(result, kind)
        if "relu" in words:
            result = self.calc(t, "zero if x < zero else x", x=result, zero=constant(0, kind))
        return self.saturated(result, kind) if "sat" in words else result

    def flushed(self, value: str, kind: str) -> str:
        """`.ftz`: zero of its sign for a number below full width."""
        t = LLVM[kind]
        small = self.op(f"fcmp olt {t} {self.call('fabs', t, value)}, {constant(TINY[kind], kind)}")
        return self.select(small, t, self.call("copysign", t, constant(0, kind), value), value)

    def saturated(self, value: str, kind: str) -> str:
        """From 0 to 1; 0 for a NaN."""
        names = {"one": constant(1, kind), "zero": constant(0, kind)}
        for formula in ("zero if x < zero or x != x else x", "one if x > one else x"):
            value = self.calc(LLVM[kind], formula, x=value, **names)
        return value

    def _directed(self, name: str, mode: str, kind: str, values: list[str]) -> str:
        """An operation of float32 or float64 that is not rounded to nearest."""
        single = kind == "f32"  # no float64 of one operation is a float32 unless it is exact
        if single:
            values = [self.op(f"fpext float {v} to double") for v in values]
        a, b, *c = values if len(values) > 1 else ("1.0", *values)
        if name in ("add", "sub"):
            b = self.op(f"fneg double {b}") if name == "sub" else b
            near = self._odd_sum(a, b) if single else self.op(f"fadd double {a}, {b}")
            small, big = self._by_size(a, b)
            error = self.calc("double", "small - (near - big)", small=small, big=big, near=near)
        elif name == "mul":
            near = self.op(f"fmul double {a}, {b}")
            error = self.op(f"fneg double {self._left(near, a, b)}")
        elif name in ("div", "rcp"):
            near, sign = self.op(f"fdiv double {a}, {b}"), self.call("copysign", "double", "1.0", b)
            error = self.op(f"fmul double {sign}, {self._left(a, near, b)}")
        elif name == "sqrt":
            near = self.call("sqrt", "double", b)
            error = self._left(b, near, near)
        elif name in ("fma", "mad") and single:
            near = error = self._odd_sum(self.op(f"fmul double {a}, {b}"), c[0])
        else:
            raise NotNative(f"{name}.{mode}.{kind}")
        return self.rounded(near, mode) if single else self._to_the_side(near, error, mode, kind)

    def _odd_sum(self, p: str, c: str) -> str:
        """As `simt.ptx.arithmetic.odd_sum`."""
        s = self.op(f"fadd double {p}, {c}")
        t = self.op(f"fsub double {s}, {p}")
        error = self.calc("double", "(p - (s - t)) + (c - t)", p=p, c=c, s=s, t=t)
        bits, size = self.op(f"bitcast double {s} to i64"), self.call("fabs", "double", s)
        known = self.calc("double", "error < 0.0 or error > 0.0", error=error)
        most = constant(np.inf, "f64")
        known = self.calc("double", "known and x < most", known=known, x=size, most=most)
        up, plus = (self.calc("double", "x > 0.0", x=x) for x in (error, s))
        step = self.select(self.op(f"icmp eq i1 {up}, {plus}"), "i64", "1", "-1")
        odd = "b + step if known and b & 1 == 0 else b"
        moved = self.calc("i64", odd, b=bits, step=step, known=known)
        return self.op(f"bitcast i64 {moved} to double")

    def _by_size(self, x: str, y: str) -> tuple[str, str]:
        sizes = [self.call("fabs", "double", v) for v in (x, y)]
        less = self.op(f"fcmp olt double {sizes[0]}, {sizes[1]}")
        return self.select(less, "double", x, y), self.select(less, "double", y, x)

    def _left(self, c: str, x: str, y: str) -> str:
        """A number of the sign of c - x * y, where c, x or y is rounded so that it is near 0."""
        size, up = self.call("fabs", "double", c), constant(2.0**600, "f64")
        tiny = self.op(f"fcmp olt double {size}, {constant(2.0**-900, 'f64')}")
        zero, (x, y) = self.op(f"fcmp oeq double {c}, 0.0"), self._by_size(x, y)
        by, more = (self.select(test, "double", up, "1.0") for test in (tiny, zero))
        c, x, y = (self.op(f"fmul double {v}, {k}") for v, k in ((c, by), (x, by), (y, more)))
        return self.call("fma", "double", self.op(f"fneg double {x}"), y, c)

    def rounded(self, value: str, mode: str) -> str:
        """float64 to float32: down ("rm"), up ("rp") or to zero ("rz")."""
        near = self.op(f"fptrunc double {value} to float")
        error = self.op(f"fsub double {value}, {self.op(f'fpext float {near} to double')}")
        return self._to_the_side(near, error, mode, "f32")

    def _to_the_side(self, near: str, error: str, mode: str, kind: str) -> str:
        """The float to that side of an exact value which is `error` above the nearest float."""
        t, sides = LLVM[kind], [self._next(near, kind, down=down) for down in (True, False)]
        down, up = (self.op(f"fcmp {test} {t} {near}, 0.0") for test in ("ogt", "olt"))
        down, up = {"rm": ("true", "false"), "rp": ("false", "true")}.get(mode, (down, up))
        below, above = (self.op(f"fcmp {test} double {error}, 0.0") for test in ("olt", "ogt"))
        lower = self.select(self.op(f"and i1 {down}, {below}"), t, sides[0], near)
        return self.select(self.op(f"and i1 {up}, {above}"), t, sides[1], lower)

    def _next(self, value: str, kind: str, *, down: bool) -> str:
        """The next float below or above one that is no NaN."""
        t, n = LLVM[kind], bits_of(kind)
        bits, zero = self.op(f"bitcast {t} {value} to i{n}"), self.calc(t, "x == 0.0", x=value)
        smaller = f"bits {'<' if down else '>='} {1 << n - 1}"  # in size
        least = (1 << n - 1) + 1 if down else 1
        formula = f"{least} if zero else bits - 1 if {smaller} else bits + 1"
        return self.op(f"bitcast i{n} {self.calc(f'i{n}', formula, zero=zero, bits=bits)} to {t}")

    # --- comparisons and conversions

    def compare(self, op: Op, values: list[str]) -> str:
        """`setp` and `set`: whether a comparison holds."""
        word, kind = op[1], op[-1]
        if kind == "bf16":
            return self.compare((*op[:-1], "f32"), [self.from_bfloat16(v) for v in values])
        if kind not in LLVM or kind.endswith("x2"):
            raise NotNative(".".join(op))
        t, (a, b) = LLVM[kind], values[:2]
        if kind in FLOATS:
            if "ftz" in op:
                a, b = self.flushed(a, kind), self.flushed(b, kind)
            test = {"num": "ord", "nan": "uno"}.get(word) or (
                f"u{word[:-1]}" if word not in COMPARE else f"o{word}"
            )
            return self.op(f"fcmp {test} {t} {a}, {b}")
        test = COMPARE[word]
        if test in ("lt", "le", "gt", "ge"):
            test = f"{'s' if kind[0] == 's' else 'u'}{test}"
        return self.op(f"icmp {test} {t} {a}, {b}")

    def converted(self, op: Op, value: str) -> str:
        """`cvt` of one number."""
        to, of = op[-2:]
        words = set(op[1:-2])
        if (to, of, words) == ("tf32", "f32", {"rna"}):
            formula = "b + 4096 & 4294959104 if b & 2139095040 != 2139095040 else b"
            return self.calc("i32", formula, b=self.bits(value, of, "u32"))
        unknown = words - {"rn", "ftz", "sat", *ROUND} - MODES or {to, of} - LLVM.keys()
        if unknown or {"tf32", "f16x2", "bf16x2"} & {to, of}:
            raise NotNative(".".join(op))
        if of == "bf16":
            return self.converted((*op[:-1], "f32"), self.from_bfloat16(value))
        if to == "bf16":
            if op[1:-2] not in (("rn",), ("rz",)) or of not in ("f32", "f16"):
                raise NotNative(".".join(op))
            wide = value if of == "f32" else self.op(f"fpext half {value} to float")
            return self.to_bfloat16(wide, op[1])
        a, b = LLVM[of], LLVM[to]
        if of not in FLOATS and to not in FLOATS:
            if "sat" in words:
                value = self._limited(value, of, to)
            return self.bits(value, of, to)
        if of not in FLOATS:
            modes = words & MODES
            if modes and (to != "f32" or bits_of(of) > 32):
                raise NotNative(".".join(op))
            wide = "double" if modes else "float" if to == "f16" else b
            value = self.op(f"{'s' if of[0] == 's' else 'u'}itofp {a} {value} to {wide}")
            value = (
                self.rounded(value, modes.pop()) if modes else self.cast("fptrunc", value, wide, b)
            )
            return self.saturated(value, to) if "sat" in words else value
        if "ftz" in words and of == "f32":
            value = self.flushed(value, of)
        for word in words & ROUND.keys():
            value = self.call(ROUND[word], a, value)
        if to not in FLOATS:
            return self._to_whole(value, of, to)
        modes = words & MODES
        if modes and (of, to) != ("f64", "f32"):
            raise NotNative(".".join(op))
        if modes:
            value = self.rounded(value, modes.pop())
        elif bits_of(of) < bits_of(to):
            value = self.op(f"fpext {a} {value} to {b}")
        elif bits_of(of) > bits_of(to):
            half = (of, to) == ("f64", "f16")
            value = self._to_half(value) if half else self.op(f"fptrunc {a} {value} to {b}")
        if "sat" in words:
            value = self.saturated(value, to)
        return value

    def _limited(self, value: str, of: str, to: str) -> str:
        """A whole number limited to those of another type."""
        mine, other = (np.iinfo(TYPES[k]) for k in (of, to))
        for name, bound in (("max", max(other.min, mine.min)), ("min", min(other.max, mine.max))):
            sign = "s" if of[0] == "s" else "u"
            value = self.call(f"{sign}{name}", LLVM[of], value, constant(bound, of))
        return value

    def _to_whole(self, value: str, of: str, to: str) -> str:
        """A float that is rounded already as the nearest whole number that there is."""
        if of == "f16":
            value, of = self.op(f"fpext half {value} to float"), "f32"
        b, n = LLVM[to], bits_of(to)
        how = f"@llvm.fpto{'s' if to[0] == 's' else 'u'}i.sat.{b}.{of}"
        whole = self.op(f"call {b} {how}({LLVM[of]} {value})")
        top = 0 if max(bits_of(of), n) < 64 else 1 << n - 1
        nan = self.calc(LLVM[of], "x != x", x=value)
        return self.calc(b, f"{top} if nan else whole", whole=whole, nan=nan)
