"""What the arithmetic instructions compute, on arrays of one element for each thread.

`operation(op)` is the function of an opcode, of operands that are read as the opcode says.
Rounding is the hardware's where PTX promises it (`.rn`, `fma`); the results of `.approx` are
as exact as the PTX ISA says on hardware (`tanh`: 2⁻¹¹) and rounded correctly here.
"""

import math
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from simt.core.values import clamped
from simt.intrinsics.math import larger, smaller
from simt.ptx import integers, narrow
from simt.ptx.parse import not_covered

Array = Any  # of NumPy
Operation = Callable[..., Array]

TYPES: dict[str, Any] = {
    "pred": np.bool_, "b8": np.uint8, "u8": np.uint8, "s8": np.int8,
    "b16": np.uint16, "u16": np.uint16, "s16": np.int16, "f16": np.float16, "bf16": np.uint16,
    "b32": np.uint32, "tf32": np.uint32, "u32": np.uint32, "s32": np.int32, "f32": np.float32,
    "f16x2": np.uint32, "bf16x2": np.uint32,
    "b64": np.uint64, "u64": np.uint64, "s64": np.int64, "f64": np.float64,
}  # fmt: skip

TAIL_HALF = np.int64(1 << 28)  # the bits of a float64 beyond a float32's, where it lies half way
TAIL_MASK = np.int64((1 << 29) - 1)
SPLIT = 2.0**27 + 1  # parts a float64 into two of half its bits (G. W. Veltkamp)


def fused(a: Array, b: Array, c: Array, mode: str = "rn") -> Array:
    """a·b + c, rounded once.

    float32: the product is exact in float64, and the sum is rounded there; rounding it again
    is wrong only where it then lies half way between two float32, which is seen to apart.
    """
    if a.dtype == np.float16:
        return (a.astype(np.float64) * b + c).astype(np.float16)
    if a.dtype != np.float32:
        if a.dtype != np.float64 or mode != "rn":
            raise not_covered(f"fma.{mode} of {a.dtype}")
        return _fused_double(a, b, c)
    p = a.astype(np.float64) * b
    s = p + c
    if mode != "rn":
        return rounded(odd_sum(p, c.astype(np.float64)), mode)
    near = s.astype(np.float32)
    doubtful = (s.view(np.int64) & TAIL_MASK) == TAIL_HALF
    doubtful |= np.abs(near) < MIN_NORMAL
    if not doubtful.any():
        return near
    doubtful &= s != 0
    if doubtful.any():
        places = np.nonzero(doubtful)
        p, c = (np.broadcast_to(x, s.shape)[places] for x in (p, c))
        near[places] = odd_sum(p, c.astype(np.float64)).astype(np.float32)
    return near


MIN_NORMAL = np.finfo(np.float32).tiny


def odd_sum(p: Array, c: Array) -> Array:
    """The sum of two float64, rounded to odd, so that rounding to float32 is as if it were exact.

    S. Boldo and G. Melquiond, "Emulation of a FMA and correctly rounded sums: proved
    algorithms using rounding to odd", IEEE Transactions on Computers 57(4), 2008.
    """
    s, error = _two_sum(p, c)
    bits = np.ascontiguousarray(s).view(np.int64)
    inexact = np.isfinite(s) & (error != 0)
    step = np.where((error > 0) == (s > 0), 1, -1)
    return np.where(inexact & (bits % 2 == 0), bits + step, bits).view(np.float64)


def _two_sum(p: Array, c: Array) -> tuple[Array, Array]:
    """The sum of two float64 as rounded, and what rounding has taken from it (D. Knuth)."""
    s = p + c
    t = s - p
    return s, (p - (s - t)) + (c - t)


def _fused_double(a: Array, b: Array, c: Array) -> Array:
    """a·b + c of float64, rounded once, after the paper that `odd_sum` names."""
    p = a * b
    (x, u), (y, v) = ((h, n - h) for n in (a, b) for h in (n * SPLIT - (n * SPLIT - n),))
    s, low = _two_sum(c, ((x * y - p) + x * v + u * y) + u * v)  # p's error is exact (T. J. Dekker)
    high, rest = _two_sum(p, s)
    fine = (np.abs(p) + np.abs(a) + np.abs(b) + np.abs(c) < 1e290) & (np.abs(p) > 1e-270)
    result = np.where(fine, high + odd_sum(low, rest), p + c)
    places = np.nonzero(~fine & (a != 0) & (b != 0))  # at the ends of the range
    rows = zip(*(np.broadcast_to(n, fine.shape)[places].tolist() for n in (a, b, c)), strict=True)
    result[places] = [fused_one(*row) for row in rows]
    return result


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


