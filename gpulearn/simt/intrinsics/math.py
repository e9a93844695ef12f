"""Mathematical functions of math, operator, NumPy and cuda, with the types Numba gives them."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from gpulearn.simt.core.arithmetic import BINARY
from gpulearn.simt.core.memory import View
from gpulearn.simt.core.registry import Intrinsic, converter, function, intrinsic
from gpulearn.simt.core.values import (
    FLOAT32,
    FLOAT64,
    Value,
    cast,
    cast_up,
    dtype_of,
    normal,
    truth,
    where,
)
from gpulearn.simt.intrinsics.elementwise import over_elements
from gpulearn.simt.machine.machine import Machine

__all__ = ["float_type", "ufunc_loop"]

_NARROW = {np.dtype(name) for name in ("bool", "int8", "uint8", "int16", "float32")}


def float_type(*values: Value, small: bool = False) -> np.dtype[Any]:
    """The floating type of a math function's result: integers count as float64.

    Beside a float32 integers of up to 16 bits are float32; with `small`, always.
    """
    dtypes = [dtype_of(v) for v in values]
    if _NARROW.issuperset(dtypes) and (small or (FLOAT32 in dtypes and len(dtypes) > 1)):
        return FLOAT32
    wide = [FLOAT64 if d.kind in "biu" else d for d in dtypes]
    result = wide[0]
    for d in wide[1:]:
        result = np.promote_types(result, d)
    return result


def _apply(ufunc: Any, *values: Value, small: bool = False) -> Value:
    dtype = float_type(*values, small=small)
    if ufunc is np.power and dtype_of(values[1]) == np.int32:  # C's powf takes an int
        dtype = float_type(values[0], small=small)
    result = ufunc(*(cast_up(v, dtype) for v in values))
    return tuple(map(normal, result)) if isinstance(result, tuple) else normal(result)


def _elementwise(name: str, python: Callable[..., Any]) -> Any:
    """A NumPy function for one of math's that NumPy does not have."""

    def compute(*values: Value) -> Value:
        flat = np.broadcast_arrays(*values)

        def one(*args: float) -> float:
            try:
                return float(python(*args))
            except (ValueError, OverflowError):
                return math.inf if name in ("gamma", "lgamma") else math.nan

        result = np.array([one(*map(float, args)) for args in zip(*(f.ravel() for f in flat),
                                                                  strict=True)])  # fmt: skip
        shaped = result.reshape(flat[0].shape).astype(dtype_of(values[0]))
        return shaped[()] if shaped.ndim == 0 else shaped

    return compute


_MATH: dict[str, Any] = {
    "sin": np.sin, "cos": np.cos, "tan": np.tan, "asin": np.arcsin, "acos": np.arccos,
    "atan": np.arctan, "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh,
    "asinh": np.arcsinh, "acosh": np.arccosh, "atanh": np.arctanh, "exp": np.exp,
    "exp2": np.exp2, "expm1": np.expm1, "log": np.log, "log2": np.log2, "log10": np.log10,
    "log1p": np.log1p, "sqrt": np.sqrt, "fabs": np.fabs, "floor": np.floor, "ceil": np.ceil,
    "trunc": np.trunc, "degrees": np.degrees, "radians": np.radians, "cbrt": np.cbrt,
    "atan2": np.arctan2, "hypot": np.hypot, "fmod": np.fmod, "copysign": np.copysign,
    "pow": np.power, "nextafter": np.nextafter, "remainder": None, "modf": None,
    "erf": _elementwise("erf", math.erf), "erfc": _elementwise("erfc", math.erfc),
    "gamma": _elementwise("gamma", math.gamma), "lgamma": _elementwise("lgamma", math.lgamma),
}  # fmt: skip


def _register_math() -> None:
    for name, ufunc in _MATH.items():
        python = getattr(math, name, None)
        if python is None:
            continue
        if ufunc is None:
            ufunc = {"remainder": _elementwise("remainder", math.remainder),
                     "modf": np.modf}[name]  # fmt: skip

        small = name in ("copysign", "fmod", "pow")

        def run(m: Machine, *values: Value, _ufunc: Any = ufunc, _small: bool = small) -> Value:
            return _apply(_ufunc, *values, small=_small)

        flop = name not in ("floor", "ceil", "trunc", "copysign", "fabs", "modf")
        function(python, flop=flop)(run)
    for name, ufunc in {"isnan": np.isnan, "isinf": np.isinf, "isfinite": np.isfinite}.items():

        def test(m: Machine, value: Value, _ufunc: Any = ufunc) -> Value:
            return normal(_ufunc(cast_up(value, float_type(value))))

        function(getattr(math, name))(test)
    for operate, name in _OPERATORS.items():

        def combine(m: Machine, a: Value, b: Value, _name: str = name) -> Value:
            return BINARY[_name](a, b)

        function(getattr(operator, operate))(combine)


