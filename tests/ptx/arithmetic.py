"""What the arithmetic instructions compute, on arrays of one element for each thread.

`compute(op, arguments)` takes the parts of an opcode and its operands, already read as the
opcode's type. Rounding is the hardware's where PTX promises it (`.rn`, `fma`); the results of
`.approx` are within a few units in the last place on hardware and rounded correctly here.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from .parse import NotCovered
from .values import TYPES, Array

# --- integers


def quotient(a: Array, b: Array) -> Array:
    """Towards zero, as C divides; what a division by zero gives is anybody's guess."""
    b = np.where(b == 0, np.ones_like(b), b)
    q, r = np.divmod(a, b)
    return q + ((r != 0) & ((a < 0) != (b < 0))).astype(q.dtype)


def divide(a: Array, b: Array) -> Array:
    return a / b if a.dtype.kind == "f" else quotient(a, b)


def remainder(a: Array, b: Array) -> Array:
    return a - quotient(a, b) * b


def wide(a: Array) -> Array:
    return a.astype(f"{a.dtype.kind}{2 * a.dtype.itemsize}")


def high_half(a: Array, b: Array) -> Array:
    bits = 8 * a.dtype.itemsize
    if bits == 64:
        product = a.astype(object) * b.astype(object)
        return np.asarray((product >> 64) % (1 << 64), dtype=np.uint64).view(a.dtype)
    return (wide(a) * wide(b) >> bits).astype(a.dtype)


def shift_left(a: Array, amount: Array) -> Array:
    bits = a.dtype.itemsize * 8
    n = np.minimum(amount, bits - 1).astype(a.dtype)
    return np.where(amount >= bits, a.dtype.type(0), a << n)


def shift_right(a: Array, amount: Array) -> Array:
    bits = a.dtype.itemsize * 8
    n = np.minimum(amount, bits - 1).astype(a.dtype)
    if a.dtype.kind == "i":  # the sign comes in from the left
        return a >> n
    return np.where(amount >= bits, a.dtype.type(0), a >> n)


def bit_field_insert(a: Array, b: Array, start: Array, length: Array) -> Array:
    """The lowest `length` bits of a, put into b from bit `start` on."""
    kind = a.dtype.type
    bits = 8 * a.dtype.itemsize
    ones = np.where(
        length >= bits, ~kind(0), (kind(1) << np.minimum(length, bits - 1).astype(kind)) - kind(1)
    )
    mask = shift_left(ones, start)
    return (b & ~mask) | (shift_left(a, start) & mask)


def bit_field_extract(a: Array, start: Array, length: Array) -> Array:
    bits = 8 * a.dtype.itemsize
    up = np.maximum(bits - start.astype(np.int64) - length, 0).astype(np.uint32)
    down = (bits - length).astype(np.uint32)
    return shift_right(shift_left(a, up), down)


def count_bits(a: Array) -> Array:
    parts = a[..., None] >> np.arange(8 * a.dtype.itemsize, dtype=a.dtype)
    return (parts & a.dtype.type(1)).sum(axis=-1).astype(np.uint32)


def leading_zeros(a: Array) -> Array:
    bits = 8 * a.dtype.itemsize
    whole = a.astype(object)
    return np.array([bits - int(v).bit_length() for v in whole.ravel()], np.uint32)


def reversed_bits(a: Array) -> Array:
    bits = 8 * a.dtype.itemsize
    found = [int(f"{int(v):0{bits}b}"[::-1], 2) for v in a.ravel()]
    return np.array(found, a.dtype)


# --- floating point


def fused(a: Array, b: Array, c: Array, mode: str) -> Array:
    """a·b + c, rounded once.

    float32: the product is exact in float64. The sum is rounded to odd (S. Boldo and
    G. Melquiond, "Emulation of a FMA and correctly rounded sums", 2008), so that rounding it
    again to float32 is as if it were rounded once.
    """
    if a.dtype != np.float32:
        if a.dtype != np.float64 or mode != "rn":
            raise NotCovered(f"fma.{mode} of {a.dtype}")
        return np.array([fused_one(*map(float, row)) for row in np.broadcast(a, b, c)])
    p, c = a.astype(np.float64) * b.astype(np.float64), c.astype(np.float64)
    s = p + c
    t = s - p
    error = (p - (s - t)) + (c - t)  # s + error is exactly p + c (D. Knuth's two-sum)
    bits = np.atleast_1d(s).view(np.int64)
    inexact = np.isfinite(s) & (error != 0)
    step = np.where((error > 0) == (s > 0), 1, -1)
    odd = np.where(inexact & (bits % 2 == 0), bits + step, bits).view(np.float64)
    return rounded(odd, mode)


def fused_one(a: float, b: float, c: float) -> float:
    """a·b + c of three float64, rounded once: a quotient of whole numbers is."""
    if not all(map(math.isfinite, (a, b, c))):
        return a * b + c
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    try:
        return float(exact) if exact else a * b + c
    except OverflowError:
        return math.inf if exact > 0 else -math.inf