def _saturated(x: Array) -> Array:
    return np.where(np.isnan(x), x.dtype.type(0), np.clip(x, 0, 1)).astype(x.dtype)


def flushed(x: Array) -> Array:
    """Numbers too small for a float of full width as zeros of their sign."""
    return np.where(np.abs(x) < np.finfo(x.dtype).tiny, np.copysign(x.dtype.type(0), x), x)


def flushing(function: Operation) -> Operation:
    """`.ftz`: an operation to which numbers below full width are zeros, and which gives zeros."""

    def flush(*operands: Array) -> Array:
        result = function(*(flushed(x) if x.dtype.kind == "f" else x for x in operands))
        return flushed(result) if result.dtype.kind == "f" else result

    return flush


PLAIN: dict[str, Operation] = {
    "add": np.add, "sub": np.subtract, "mul": lambda a, b: a * b, "div": integers.divide,
    "rem": integers.remainder, "min": smaller, "max": larger, "neg": np.negative, "abs": np.abs,
    "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor, "not": np.invert,
    "cnot": lambda a: (a == 0).astype(a.dtype), "fma": fused,
    "shl": integers.shift_left, "shr": integers.shift_right, "prmt": integers.permuted,
    "bfi": integers.bit_field_insert, "bfe": integers.bit_field_extract, "lop3": integers.lookup,
    "popc": integers.count_bits, "clz": integers.leading_zeros, "brev": integers.reversed_bits,
    "bfind": integers.highest_bit, "sad": integers.absolute_difference,
    "sqrt": np.sqrt, "rsqrt": lambda x: x.dtype.type(1) / np.sqrt(x),
    "rcp": lambda x: x.dtype.type(1) / x, "ex2": np.exp2, "lg2": np.log2,
    "sin": np.sin, "cos": np.cos, "tanh": np.tanh, "dp4a": integers.dot_of_bytes,
    "copysign": lambda a, b: np.copysign(b, a),
}  # fmt: skip
INLINE = {"add": "+", "sub": "-", "and": "&", "or": "|", "xor": "^"}


def directed(name: str, mode: str, kind: str) -> Operation:
    """An operation of float32 or float64 that is not rounded to nearest."""
    one = np.float32(1)
    exact: dict[str, Operation] = {
        "add": lambda a, b: fused(a, one.reshape(1, 1), b, mode),
        "sub": lambda a, b: fused(a, one.reshape(1, 1), -b, mode),
        "fma": partial(fused, mode=mode),
        "mad": partial(fused, mode=mode),
    }
    if name in ("mul", "div", "rcp", "sqrt"):  # no float64 of one is a float32 unless it is exact
        exact[name] = lambda *x: rounded(PLAIN[name](*(y.astype(np.float64) for y in x)), mode)
    elif name not in exact:
        raise not_covered(f"{name}.{mode}")
    return exact[name] if kind == "f32" else partial(directed_float64, name, mode)


def directed_float64(name: str, mode: str, *operands: Array) -> Array:
    """An operation of float64, rounded down (rm), up (rp) or toward zero (rz)."""
    nearest = fused if name in ("fma", "mad") else PLAIN[name]
    near = np.asarray(nearest(*operands))
    rows = np.broadcast(near, *operands)
    step = [0 if not all(map(math.isfinite, row[1:])) else beyond(name, *row) for row in rows]
    above = np.array(step).reshape(rows.shape)  # whether what is exact lies above, or below
    down = (mode == "rm") | ((mode == "rz") & ((near > 0) | ((near == 0) & (above > 0))))
    low = np.where(down & (above < 0), np.nextafter(near, -np.inf), near)
    return np.where(~down & (above > 0), np.nextafter(near, np.inf), low)


def beyond(name: str, near: float, *operands: float) -> int:
    """Whether the exact result lies above (1) or below (-1) a float64, or is that one."""
    if not math.isfinite(near):
        same = math.isnan(near) or (name in ("div", "rcp") and operands[-1] == 0)
        return 0 if same else -int(math.copysign(1, near))
    n, (a, *rest) = Fraction(near), map(Fraction, operands)
    if name == "sqrt":
        difference = a - n * n
    elif name in ("div", "rcp"):
        over, under = (a, rest[0]) if name == "div" else (Fraction(1), a)
        difference = (over - n * under) * (1 if under > 0 else -1)
    else:
        b = rest[0]
        exact = {"add": a + b, "sub": a - b, "mul": a * b}
        difference = exact.get(name, a * b + rest[-1]) - n
    return (difference > 0) - (difference < 0)


