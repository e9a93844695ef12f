"""Arithmetic in LLVM's form, to the bit what `simt.ptx.arithmetic` computes with NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from simt.ptx.arithmetic import TYPES
from simt.ptx.native.emitter import FLOATS, LLVM, Emitter, NotNative, bits_of

__all__ = ["Arithmetic"]

TINY = {
    "f16": np.finfo(np.float16).tiny,
    "f32": np.float32(np.finfo(np.float32).tiny),
    "f64": np.finfo(np.float64).tiny,
}
NUMPY = {"ex2": "exp2", "lg2": "log2", "sin": "sin", "cos": "cos", "tanh": "tanh"}
COMPARE = {"eq": "eq", "ne": "ne", "lt": "lt", "le": "le", "gt": "gt", "ge": "ge",
           "lo": "ult", "ls": "ule", "hi": "ugt", "hs": "uge"}  # fmt: skip
ROUND = {"rni": "rint", "rzi": "trunc", "rmi": "floor", "rpi": "ceil"}
PLAIN = {word: word + " {t} {a}, {b}" for word in ("add", "sub", "mul", "and", "or", "xor")} | {
    "neg": "sub {t} 0, {a}", "not": "xor {t} {a}, -1",
    "abs": "call {t} @llvm.abs.{t}({t} {a}, i1 0)",
}  # fmt: skip
HALF = {"add", "sub", "mul", "fma", "min", "max", "neg", "abs"}  # operations of float16
MODES = {"rm", "rp", "rz"}


def constant(value: Any, kind: str) -> str:
    """A number as LLVM writes it, of a type of PTX's."""
    whole = np.array(value).astype(TYPES[kind])
    if kind == "pred":
        return "true" if whole else "false"
    bits = int(whole.view(f"u{whole.itemsize}"))
    return (
        f"bitcast (i{8 * whole.itemsize} {bits} to {LLVM[kind]})" if kind in FLOATS else f"{bits}"
    )


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
        return self.op(f"call {kind} @llvm.{name}.{_short(kind)}({arguments})")

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

    def arithmetic(self, op: tuple[str, ...], values: list[str]) -> str:
        """The result of an arithmetic instruction.

        Raises:
            NotNative: it is none of those that are translated.
        """
        name, words, kind = op[0], set(op[1:-1]), op[-1]
        known = words - {"rn", "lo", "hi", "wide", "approx", "full", "ftz", "sat", "cc", "wrapping"}
        if kind in FLOATS:
            return self._of_floats(name, words, known, kind, values)
        if kind in ("f16x2", "bf16x2"):
            halves = [[self._half(v, up, kind) for v in values] for up in (False, True)]
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
        if name in PLAIN:
            return self.op(PLAIN[name].format(t=t, a=values[0], b=(values * 2)[1]))
        if name in ("min", "max"):
            return self.call(f"{'s' if kind[0] == 's' else 'u'}{name}", t, *values[:2])
        if name == "cnot":
            return self.cast("zext", self.op(f"icmp eq {t} {values[0]}, 0"), "i1", t)
        raise NotNative(".".join(op))

    def _extended(self, value: str, signed: bool, n: int, m: int) -> str:
        return self.op(f"{'sext' if signed else 'zext'} i{n} {value} to i{m}")

    def _op_mul(self, op: tuple[str, ...], t: str, n: int, a: str, b: str, *_: str) -> str:
        if "hi" not in op and "wide" not in op:
            return self.op(f"mul {t} {a}, {b}")
        x, y = (self._extended(v, op[-1][0] == "s", n, 2 * n) for v in (a, b))
        product = self.op(f"mul i{2 * n} {x}, {y}")
        if "wide" in op:
            return product
        return self.op(f"trunc i{2 * n} {self.op(f'lshr i{2 * n} {product}, {n}')} to {t}")

    def _op_mad(self, op: tuple[str, ...], t: str, n: int, a: str, b: str, c: str, *_: str) -> str:
        if "sat" in op:
            raise NotNative(".".join(op))
        product = self._op_mul(op, t, n, a, b)
        return self.op(f"add i{2 * n if 'wide' in op else n} {product}, {c}")

    def _op_mul24(self, op: tuple[str, ...], t: str, n: int, a: str, b: str, *c: str) -> str:
        down, x = "ashr" if op[-1][0] == "s" else "lshr", []
        for v in (a, b):
            low = self.op(f"{down} i32 {self.op(f'shl i32 {v}, 8')}, 8")
            x.append(self._extended(low, op[-1][0] == "s", 32, 64))
        product = self.op(f"mul i64 {x[0]}, {x[1]}")
        moved = self.op(f"lshr i64 {product}, {16 if 'hi' in op else 0}")
        result = self.op(f"trunc i64 {moved} to i32")
        return self.op(f"add i32 {result}, {c[0]}") if op[0] == "mad24" else result

    _op_mad24 = _op_mul24

    def _op_div(self, op: tuple[str, ...], t: str, n: int, a: str, b: str, *_: str) -> str:
        by = self.select(self.op(f"icmp eq {t} {b}, 0"), t, "1", b)
        if op[-1][0] != "s":
            return self.op(f"udiv {t} {a}, {by}")
        minus = self.op(f"icmp eq {t} {b}, -1")  # which overflows once
        quotient = self.op(f"sdiv {t} {a}, {self.select(minus, t, '1', by)}")
        return self.select(minus, t, self.op(f"sub {t} 0, {a}"), quotient)

    def _op_rem(self, op: tuple[str, ...], t: str, n: int, a: str, b: str, *_: str) -> str:
        whole = self.op(f"mul {t} {self._op_div(op, t, n, a, b)}, {b}")
        return self.op(f"sub {t} {a}, {whole}")

    def _op_shl(self, op: tuple[str, ...], t: str, n: int, a: str, amount: str, *_: str) -> str:
        right = "ashr" if op[-1][0] == "s" else "lshr"
        return self._shifted("shl" if op[0] == "shl" else right, n, a, amount)

    _op_shr = _op_shl

    def _shifted(self, how: str, n: int, a: str, amount: str) -> str:
        """By a number of 32 bits, of which any is allowed."""
        at_most = self.op(f"call i32 @llvm.umin.i32(i32 {amount}, i32 {n - 1})")
        by = self.cast("zext" if n > 32 else "trunc", at_most, "i32", f"i{n}")
        moved = self.op(f"{how} i{n} {a}, {by}")
        if how == "ashr":
            return moved
        return self.select(self.op(f"icmp uge i32 {amount}, {n}"), f"i{n}", "0", moved)

    def _op_bfi(
        self, op: tuple[str, ...], t: str, n: int, a: str, b: str, start: str, size: str
    ) -> str:
        ones = self.op(f"sub {t} {self._shifted('shl', n, '1', size)}, 1")
        mask = self._shifted("shl", n, ones, start)
        inner = self.op(f"and {t} {self._shifted('shl', n, a, start)}, {mask}")
        outer = self.op(f"and {t} {b}, {self.op(f'xor {t} {mask}, -1')}")
        return self.op(f"or {t} {outer}, {inner}")

    def _op_bfe(
        self, op: tuple[str, ...], t: str, n: int, a: str, start: str, size: str, *_: str
    ) -> str:
        x, y = (self.op(f"zext i32 {v} to i64") for v in (start, size))
        left = self.op(f"sub i64 {self.op(f'sub i64 {n}, {x}')}, {y}")
        up = self.op(f"trunc i64 {self.op(f'call i64 @llvm.smax.i64(i64 {left}, i64 0)')} to i32")
        down = self.op(f"sub i32 {n}, {size}")
        how = "ashr" if op[-1][0] == "s" else "lshr"
        return self._shifted(how, n, self._shifted("shl", n, a, up), down)

    def _op_popc(self, op: tuple[str, ...], t: str, n: int, a: str, *_: str) -> str:
        return self.cast("trunc", self.call("ctpop", t, a), t, "i32")

    def _op_clz(self, op: tuple[str, ...], t: str, n: int, a: str, *_: str) -> str:
        zeros = self.op(f"call {t} @llvm.ctlz.{t}({t} {a}, i1 false)")
        return self.cast("trunc", zeros, t, "i32")

    def _op_brev(self, op: tuple[str, ...], t: str, n: int, a: str, *_: str) -> str:
        return self.call("bitreverse", t, a)

    def _op_bfind(self, op: tuple[str, ...], t: str, n: int, a: str, *_: str) -> str:
        if op[-1][0] == "s":
            a = self.op(f"xor {t} {a}, {self.op(f'ashr {t} {a}, {n - 1}')}")
        zeros = self._op_clz(op, t, n, a)
        place = zeros if "shiftamt" in op else self.op(f"sub i32 {n - 1}, {zeros}")
        return self.select(self.op(f"icmp eq {t} {a}, 0"), "i32", "-1", place)

    def _op_prmt(
        self, op: tuple[str, ...], t: str, n: int, a: str, b: str, pick: str, *_: str
    ) -> str:
        if len(op) > 2:
            raise NotNative(".".join(op))
        high = self.op(f"shl i64 {self._extended(b, False, 32, 64)}, 32")
        both = self.op(f"or i64 {high}, {self._extended(a, False, 32, 64)}")
        result = "0"
        for k in range(4):
            one = self.op(f"lshr i32 {pick}, {4 * k}")
            place = self.op(f"shl i32 {self.op(f'and i32 {one}, 7')}, 3")
            moved = self.op(f"lshr i64 {both}, {self._extended(place, False, 32, 64)}")
            byte = self.op(f"trunc i64 {moved} to i8")
            sign = self.op(f"icmp ne i32 {self.op(f'and i32 {one}, 8')}, 0")
            byte = self.select(sign, "i8", self.op(f"ashr i8 {byte}, 7"), byte)
            up = self.op(f"shl i32 {self._extended(byte, False, 8, 32)}, {8 * k}")
            result = self.op(f"or i32 {result}, {up}")
        return result

    def _op_lop3(self, op: tuple[str, ...], t: str, n: int, *values: str) -> str:
        if not values[3].isdigit():
            raise NotNative(".".join(op))
        result = "0"
        for k in range(8):
            if int(values[3]) >> k & 1:
                term = "-1"
                for v, bit in zip(values, (4, 2, 1), strict=False):
                    v = v if k & bit else self.op(f"xor {t} {v}, -1")
                    term = self.op(f"and {t} {term}, {v}")
                result = self.op(f"or {t} {result}, {term}")
        return result

    def _op_sad(self, op: tuple[str, ...], t: str, n: int, a: str, b: str, c: str, *_: str) -> str:
        more = self.op(f"icmp {'s' if op[-1][0] == 's' else 'u'}gt {t} {a}, {b}")
        one, other = self.op(f"sub {t} {a}, {b}"), self.op(f"sub {t} {b}, {a}")
        return self.op(f"add {t} {self.select(more, t, one, other)}, {c}")

    def _op_shf(
        self, op: tuple[str, ...], t: str, n: int, low: str, high: str, amount: str, *_: str
    ) -> str:
        if "wrap" in op:
            count = self.op(f"and i32 {amount}, 31")
        else:
            count = self.op(f"call i32 @llvm.umin.i32(i32 {amount}, i32 32)")
        top = self.op(f"shl i64 {self._extended(high, False, 32, 64)}, 32")
        both = self.op(f"or i64 {top}, {self._extended(low, False, 32, 64)}")
        by = self._extended(count, False, 32, 64)
        if "l" in op:
            both = self.op(f"lshr i64 {self.op(f'shl i64 {both}, {by}')}, 32")
            return self.op(f"trunc i64 {both} to i32")
        return self.op(f"trunc i64 {self.op(f'lshr i64 {both}, {by}')} to i32")

    def _parts(self, value: str, signed: bool, size: int, count: int) -> list[str]:
        """The first parts of a register, each as 32 bits."""
        return [
            self._extended(
                self.op(f"trunc i32 {self.op(f'lshr i32 {value}, {size * k}')} to i{size}"),
                signed, size, 32,
            )
            for k in range(count)
        ]  # fmt: skip

    def _op_dp4a(self, op: tuple[str, ...], t: str, n: int, a: str, b: str, c: str, *_: str) -> str:
        x, y = (self._parts(v, k[0] == "s", 8, 4) for v, k in ((a, op[-2]), (b, op[-1])))
        return self._dot(x, y, c)

    def _op_dp2a(self, op: tuple[str, ...], t: str, n: int, a: str, b: str, c: str, *_: str) -> str:
        x = self._parts(a, op[-2][0] == "s", 16, 2)
        y = self._parts(b, op[-1][0] == "s", 8, 4)
        return self._dot(x, y[2:] if "hi" in op else y[:2], c)

    def _dot(self, x: list[str], y: list[str], c: str) -> str:
        for a, b in zip(x, y, strict=True):
            c = self.op(f"add i32 {c}, {self.op(f'mul i32 {a}, {b}')}")
        return c

    def with_carry(self, op: tuple[str, ...], carry: str, values: list[str]) -> tuple[str, str]:
        """`add.cc` and its kin: the result and what is carried on, both predicates aside."""
        t = LLVM[op[-1]]
        if op[0].startswith("mad"):
            a, b, y = values[:3]
            x = self._op_mul(op, t, bits_of(op[-1]), a, b)
        else:
            x, y = values[:2]
        into = self.op(f"zext i1 {carry} to {t}")
        if op[0].startswith("sub"):
            first = self.op(f"sub {t} {x}, {y}")
            borrow = self.op(f"sub {t} 1, {into}")
            result = self.op(f"sub {t} {first}, {borrow}")
            one = self.op(f"icmp uge {t} {x}, {y}")
            return result, self.op(f"and i1 {one}, {self.op(f'icmp uge {t} {first}, {borrow}')}")
        first = self.op(f"add {t} {x}, {y}")
        result = self.op(f"add {t} {first}, {into}")
        one = self.op(f"icmp ult {t} {first}, {x}")
        return result, self.op(f"or i1 {one}, {self.op(f'icmp ult {t} {result}, {first}')}")

    # --- floats

    def _half(self, value: str, up: bool, kind: str) -> str:
        """One of the two numbers in a register."""
        moved = self.op(f"lshr i32 {value}, 16") if up else value
        return self.bits(self.op(f"trunc i32 {moved} to i16"), "b16", kind[:-2])

    def joined(self, low: str, high: str, kind: str) -> str:
        """Two numbers in one register."""
        below, above = (
            self._extended(self.bits(v, kind[:-2], "b16"), False, 16, 32) for v in (low, high)
        )
        return self.op(f"or i32 {self.op(f'shl i32 {above}, 16')}, {below}")

    def from_bfloat16(self, value: str) -> str:
        """The bits of a bfloat16 as a float32."""
        bits = self.op(f"shl i32 {self._extended(value, False, 16, 32)}, 16")
        return self.op(f"bitcast i32 {bits} to float")

    def to_bfloat16(self, value: str) -> str:
        """A float32 as the bits of the nearest even bfloat16."""
        bits = self.op(f"bitcast float {value} to i32")
        odd = self.op(f"and i32 {self.op(f'lshr i32 {bits}, 16')}, 1")
        near = self.op(f"add i32 {self.op(f'add i32 {bits}, 32767')}, {odd}")
        nan = self.op(f"fcmp uno float {value}, {value}")
        chosen = self.select(nan, "i32", str(0x7FFF0000), near)
        return self.op(f"trunc i32 {self.op(f'lshr i32 {chosen}, 16')} to i16")

    def _to_half(self, value: str) -> str:
        """A float64 as the nearest float16: by a float32 that is rounded to odd."""
        near = self.rounded(value, "rz")
        inexact = self.op(f"fcmp une double {self.op(f'fpext float {near} to double')}, {value}")
        bits = self.op(f"bitcast float {near} to i32")
        odd = self.op(f"or i32 {bits}, {self._extended(inexact, False, 1, 32)}")
        nan = self.op(f"fcmp uno float {near}, {near}")
        chosen = self.op(f"bitcast i32 {self.select(nan, 'i32', bits, odd)} to float")
        return self.op(f"fptrunc float {chosen} to half")

    def _of_floats(
        self, name: str, words: set[str], known: set[str], kind: str, values: list[str]
    ) -> str:
        t, modes = LLVM[kind], known & MODES
        if "approx" in words or name in NUMPY:
            modes = set()
        small = kind == "f16" and name not in HALF
        if known - MODES or small or (modes and kind != "f32"):
            raise NotNative(f"{name} of {kind}")
        if "ftz" in words:
            values = [self.flushed(v, kind) for v in values]
        if modes:
            result = self._directed(name, modes.pop(), values)
        elif name in ("add", "sub", "mul", "div"):
            result = self.op(f"f{name} {t} {values[0]}, {values[1]}")
        elif name == "fma" and kind == "f16":  # as the executor: the sum is rounded as a float64
            a, b, c = (self.op(f"fpext half {v} to double") for v in values[:3])
            total = self.op(f"fadd double {self.op(f'fmul double {a}, {b}')}, {c}")
            result = self._to_half(total)
        elif name in ("fma", "mad"):
            result = self.call("fma", t, *values[:3])
        elif name in ("min", "max"):
            a, b = values[:2]
            better = self.op(f"fcmp o{'lt' if name == 'min' else 'gt'} {t} {a}, {b}")
            better = self.op(f"or i1 {better}, {self.op(f'fcmp uno {t} {b}, {b}')}")
            result = self.select(better, t, a, b)
        elif name == "neg":
            result = self.op(f"fneg {t} {values[0]}")
        elif name == "abs":
            result = self.call("fabs", t, values[0])
        elif name == "copysign":
            result = self.call("copysign", t, values[1], values[0])
        elif name in ("sqrt", "rsqrt", "rcp"):
            result = values[0] if name == "rcp" else self.call("sqrt", t, values[0])
            if name != "sqrt":
                result = self.op(f"fdiv {t} {constant(1, kind)}, {result}")
        elif name in NUMPY:
            self.functions.add((NUMPY[name], kind))
            result = self.op(f"call {t} @numpy.{NUMPY[name]}.{kind}({t} {values[0]})")
        else:
            raise NotNative(f"{name} of {kind}")
        if "ftz" in words:
            result = self.flushed(result, kind)
        return self.saturated(result, kind) if "sat" in words else result

    def flushed(self, value: str, kind: str) -> str:
        """`.ftz`: zero of its sign for a number below full width."""
        t = LLVM[kind]
        small = self.op(f"fcmp olt {t} {self.call('fabs', t, value)}, {constant(TINY[kind], kind)}")
        return self.select(small, t, self.call("copysign", t, constant(0, kind), value), value)

    def saturated(self, value: str, kind: str) -> str:
        """From 0 to 1; 0 for a NaN."""
        t = LLVM[kind]
        for test, bound in (("olt", 0), ("ogt", 1)):
            beyond = self.op(f"fcmp {test} {t} {value}, {constant(bound, kind)}")
            value = self.select(beyond, t, constant(bound, kind), value)
        return self.select(self.op(f"fcmp uno {t} {value}, {value}"), t, constant(0, kind), value)

    def _directed(self, name: str, mode: str, values: list[str]) -> str:
        """An operation of float32 that is not rounded to nearest."""
        a, *rest = [self.op(f"fpext float {v} to double") for v in values]
        if name in ("fma", "mad"):
            return self.rounded(
                self._odd_sum(self.op(f"fmul double {a}, {rest[0]}"), rest[1]), mode
            )
        if name in ("add", "sub"):
            b = self.op(f"fneg double {rest[0]}") if name == "sub" else rest[0]
            return self.rounded(self._odd_sum(a, b), mode)
        if name in ("mul", "div"):
            return self.rounded(self.op(f"f{name} double {a}, {rest[0]}"), mode)
        if name == "sqrt":
            return self.rounded(self.call("sqrt", "double", a), mode)
        if name == "rcp":
            return self.rounded(self.op(f"fdiv double {constant(1, 'f64')}, {a}"), mode)
        raise NotNative(f"{name}.{mode}")

    def _odd_sum(self, p: str, c: str) -> str:
        """As `simt.ptx.arithmetic.odd_sum`."""
        s = self.op(f"fadd double {p}, {c}")
        t = self.op(f"fsub double {s}, {p}")
        one = self.op(f"fsub double {p}, {self.op(f'fsub double {s}, {t}')}")
        error = self.op(f"fadd double {one}, {self.op(f'fsub double {c}, {t}')}")
        bits = self.op(f"bitcast double {s} to i64")
        inexact = self.op(f"fcmp une double {error}, {constant(0, 'f64')}")
        size = self.call("fabs", "double", s)
        finite = self.op(f"fcmp olt double {size}, {constant(np.inf, 'f64')}")
        even = self.op(f"icmp eq i64 {self.op(f'and i64 {bits}, 1')}, 0")
        up, plus = (self.op(f"fcmp ogt double {x}, {constant(0, 'f64')}") for x in (error, s))
        step = self.select(self.op(f"icmp eq i1 {up}, {plus}"), "i64", "1", "-1")
        moves = self.op(f"and i1 {self.op(f'and i1 {inexact}, {finite}')}, {even}")
        moved = self.select(moves, "i64", self.op(f"add i64 {bits}, {step}"), bits)
        return self.op(f"bitcast i64 {moved} to double")

    def rounded(self, value: str, mode: str) -> str:
        """float64 to float32: down ("rm"), up ("rp") or to zero ("rz")."""
        near = self.op(f"fptrunc double {value} to float")
        back = self.op(f"fpext float {near} to double")
        results = {}
        for side, test, sign in (("rm", "ogt", 0), ("rp", "olt", 1)):
            wrong = self.op(f"fcmp {test} double {back}, {value}")
            results[side] = self.select(wrong, "float", self._next(near, down=not sign), near)
        if mode == "rz":
            plus = self.op(f"fcmp ogt double {value}, {constant(0, 'f64')}")
            return self.select(plus, "float", results["rm"], results["rp"])
        return results[mode]

    def _next(self, value: str, *, down: bool) -> str:
        """The next float32 below or above one that is no NaN."""
        bits = self.op(f"bitcast float {value} to i32")
        negative = self.op(f"icmp slt i32 {bits}, 0")
        step = self.select(negative, "i32", "1" if down else "-1", "-1" if down else "1")
        moved = self.op(f"add i32 {bits}, {step}")
        zero = self.op(f"fcmp oeq float {value}, {constant(0, 'f32')}")
        least = str(0x80000001 if down else 1)
        return self.op(f"bitcast i32 {self.select(zero, 'i32', least, moved)} to float")

    # --- comparisons and conversions

    def compare(self, op: tuple[str, ...], values: list[str]) -> str:
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

    def flags(self, op: tuple[str, ...], values: list[str], joined: str) -> str:
        """`set`: 1.0 or all bits where a comparison holds, which may be `joined` to a predicate."""
        to, of = op[-2:]
        if of.endswith("x2"):  # each half sets all bits of its own
            half = to[:-2] if to.endswith("x2") else f"{to[0]}16"
            op = (*op[:-2], half, of[:-2])
            halves = [[self._half(v, up, of) for v in values] for up in (False, True)]
            low, high = (self.flags(op, two, joined) for two in halves)
            return self.joined(low, high, f"{half}x2")
        holds = self.compare(op, values)
        if joined:
            holds = self.op(f"{op[2]} i1 {holds}, {joined}")
        yes = "16256" if to == "bf16" else constant(1, to) if to in FLOATS else "-1"
        return self.select(holds, LLVM[to], yes, constant(0, to))

    def converted(self, op: tuple[str, ...], value: str) -> str:
        """`cvt` of one number."""
        to, of = op[-2:]
        words = set(op[1:-2])
        unknown = words - {"rn", "ftz", "sat", *ROUND} - MODES or {to, of} - LLVM.keys()
        if unknown or {"tf32", "f16x2", "bf16x2"} & {to, of}:
            raise NotNative(".".join(op))
        if of == "bf16":
            return self.converted((*op[:-1], "f32"), self.from_bfloat16(value))
        if to == "bf16":
            if op[1:-2] != ("rn",) or of not in ("f32", "f16"):
                raise NotNative(".".join(op))
            wide = value if of == "f32" else self.op(f"fpext half {value} to float")
            return self.to_bfloat16(wide)
        a, b = LLVM[of], LLVM[to]
        if of not in FLOATS and to not in FLOATS:
            if "sat" in words:
                value, of = self._limited(value, of, to)
            return self.bits(value, of, to)
        if of not in FLOATS:
            if words & MODES:
                raise NotNative(".".join(op))
            wide = "float" if to == "f16" else b
            value = self.op(f"{'s' if of[0] == 's' else 'u'}itofp {a} {value} to {wide}")
            value = self.cast("fptrunc", value, wide, b)
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

    def _limited(self, value: str, of: str, to: str) -> tuple[str, str]:
        """A whole number limited to another type's, as its own type."""
        mine, other = (np.iinfo(TYPES[k]) for k in (of, to))
        t, sign = LLVM[of], "s" if of[0] == "s" else "u"
        for name, bound in (("max", max(other.min, mine.min)), ("min", min(other.max, mine.max))):
            value = self.call(f"{sign}{name}", t, value, constant(bound, of))
        return value, of

    def _to_whole(self, value: str, of: str, to: str) -> str:
        """A float that is rounded already as the nearest whole number that there is."""
        if of == "f16":
            value, of = self.op(f"fpext half {value} to float"), "f32"
        limits, a, b = np.iinfo(TYPES[to]), LLVM[of], LLVM[to]
        low, high = constant(float(limits.min), of), constant(float(limits.max), of)
        inside = self.op(
            f"and i1 {self.op(f'fcmp ogt {a} {value}, {low}')}, "
            f"{self.op(f'fcmp olt {a} {value}, {high}')}"
        )
        safe = self.select(inside, a, value, constant(0, of))
        sign = "s" if to[0] == "s" else "u"
        whole = self.op(f"fpto{sign}i {a} {safe} to {b}")
        plus = self.op(f"fcmp ogt {a} {value}, {constant(0, of)}")
        most, least = constant(limits.max, to), constant(limits.min, to)
        result = self.select(inside, b, whole, self.select(plus, b, most, least))
        top = 0 if max(bits_of(of), bits_of(to)) < 64 else 1 << (limits.bits - 1)
        nan = self.op(f"fcmp uno {a} {value}, {value}")
        return self.select(nan, b, str(top), result)


def _short(kind: str) -> str:
    return {"float": "f32", "double": "f64", "half": "f16"}.get(kind, kind)