_OPERATORS = {
    "add": "Add", "sub": "Sub", "mul": "Mult", "truediv": "Div", "floordiv": "FloorDiv",
    "mod": "Mod", "pow": "Pow", "lshift": "LShift", "rshift": "RShift", "and_": "BitAnd",
    "or_": "BitOr", "xor": "BitXor",
}  # fmt: skip


@function(math.ldexp)
def _ldexp(m: Machine, value: Value, exponent: Value) -> Value:
    return normal(np.ldexp(cast_up(value, float_type(value)), cast(exponent, np.dtype(np.int32))))


@function(math.frexp)
def _frexp(m: Machine, value: Value) -> Value:
    return tuple(normal(part) for part in np.frexp(cast_up(value, float_type(value))))


@cache
def ufunc_loop(ufunc: np.ufunc, given: tuple[np.dtype[Any], ...]) -> tuple[np.dtype[Any], ...]:
    """The types to which Numba converts a ufunc's operands.

    Of NumPy's own loops, the first that every operand can be cast to without loss, but for
    two things: Numba has no float16 loops, and beside a float or complex number an integer
    of any width fits into any of those (`numba.np.numpy_support.ufunc_can_cast`).

    >>> ufunc_loop(np.power, (np.dtype("float32"), np.dtype("int64")))
    (dtype('float32'), dtype('float32'))
    """
    mixed = any(d.kind in "iu" for d in given) and any(d.kind in "fc" for d in given)

    def fits(dtype: np.dtype[Any], wanted: np.dtype[Any]) -> bool:
        loose = mixed and dtype.kind in "iu" and wanted.kind in "fc"
        return loose or np.can_cast(dtype, wanted, "safe")

    for loop in ufunc.types:
        letters = loop[: ufunc.nin]
        if set(letters) & set("eOmM"):
            continue
        wanted = tuple(np.dtype(letter) for letter in letters)
        if len(wanted) == len(given) and all(map(fits, given, wanted)):
            return wanted
    return given


# ufuncs that a GPU carries out without arithmetic, or as a comparison
NO_WORK = {
    "floor", "ceil", "trunc", "rint", "copysign", "fabs", "absolute", "positive", "negative",
    "conjugate", "sign", "modf", "frexp", "maximum", "minimum", "fmax", "fmin",
}  # fmt: skip


@converter
def _ufunc(thing: Any) -> Intrinsic | None:
    """A NumPy ufunc, in the type in which Numba computes it."""
    if not isinstance(thing, np.ufunc):
        return None
    works = thing.__name__ not in NO_WORK

    def compute(m: Machine, *values: Value) -> Value:
        loop = ufunc_loop(thing, tuple(dtype_of(v) for v in values))
        result = thing(*(cast_up(v, dtype) for v, dtype in zip(values, loop, strict=True)))
        result = tuple(map(normal, result)) if isinstance(result, tuple) else normal(result)
        return m.flop(result) if works else result

    def run(m: Machine, *values: Any, **named: Any) -> Any:
        if named:
            name = f"np.{thing.__name__}"
            message = f"{name} has no {next(iter(named))}= in a kernel: write {name}(x, out)"
            raise m.stop("not-a-kernel", message)
        if any(isinstance(v, View) for v in values):
            return over_elements(m, thing, compute, values)
        return compute(m, *values)

    return Intrinsic(thing.__name__, run)


@intrinsic("selp")
def selp(m: Machine, condition: Value, a: Value, b: Value) -> Value:
    """`a` where the condition holds, else `b`; both are evaluated."""
    condition = truth(condition)
    if not isinstance(condition, np.ndarray):
        return a if condition else b
    return where(condition, a, b)


@intrinsic("fma", flop=True)
def fma(m: Machine, a: Value, b: Value, c: Value) -> Value:
    """A * b + c, rounded once."""
    m.flop(a)
    dtype = np.result_type(*(dtype_of(v) for v in (a, b, c)))
    dtype = dtype if dtype.kind == "f" else np.dtype(np.float64)
    wide = np.dtype(np.longdouble if dtype.itemsize == 8 else np.float64)
    exact = np.asarray(a).astype(wide) * np.asarray(b).astype(wide) + np.asarray(c).astype(wide)
    result = exact.astype(dtype)
    return normal(result[()]) if result.ndim == 0 else result


@intrinsic("cbrt", flop=True)
def cbrt(m: Machine, value: Value) -> Value:
    """The cube root."""
    dtype = dtype_of(value)
    return normal(np.cbrt(cast_up(value, dtype if dtype.kind == "f" else np.dtype(np.float64))))


_register_math()
