"""libdevice: CUDA's mathematical functions by their own names, `cuda.libdevice.sinf` and its kin.

The types of each are those of Numba's own table. Of those that round in a direction (`dadd_rd`)
only the conversions to whole numbers are here; Bessel functions and `erfcx` are not.
"""

import importlib
import math
import re
from collections.abc import Callable
from statistics import NormalDist
from typing import Any

import numpy as np

from simt.core.registry import Intrinsic, converter
from simt.core.values import Value, cast, cast_up, clamped
from simt.intrinsics import integer
from simt.intrinsics.math import elementwise, larger, named, smaller
from simt.machine.machine import Machine

Numbers = Any  # an array of numbers, or one
_NORMAL = NormalDist()
_PARTS = {"rn": np.rint, "rd": np.floor, "ru": np.ceil, "rz": np.trunc}  # of a rounding mode


def _bits(dtype: Any) -> Callable[[Numbers], Numbers]:
    return lambda v: v.view(dtype)


def _shared(function: Callable[..., Any]) -> Callable[..., Any]:
    """One of the machine's own intrinsics, for two's complement of any width."""
    return lambda v: function(None, v)


def _round(v: Numbers) -> Numbers:
    whole = np.trunc(v)
    return whole + np.copysign(np.abs(v - whole) >= 0.5, v)


def _permuted(x: Numbers, y: Numbers, selector: Numbers) -> Numbers:
    """Four of the eight bytes of y and x, chosen by the selector's lowest digits."""
    both = y.view(np.uint32).astype(np.uint64) << np.uint64(32) | x.view(np.uint32)
    result = np.uint64(0)
    for place in range(4):
        digit = selector.view(np.uint32).astype(np.uint64) >> np.uint64(4 * place)
        byte = both >> ((digit & np.uint64(7)) * np.uint64(8)) & np.uint64(255)
        result = result | byte << np.uint64(8 * place)
    return result.astype(np.uint32).view(np.int32)


def _wide(compute: Callable[..., Any]) -> Callable[..., Any]:
    """Whole numbers of 32 or 64 bits, computed without overflow and cut to their width."""

    def function(*values: Numbers) -> Numbers:
        size = 8 * values[0].itemsize
        result = np.asarray(compute(size, *(np.array(v.tolist(), object) for v in values)), object)
        return np.asarray(result & ((1 << size) - 1)).astype(f"u{size // 8}")[()]

    return function


def _inverse(probability: Callable[[float], float], sign: float) -> Any:
    def one(value: float) -> float:
        p = probability(value)
        edges = {0.0: -math.inf, 1.0: math.inf}
        return sign * (edges[p] if p in edges else _NORMAL.inv_cdf(p))

    return elementwise(one)


def _low24(v: Any) -> Any:
    return (v & 0xFFFFFF) - ((v & 0x800000) << 1)


