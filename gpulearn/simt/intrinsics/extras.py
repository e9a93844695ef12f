"""Half precision and vector types: the less common parts of `numba.cuda`."""

from __future__ import annotations

from collections import namedtuple
from typing import Any

import numpy as np

from gpulearn.simt.core.arithmetic import COMPARE
from gpulearn.simt.core.registry import intrinsic
from gpulearn.simt.core.values import Value, cast, cast_up, normal
from gpulearn.simt.intrinsics.math import larger, smaller
from gpulearn.simt.machine.machine import Machine

__all__: list[str] = []

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
    "htrunc": np.trunc, "htanh": np.tanh,
    "htanh_approx": np.tanh, "hrcp": np.reciprocal, "hmax": larger, "hmin": smaller,
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


def _flat(values: tuple[Any, ...]) -> list[Value]:
    return [n for v in values for n in (_flat(v) if isinstance(v, tuple) else [v])]


def _vector(base: str, count: int) -> None:
    name, dtype = f"{base}x{count}", np.dtype(base)
    aliases = [f"{alias}{count}" for alias, meant in _ALIASES.items() if meant == base]
    kind = namedtuple(name, list("xyzw"[:count]))  # type: ignore[misc]

    @intrinsic(name, *aliases)
    def make(m: Machine, *values: Any) -> Any:
        flat = _flat(values)
        if len(flat) != count:
            message = f"{name} is made of {count} numbers, {len(flat)} given"
            raise m.stop("not-a-kernel", message)
        return kind(*(cast(v, dtype) for v in flat))

    make.__doc__ = f"`cuda.{name}`: {count} numbers of {dtype}."


for _count in (1, 2, 3, 4):
    for _base in sorted(set(_ALIASES.values())):
        _vector(_base, _count)