def whole(name: str, words: set[str]) -> Operation:
    """A product of integers."""

    def product(a: Array, b: Array) -> Array:
        if "hi" in words:
            return integers.high_half(a, b)
        return integers.wide(a) * integers.wide(b) if "wide" in words else a * b

    return product if name == "mul" else lambda a, b, c: product(a, b) + c


def operation(op: tuple[str, ...]) -> Operation:
    """The function of an arithmetic instruction such as ("mul", "lo", "s64")."""
    name, words = op[0], set(op[1:])
    kind = op[-1]
    if kind not in TYPES:
        raise not_covered(".".join(op))
    if kind.endswith("x2"):
        return partial(narrow.by_halves, operation((*op[:-1], kind[:-2])))
    if kind == "bf16":
        return partial(narrow.in_bfloat16, operation((*op[:-1], "f32")))
    floats = np.dtype(TYPES[kind]).kind == "f"
    modes = words & {"rm", "rp", "rz"}
    if floats and modes and "approx" not in words:
        function = directed(name, modes.pop(), kind) if kind in ("f32", "f64") else None
    elif name == "mad" and floats:
        function = fused
    elif not floats and "sat" in words:
        if name not in ("add", "sub"):
            raise not_covered(".".join(op))
        return partial(integers.saturated_sum, minus=name == "sub")
    elif name in ("mul", "mad") and not floats:
        function = whole(name, words)
    elif name == "mul24" or name == "mad24":
        function = partial(integers.product_of_24_bits, op)
    elif name == "bfind" and "shiftamt" in words:
        function = integers.shift_to_highest
    elif name in ("vabsdiff2", "vabsdiff4"):
        function = partial(integers.distance_of_parts, op)
    elif name == "dp2a":
        function = partial(integers.dot_of_halves, high="hi" in words)
    elif name == "bmsk":
        function = partial(integers.bit_mask, wrap="wrap" in words)
    elif name == "shf":
        function = partial(integers.funnel, "l" in words, wrap="wrap" in words)
    else:
        function = PLAIN.get(name)
    if function is None:
        raise not_covered(".".join(op))
    if "NaN" in words:
        function = partial(_or_nan, function)
    if "ftz" in words:
        function = flushing(function)
    for word, step in (("sat", _saturated), ("relu", narrow.without_negative)):
        if word in words:
            function = partial(_then, step, function)
    return function


def _or_nan(function: Operation, a: Array, b: Array) -> Array:
    """`min.NaN` and `max.NaN`: NaN if one of the two is."""
    return np.where(np.isnan(a), a, np.where(np.isnan(b), b, function(a, b)))


def _then(step: Operation, function: Operation, *operands: Array) -> Array:
    return step(function(*operands))


def operand_kinds(op: tuple[str, ...]) -> list[str]:
    """The types of an arithmetic instruction's operands: not all are the opcode's last word."""
    name, kind = op[0], op[-1]
    if name in ("shl", "shr", "bfe"):  # a value and counts
        return [kind, "u32", "u32"]
    if name == "bfi":  # two values, where and how many bits
        return [kind, kind, "u32", "u32"]
    if name in ("dp4a", "dp2a"):  # two vectors in a register each, and a number
        return [op[-2], kind, kind]
    if name == "mad" and "wide" in op:
        return [kind, kind, f"{kind[0]}{2 * int(kind[1:])}"]
    return [kind] * 4


COMPARE: dict[str, Callable[..., Any]] = {
    "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal,
    "gt": np.greater, "ge": np.greater_equal, "lo": np.less, "ls": np.less_equal,
    "hi": np.greater, "hs": np.greater_equal,
}  # fmt: skip


def compare(op: tuple[str, ...]) -> Operation:
    """`setp`: an ordered comparison is false beside a NaN, one that ends in u is true."""
    if "ftz" in op:
        return flushing(compare(tuple(word for word in op if word != "ftz")))
    word = op[1]
    if word in ("num", "nan"):

        def either(a: Array, b: Array) -> Array:
            return np.isnan(a) | np.isnan(b)

        return either if word == "nan" else lambda a, b: ~either(a, b)
    if word not in COMPARE:
        return lambda a, b: COMPARE[word[:-1]](a, b) | np.isnan(a) | np.isnan(b)
    if word == "ne" and op[-1][0] == "f":
        return lambda a, b: (a != b) & ~(np.isnan(a) | np.isnan(b))
    return COMPARE[word]


