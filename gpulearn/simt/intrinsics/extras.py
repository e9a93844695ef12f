"""Half precision, vector types and libdevice: the less common parts of `numba.cuda`."""

from __future__ import annotations

import re
from collections import namedtuple
from typing import Any

import numpy as np

from gpulearn.simt.core.arithmetic import COMPARE
from gpulearn.simt.core.registry import Intrinsic, converter, intrinsic
from gpulearn.simt.core.values import Value, cast, cast_up, normal
from gpulearn.simt.machine.machine import Machine

__all__ = ["VECTOR_NAMES"]

HALF = np.dtype(np.float16)


# --- fp16


def _half(name: str, compute: Any, *, compare: bool = False) -> None:
    @intrinsic(f"fp16.{name}")
    def operate(m: Machine, *values: Value) -> Value:
        result = compute(*(cast_up(v, HALF) for v in values))
        return normal(result) if compare else cast(result, HALF)

    operate.__doc__ = f"`cuda.fp16.{name}`, computed in float16."


for _name, _ufunc in {
    "hadd": np.add, "hsub": np.subtract, "hmul": np.multiply, "hdiv": np.true_divide,
    "hneg": np.negative, "habs": np.abs, "hsin": np.sin, "hcos": np.cos, "hlog": np.log,
    "hlog2": np.log2, "hlog10": np.log10, "hexp": np.exp, "hexp2": np.exp2,
    "hfloor": np.floor, "hceil": np.ceil, "hsqrt": np.sqrt, "hrint": np.rint,
    "htrunc": np.trunc, "hrcp": np.reciprocal, "hmax": np.fmax, "hmin": np.fmin,
}.items():  # fmt: skip
    _half(_name, _ufunc)
_half("hexp10", lambda v: np.power(HALF.type(10), v))
_half("hrsqrt", lambda v: HALF.type(1) / np.sqrt(v))
_half("hfma", lambda a, b, c: np.float64(a) * b + c)
for _name in ("eq", "ne", "ge", "gt", "le", "lt"):
    _word = {"eq": "Eq", "ne": "NotEq", "ge": "GtE", "gt": "Gt", "le": "LtE", "lt": "Lt"}[_name]
    _half(f"h{_name}", COMPARE[_word], compare=True)


# --- vector types: cuda.float32x3(1, 2, 3).y


_ALIASES = {
    "char": "int8", "short": "int16", "int": "int32", "long": "int64", "longlong": "int64",
    "uchar": "uint8", "ushort": "uint16", "uint": "uint32", "ulong": "uint64",
    "ulonglong": "uint64", "float": "float32", "double": "float64",
}  # fmt: skip
VECTOR_NAMES: list[str] = []


def _flat(values: tuple[Any, ...]) -> list[Value]:
    return [n for v in values for n in (_flat(v) if isinstance(v, tuple) else [v])]


def _vector(name: str, dtype: np.dtype[Any], count: int) -> None:
    kind = namedtuple(name, list("xyzw"[:count]))  # type: ignore[misc]

    @intrinsic(name)
    def make(m: Machine, *values: Any) -> Any:
        flat = _flat(values)
        if len(flat) != count:
            message = f"{name} is made of {count} numbers, {len(flat)} given"
            raise m.stop("not-a-kernel", message)
        return kind(*(cast(v, dtype) for v in flat))

    make.__doc__ = f"`cuda.{name}`: {count} numbers of {dtype}."
    VECTOR_NAMES.append(name)


for _count in (1, 2, 3, 4):
    for _base in sorted(set(_ALIASES.values())):
        _vector(f"{_base}x{_count}", np.dtype(_base), _count)
    for _alias, _base in _ALIASES.items():
        _vector(f"{_alias}{_count}", np.dtype(_base), _count)


# --- libdevice: the functions that NumPy can compute