_ROOT = math.sqrt(0.5)
_FLOATS: dict[str, Any] = {
    **{name: named(name) for name in (
        "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cbrt", "ceil", "copysign",
        "cos", "cosh", "erf", "erfc", "exp", "exp2", "expm1", "fabs", "floor", "fmod", "frexp",
        "hypot", "ldexp", "lgamma", "log", "log10", "log1p", "log2", "modf", "nextafter", "pow",
        "remainder", "sin", "sinh", "sqrt", "tan", "tanh", "trunc",
    )},
    "tgamma": named("gamma"), "powi": named("pow"), "scalbn": np.ldexp, "fmax": larger,
    "fmin": smaller, "rint": np.rint, "nearbyint": np.rint, "llrint": np.rint, "round": _round,
    "llround": _round, "rsqrt": lambda v: 1 / np.sqrt(v), "rcbrt": lambda v: 1 / np.cbrt(v),
    "exp10": lambda v: np.power(v.dtype.type(10), v),
    "sinpi": lambda v: np.sin(v.dtype.type(np.pi) * v),
    "cospi": lambda v: np.cos(v.dtype.type(np.pi) * v),
    "sincos": lambda v: (np.sin(v), np.cos(v)),
    "sincospi": lambda v: (np.sin(v.dtype.type(np.pi) * v), np.cos(v.dtype.type(np.pi) * v)),
    "fdim": lambda a, b: np.maximum(a - b, 0), "fdivide": np.true_divide,
    "saturate": lambda v: np.where(v > 0, np.minimum(v, 1), 0),
    "fma": lambda a, b, c: a.astype(np.longdouble) * b + c,
    "logb": lambda v: np.frexp(v)[1] - 1, "ilogb": lambda v: np.frexp(v)[1] - 1,
    "isnan": np.isnan, "isinf": np.isinf, "isfinite": np.isfinite, "finite": np.isfinite,
    "signbit": np.signbit, "erfinv": _inverse(lambda y: (1 + y) / 2, _ROOT),
    "erfcinv": _inverse(lambda y: y / 2, -_ROOT), "normcdfinv": _inverse(float, 1),
    "normcdf": elementwise(lambda v: math.erfc(-v * _ROOT) / 2),
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.true_divide,
    "rcp": np.reciprocal,
}  # fmt: skip
_WHOLE: dict[str, Any] = {
    "max": np.maximum, "min": np.minimum, "abs": np.abs, "popc": _shared(integer.popc),
    "clz": _shared(integer.clz), "ffs": _shared(integer.ffs), "byte_perm": _permuted,
    "brev": lambda v: _shared(integer.brev)(v.view(f"u{v.itemsize}")),
    "mul24": _wide(lambda bits, a, b: np.vectorize(_low24)(a) * np.vectorize(_low24)(b)),
    "umul24": _wide(lambda bits, a, b: (a & 0xFFFFFF) * (b & 0xFFFFFF)),
    "mulhi": _wide(lambda bits, a, b: a * b >> bits),
    "mul64hi": _wide(lambda bits, a, b: a * b >> bits),
    "hadd": _wide(lambda bits, a, b: a + b >> 1), "rhadd": _wide(lambda bits, a, b: a + b + 1 >> 1),
    "sad": _wide(lambda bits, a, b, c: abs(a - b) + c),
}  # fmt: skip
_REINTERPRETED: dict[str, Any] = {
    "int_as_float": _bits(np.float32), "float_as_int": _bits(np.int32),
    "longlong_as_double": _bits(np.float64), "double_as_longlong": _bits(np.int64),
    "half2float": _bits(np.float16), "float2half_rn": lambda v: v.astype(np.float16).view(np.int16),
    "double2hiint": lambda v: v.view(np.int64) >> 32,
    "double2loint": lambda v: v.view(np.int64).astype(np.int32),
    "hiloint2double": lambda high, low: (
        high.astype(np.int64) << 32 | low.view(np.uint32)
    ).view(np.float64),
}  # fmt: skip


def _conversion(name: str) -> Any:
    """`double2int_rz` and its kin, which keep to the range; from whole numbers to the nearest."""
    match = re.fullmatch(r"(float|double|u?int|u?ll)2(float|double|u?int|u?ll)_(r[nduz])", name)
    if match is None:
        return None
    source, target, mode = match.groups()
    if target in ("float", "double"):
        exact = mode == "rn" or (target == "double" and source.endswith("int"))
        return (lambda v: v) if exact else None
    if source not in ("float", "double"):
        return None
    dtype = np.dtype(f"{'iu'[target[0] == 'u']}{4 if target.endswith('int') else 8}")
    return lambda v: clamped(_PARTS[mode](v), dtype)[()]


def _computation(name: str) -> Any:
    """What computes a function of libdevice; None if nothing here does."""
    function = _REINTERPRETED.get(name) or _conversion(name)
    if function is not None:
        return function
    plain = name.removeprefix("fast_").removesuffix("_rn")
    whole = re.sub(r"^u(?=\w)|ll", "", plain)
    # sinf, isnand; fadd_rn, dadd_rn
    float_names = [plain, re.sub("[fd]$", "", plain), plain[1:] if name.endswith("_rn") else plain]
    return _WHOLE.get(whole) or next((_FLOATS[n] for n in float_names if n in _FLOATS), None)


@converter
def _libdevice(thing: Any) -> Intrinsic | None:
    """`numba.cuda.libdevice.sinf` and its kin."""
    if getattr(thing, "__module__", None) != "numba.cuda.libdevice":
        return None
    name = thing.__name__
    compute = _computation(name)
    table = importlib.import_module("numba.cuda.libdevicefuncs").functions
    result, arguments = table[f"__nv_{name}"]
    argument_types = [np.dtype(str(a.ty)) for a in arguments if not a.is_ptr]
    result_types = [np.dtype(str(a.ty)) for a in arguments if a.is_ptr]
    if str(result) != "none":
        result_types.insert(0, np.dtype(str(result)))
    unsigned = re.match(r"u(?!_)", name) is not None

    def run(m: Machine, *values: Value) -> Value:
        if compute is None:
            message = f"libdevice.{name} is not supported by the SIMT machine"
            raise m.stop("unsupported", message)
        operands = [cast_up(v, dtype) for v, dtype in zip(values, argument_types, strict=True)]
        if unsigned:
            operands = [v.view(f"u{v.itemsize}") for v in operands]
        output = compute(*operands)
        parts = output if isinstance(output, tuple) else (output,)
        converted = [cast(p, d) for p, d in zip(parts, result_types, strict=True)]
        return tuple(converted) if len(converted) > 1 else converted[0]

    return Intrinsic(f"libdevice.{name}", run, flop=any(d.kind == "f" for d in argument_types))