def set_flags(op: tuple[str, ...]) -> Operation:
    """`set`: 1.0 or all bits where a comparison holds, which "and" may join to a predicate."""
    to, of = op[-2:]
    if of.endswith("x2"):  # each half sets all bits of its own
        half = to[:-2] if to.endswith("x2") else f"{to[0]}16"
        return partial(narrow.by_halves, set_flags((*op[:-2], half, of[:-2])))
    test, target = compare(op), np.dtype(TYPES[to])
    yes = np.uint16(0x3F80) if to == "bf16" else 1 if target.kind == "f" else -1
    join = {"and": np.logical_and, "or": np.logical_or, "xor": np.logical_xor}.get(op[2])

    def flags(a: Array, b: Array, *other: Array) -> Array:
        holds = join(test(a, b), other[0]) if join and other else test(a, b)
        return np.where(holds, np.array(yes).astype(target), target.type(0))

    return flags


ROUND: dict[str, Callable[..., Any]] = {
    "rni": np.rint, "rzi": np.trunc, "rmi": np.floor, "rpi": np.ceil,
}  # fmt: skip


def convert(op: tuple[str, ...]) -> Operation:
    """`cvt`: between integers the lower bits, from a float the nearest that there is."""
    to, of = op[-2:]
    if "pack" in op:
        return partial(integers.packed_limited, op[3])
    if "e4m3x2" in op or "e5m2x2" in op:
        return partial(narrow.two_float8, op)
    if to.endswith("x2"):
        return partial(_two_halves, (*op[:-2], to[:-2], of))
    return partial(_converted, op)


def _two_halves(op: tuple[str, ...], high: Array, low: Array) -> Array:
    """Two numbers as the halves of a register."""
    above, below = (_converted(op, x).view(np.uint16).astype(np.uint32) for x in (high, low))
    return above << np.uint32(16) | below


def _converted(op: tuple[str, ...], value: Array) -> Array:
    to, of = op[-2:]
    modes = set(op) & {"rm", "rp", "rz"}
    if of == "bf16":
        value = narrow.from_bfloat16(value)
    if "relu" in op:
        value = narrow.without_negative(value)
    if "ftz" in op and value.dtype == np.float32:
        value = flushed(value)
    if to == "tf32":  # rna: to nearest, a tie away from zero
        bits = value.view(np.uint32)
        return np.where(np.isfinite(value), (bits + 0x1000) & 0xFFFFE000, bits).astype(np.uint32)
    if to == "bf16":
        return narrow.to_bfloat16(value.astype(np.float32), modes.pop() if modes else "rn")
    target = np.dtype(TYPES[to])
    rounding = [ROUND[word] for word in op if word in ROUND]
    if value.dtype.kind == "f" and rounding:
        value = rounding[0](value)
    if value.dtype.kind == "f" and target.kind != "f":
        return clamped(value, target)
    if modes and target == np.float32 and value.dtype.kind == "f":
        return rounded(value.astype(np.float64), modes.pop())
    if modes and target.itemsize > 2 and value.dtype.kind in "iu":
        return _whole_rounded(value, target, modes.pop())
    if modes and target.kind == "f":
        raise not_covered(".".join(op))
    if "sat" in op and target.kind != "f":
        to_limits, limits = np.iinfo(target), np.iinfo(value.dtype)
        low, high = max(to_limits.min, limits.min), min(to_limits.max, limits.max)
        value = np.clip(value, low, high)
    result = value.astype(target)
    return _saturated(result) if "sat" in op and target.kind == "f" else result


def _whole_rounded(value: Array, target: np.dtype[Any], mode: str) -> Array:
    """Whole numbers as floats, rounded down (rm), up (rp) or toward zero (rz)."""
    near = value.astype(target)
    inside = near < 2.0 ** (8 * value.dtype.itemsize - (value.dtype.kind == "i"))
    whole = np.where(inside, near, 0).astype(value.dtype)
    above, below = ~inside | (whole > value), inside & (whole < value)
    downwards = np.full(value.shape, mode == "rm") | ((mode == "rz") & (value > 0))
    result = np.where(above & downwards, np.nextafter(near, target.type(-np.inf)), near)
    upwards = np.full(value.shape, mode == "rp") | ((mode == "rz") & (value < 0))
    return np.where(below & upwards, np.nextafter(near, target.type(np.inf)), result)