_SAME = set(
    "acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh exp exp2 expm1 "  # noqa: SIM905
    "fabs fmax fmin fmod floor frexp hypot ldexp log log10 log1p log2 modf nextafter pow "
    "rint sin sinh sqrt tan tanh trunc".split()
)
_NUMPY = {
    "acos": "arccos", "acosh": "arccosh", "asin": "arcsin", "asinh": "arcsinh",
    "atan": "arctan", "atan2": "arctan2", "atanh": "arctanh", "pow": "power",
    "nearbyint": "rint", "finite": "isfinite", "signbit": "signbit",
}  # fmt: skip
_OWN: dict[str, Any] = {
    "rsqrt": lambda v: 1 / np.sqrt(v),
    "rcbrt": lambda v: 1 / np.cbrt(v),
    "exp10": lambda v: np.power(type_like(v, 10), v),
    "sinpi": lambda v: np.sin(type_like(v, np.pi) * v),
    "cospi": lambda v: np.cos(type_like(v, np.pi) * v),
    "fdim": lambda a, b: np.maximum(a - b, type_like(a, 0)),
    "fdivide": lambda a, b: a / b,
    "saturate": lambda v: np.clip(v, type_like(v, 0), type_like(v, 1)),
    "sincos": lambda v: (np.sin(v), np.cos(v)),
    "fma": lambda a, b, c: (a.astype(np.longdouble) * b + c).astype(a.dtype),
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.true_divide,
}  # fmt: skip


# the same bits as another type: from -> to
_BITS = {
    "int_as_float": (np.int32, np.float32), "float_as_int": (np.float32, np.int32),
    "longlong_as_double": (np.int64, np.float64), "double_as_longlong": (np.float64, np.int64),
}  # fmt: skip


def type_like(value: Any, number: float) -> Any:
    """A number in the type of another."""
    return value.dtype.type(number)


def _libdevice_function(name: str) -> tuple[Any, np.dtype[Any]] | None:
    """What computes a libdevice function, and in which precision; None if nothing here does."""
    plain = name.removeprefix("fast_")
    rounded = re.fullmatch(r"([fd])(add|sub|mul|div|sqrt|rcp)_rn", plain)
    if rounded:
        single = rounded[1] == "f"
        word = rounded[2]
        compute = np.reciprocal if word == "rcp" else _OWN.get(word) or getattr(np, word)
        return compute, np.dtype(np.float32 if single else np.float64)
    single = plain.endswith("f") and plain[:-1] not in ("er", "mod")
    base = plain[:-1] if single else plain
    dtype = np.dtype(np.float32 if single else np.float64)
    if base in _OWN:
        return _OWN[base], dtype
    if base in _SAME or base in _NUMPY:
        return getattr(np, _NUMPY.get(base, base)), dtype
    return None


@converter
def _libdevice(thing: Any) -> Intrinsic | None:
    """`numba.cuda.libdevice.sinf` and its kin."""
    if getattr(thing, "__module__", None) != "numba.cuda.libdevice":
        return None
    name = thing.__name__
    if name in _BITS:
        given, wanted = (np.dtype(t) for t in _BITS[name])

        def reinterpret(m: Machine, value: Value) -> Value:
            bits = np.asarray(cast(value, given)).view(wanted)
            return bits if bits.ndim else normal(bits[()])

        return Intrinsic(f"libdevice.{name}", reinterpret)
    found = _libdevice_function(name)

    def run(m: Machine, *values: Value) -> Value:
        if found is None:
            message = f"libdevice.{name} is not supported by the SIMT machine"
            raise m.stop("unsupported", message)
        compute, dtype = found
        whole = name.startswith("ldexp")  # its second argument is an exponent
        given = [
            cast_up(v, np.dtype(np.int32) if whole and n else dtype) for n, v in enumerate(values)
        ]
        result = compute(*given)
        return tuple(map(normal, result)) if isinstance(result, tuple) else normal(result)

    return Intrinsic(f"libdevice.{name}", run, flop=True)