def rounded(x: Array, mode: str) -> Array:
    """float64 to float32: to nearest ("rn"), down ("rm"), up ("rp") or to zero ("rz")."""
    near = x.astype(np.float32)
    if mode == "rn":
        return near
    low = np.where(near > x, np.nextafter(near, np.float32(-np.inf)), near)
    high = np.where(near < x, np.nextafter(near, np.float32(np.inf)), near)
    if mode == "rz":
        return np.where(x > 0, low, high)
    return {"rm": low, "rp": high}[mode]


def least(a: Array, b: Array) -> Array:
    return np.fmin(a, b) if a.dtype.kind == "f" else np.minimum(a, b)


def largest(a: Array, b: Array) -> Array:
    return np.fmax(a, b) if a.dtype.kind == "f" else np.maximum(a, b)


def saturated(x: Array) -> Array:
    return np.where(np.isnan(x), x.dtype.type(0), np.clip(x, 0, 1)).astype(x.dtype)


PLAIN: dict[str, Callable[..., Any]] = {
    "add": np.add, "sub": np.subtract, "div": divide, "rem": remainder,
    "min": least, "max": largest, "neg": np.negative, "abs": np.abs,
    "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor, "not": np.invert,
    "shl": shift_left, "shr": shift_right, "bfi": bit_field_insert, "bfe": bit_field_extract,
    "popc": count_bits, "clz": leading_zeros, "brev": reversed_bits,
    "sqrt": np.sqrt, "rsqrt": lambda x: x.dtype.type(1) / np.sqrt(x),
    "rcp": lambda x: x.dtype.type(1) / x, "ex2": np.exp2, "lg2": np.log2,
    "sin": np.sin, "cos": np.cos, "tanh": np.tanh, "mov": lambda x: x,
    "copysign": lambda a, b: np.copysign(b, a),
}  # fmt: skip
COUNTS = ("shl", "shr", "bfi", "bfe")  # their operands after the first are 32-bit counts


def compute(op: tuple[str, ...], arguments: list[Array]) -> Array:
    """The result of an arithmetic instruction such as ("mul", "lo", "s64")."""
    name, words = op[0], set(op[1:])
    if not words & set(TYPES):
        raise NotCovered(".".join(op))
    floats = arguments[0].dtype.kind == "f"
    modes = words & {"rm", "rp", "rz"}
    if name in ("fma", "mad") and floats:
        result = fused(*arguments, mode=modes.pop() if modes else "rn")
    elif modes:
        raise NotCovered(".".join(op))
    elif name in ("mul", "mad"):
        a, b = arguments[:2]
        if "hi" in words:
            result = high_half(a, b)
        else:
            result = wide(a) * wide(b) if "wide" in words else a * b
        if name == "mad":
            result = result + arguments[2]
    elif name in PLAIN:
        result = PLAIN[name](*arguments)
    else:
        raise NotCovered(".".join(op))
    if "ftz" in words:
        tiny = np.finfo(np.float32).tiny
        result = np.where(np.abs(result) < tiny, np.copysign(np.float32(0), result), result)
    return saturated(result) if "sat" in words else result


COMPARE: dict[str, Callable[..., Any]] = {
    "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal,
    "gt": np.greater, "ge": np.greater_equal, "lo": np.less, "ls": np.less_equal,
    "hi": np.greater, "hs": np.greater_equal,
}  # fmt: skip


def compare(op: tuple[str, ...], a: Array, b: Array) -> Array:
    """`setp`: an ordered comparison is false beside a NaN, one that ends in u is true."""
    word = op[1]
    either = np.isnan(a) | np.isnan(b) if a.dtype.kind == "f" else None
    if word in ("num", "nan"):
        return np.asarray(either if word == "nan" else ~either)  # type: ignore[operator]
    if word in COMPARE:
        found = COMPARE[word](a, b)
        return found & ~either if either is not None else found  # type: ignore[no-any-return]
    return COMPARE[word[:-1]](a, b) | either  # type: ignore[no-any-return]


ROUND: dict[str, Callable[..., Any]] = {
    "rni": np.rint, "rzi": np.trunc, "rmi": np.floor, "rpi": np.ceil,
}  # fmt: skip


def convert(op: tuple[str, ...], value: Array, to: str) -> Array:
    """`cvt`: between integers the lower bits, from a float the nearest that there is."""
    target = np.dtype(TYPES[to])
    rounding = [ROUND[word] for word in op if word in ROUND]
    if value.dtype.kind == "f" and rounding:
        value = rounding[0](value)
    if value.dtype.kind == "f" and target.kind != "f":
        limits = np.iinfo(target)
        inside = (value > float(limits.min)) & (value < float(limits.max))
        bound = np.where(value > 0, limits.max, limits.min).astype(target)
        # PTX ISA 9.0: a NaN gives 0, the highest bit if one of the two types has 64
        top = 0 if max(value.itemsize, target.itemsize) < 8 else 1 << (limits.bits - 1)
        bound[np.isnan(value)] = np.uint64(top).astype(target)
        return np.where(inside, np.where(inside, value, 0).astype(target), bound)
    if set(op) & {"rm", "rp", "rz"}:
        raise NotCovered(".".join(op))
    result = value.astype(target)
    return saturated(result) if "sat" in op else result
