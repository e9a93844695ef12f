"""Mathematical functions of math, operator, NumPy and cuda, with the types Numba gives them."""

import cmath
import inspect
import math
import operator
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from simt.core.arithmetic import BINARY, COMPARE, UNARY
from simt.core.memory import View
from simt.core.registry import Intrinsic, converter, function, intrinsic
from simt.core.resolution import choose
from simt.core.values import FLOAT64, INT64, UINT64, Value, cast_up, dtype_of, normal, truth, where
from simt.intrinsics.elementwise import over_elements
from simt.machine.machine import Machine

_ONE = "l>d L>d f>f d>d"
_HALF = _ONE + " e>e"
_TWO = "ff>f dd>d"
_WHOLE = "ll>d LL>d " + _TWO


def compute(function: Any, table: str, *values: Value) -> Value:
    """A function of numbers, in the types of the signature that Numba chooses for them."""
    operands, results = choose(table, tuple(dtype_of(v) for v in values))
    if results[0].kind == "f":  # C's functions take no whole numbers of 64 bits
        operands = tuple(FLOAT64 if dtype in (INT64, UINT64) else dtype for dtype in operands)
    converted = (cast_up(v, dtype) for v, dtype in zip(values, operands, strict=True))
    result = function(*converted)
    return tuple(map(normal, result)) if isinstance(result, tuple) else normal(result)


def complex_of(real: Any, imag: Any) -> Any:
    """A complex number from its parts: a sum with a product of 1j would spoil an infinity."""
    result = np.empty(np.broadcast_shapes(real.shape, imag.shape), f"c{2 * real.itemsize}")
    result.real, result.imag = real, imag
    return result[()]


def magnitude(value: Any) -> Any:
    """`abs`; of a complex number as Numba has it, which is not how NumPy rounds."""
    return np.hypot(value.real, value.imag) if value.dtype.kind == "c" else np.abs(value)


def smaller(a: Any, b: Any) -> Any:
    """`min` of PTX: a NaN loses, and of two zeros the one with the sign wins."""
    result, same = np.fmin(a, b), np.equal(a, b)
    return np.where(same, np.where(np.signbit(a), a, b), result)[()] if same.any() else result


def larger(a: Any, b: Any) -> Any:
    """`max` of PTX: a NaN loses, and of two zeros the one without the sign wins."""
    result, same = np.fmax(a, b), np.equal(a, b)
    return np.where(same, np.where(np.signbit(a), b, a), result)[()] if same.any() else result


def elementwise(python: Callable[..., Any], pole: float = math.nan) -> Any:
    """A NumPy function for one of math's that NumPy does not have; `pole` where it is undefined."""

    def one(*args: float) -> float:
        try:
            return float(python(*args))
        except OverflowError:
            return math.inf
        except ValueError:
            return pole

    several = np.frompyfunc(one, len(inspect.signature(python).parameters), 1)

    def function(*values: Value) -> Value:
        wide = (v.astype(FLOAT64) for v in values)
        return np.asarray(several(*wide)).astype(dtype_of(values[0]))[()]

    return function


def _exp(value: Any) -> Any:
    nothing = np.isneginf(value.real) & ~np.isfinite(value.imag)
    return np.where(nothing, 0, np.exp(value)).astype(value.dtype)[()]


def _rect(radius: Any, angle: Any) -> Any:
    infinite = ~np.isfinite(angle)
    special = [infinite & (radius == 0), infinite & np.isinf(radius)]

    def part(unit: Any, endless: Any) -> Any:
        scale = np.where(np.isinf(radius) & (unit == 0), 1 / radius, radius)  # 0 * inf is nan
        return np.select(special, [0, endless], unit * scale).astype(radius.dtype)

    return complex_of(part(np.cos(angle), radius), part(np.sin(angle), angle))


_MATH: dict[str, dict[str, Any]] = {
    _HALF: {
        "sin": np.sin, "cos": np.cos, "exp": np.exp, "exp2": np.exp2, "log": np.log,
        "log2": np.log2, "log10": np.log10, "sqrt": np.sqrt, "fabs": np.fabs,
        "floor": np.floor, "ceil": np.ceil, "trunc": np.trunc,
    },
    _ONE: {
        "tan": np.tan, "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan,
        "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh, "asinh": np.arcsinh,
        "acosh": np.arccosh, "atanh": np.arctanh, "expm1": np.expm1, "log1p": np.log1p,
        "degrees": np.degrees, "radians": np.radians, "cbrt": np.cbrt,
        "erf": elementwise(math.erf), "erfc": elementwise(math.erfc),
        "gamma": elementwise(lambda v: math.gamma(v) if v else math.copysign(math.inf, v)),
        "lgamma": elementwise(math.lgamma, math.inf),
    },
    _WHOLE: {"atan2": np.arctan2, "hypot": np.hypot},
    _TWO: {
        "fmod": np.fmod, "copysign": np.copysign, "nextafter": np.nextafter,
        "remainder": elementwise(math.remainder),
    },
    _TWO + " fi>f di>d": {"pow": lambda a, b: np.power(a, b.astype(a.dtype))},
    "fi>f di>d": {"ldexp": np.ldexp},
    "f>fi d>di": {"frexp": np.frexp},
    "d>dd f>ff": {"modf": np.modf},
    "l>? L>? f>? d>?": {"isnan": np.isnan, "isinf": np.isinf, "isfinite": np.isfinite},
}  # fmt: skip


def named(name: str) -> Any:
    """What computes a function of math."""
    return next(functions[name] for functions in _MATH.values() if name in functions)


_CMATH: dict[str, dict[str, Any]] = {
    "F>F D>D": {
        "acos": np.arccos, "acosh": np.arccosh, "asin": np.arcsin, "asinh": np.arcsinh,
        "atan": np.arctan, "atanh": np.arctanh, "cos": np.cos, "cosh": np.cosh, "exp": _exp,
        "log10": np.log10, "sin": np.sin, "sinh": np.sinh, "sqrt": np.sqrt, "tan": np.tan,
        "tanh": np.tanh,
    },
    "F>F D>D FF>F DD>D": {
        "log": lambda v, *base: np.log(v) / np.log(*base) if base else np.log(v),
    },
    "F>f D>d": {"phase": np.angle},
    "F>ff D>dd": {"polar": lambda z: (magnitude(z), np.angle(z))},
    "ff>F dd>D": {"rect": _rect},
    "F>? D>?": {"isnan": np.isnan, "isinf": np.isinf, "isfinite": np.isfinite},
}  # fmt: skip
CHOICES = {"maximum", "minimum", "fmax", "fmin"}
# what a GPU carries out without arithmetic, or as a comparison
NO_FLOPS = {
    "floor", "ceil", "trunc", "rint", "copysign", "fabs", "absolute", "positive", "negative",
    "conjugate", "sign", "modf", "frexp", "ldexp", "isnan", "isinf", "isfinite", *CHOICES,
}  # fmt: skip


def _register_math(home: Any, tables: dict[str, dict[str, Any]]) -> None:
    for table, functions in tables.items():
        for name, ours in functions.items():
            if not hasattr(home, name):
                continue

            def run(m: Machine, *values: Value, _ours: Any = ours, _table: str = table) -> Value:
                return compute(_ours, _table, *values)

            function(getattr(home, name), flop=name not in NO_FLOPS)(run)


_OPERATORS = {
    "add": "Add", "sub": "Sub", "mul": "Mult", "truediv": "Div", "floordiv": "FloorDiv",
    "mod": "Mod", "pow": "Pow", "lshift": "LShift", "rshift": "RShift", "and_": "BitAnd",
    "or_": "BitOr", "xor": "BitXor", "eq": "Eq", "ne": "NotEq", "lt": "Lt", "le": "LtE", "gt": "Gt",
    "ge": "GtE", "neg": "USub", "pos": "UAdd", "invert": "Invert", "not_": "Not",
}  # fmt: skip


@cache
def ufunc_loop(ufunc: np.ufunc, dtypes: tuple[np.dtype[Any], ...]) -> tuple[np.dtype[Any], ...]:
    """The types to which Numba converts a ufunc's operands.

    Of NumPy's own loops, the first that every operand can be cast to without loss, but for
    two things: Numba has no float16 loops, and beside a float or complex number an integer
    of any width fits into any of those (`numba.np.numpy_support.ufunc_can_cast`).

    >>> ufunc_loop(np.power, (np.dtype("float32"), np.dtype("int64")))
    (dtype('float32'), dtype('float32'))
    """
    mixed = any(d.kind in "iu" for d in dtypes) and any(d.kind in "fc" for d in dtypes)

    def fits(dtype: np.dtype[Any], target: np.dtype[Any]) -> bool:
        lossy = mixed and dtype.kind in "iu" and target.kind in "fc"
        return lossy or np.can_cast(dtype, target, "safe")

    for loop in ufunc.types:
        letters = loop[: ufunc.nin]
        if set(letters) & set("eOmM"):
            continue
        target = tuple(np.dtype(letter) for letter in letters)
        if len(target) == len(dtypes) and all(map(fits, dtypes, target)):
            return target
    return dtypes


@converter
def _ufunc(thing: Any) -> Intrinsic | None:
    """A NumPy ufunc, in the type in which Numba computes it."""
    if not isinstance(thing, np.ufunc):
        return None
    works = thing.__name__ not in NO_FLOPS

    def compute(m: Machine, *values: Value) -> Value:
        loop = ufunc_loop(thing, tuple(dtype_of(v) for v in values))
        operands = tuple(cast_up(v, dtype) for v, dtype in zip(values, loop, strict=True))
        result = thing(*operands)
        if thing.__name__ in CHOICES:  # NumPy takes any of two zeros, Numba the first
            result = np.where(np.equal(*operands), operands[0], result)[()]
        result = tuple(map(normal, result)) if isinstance(result, tuple) else normal(result)
        return m.flop(result) if works else result

    def run(m: Machine, *values: Any, **kwargs: Any) -> Any:
        if kwargs:
            name = f"np.{thing.__name__}"
            message = f"{name} has no {next(iter(kwargs))}= in a kernel: write {name}(x, out)"
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


_register_math(math, _MATH)
_register_math(cmath, _CMATH)
_RUN = BINARY | COMPARE | UNARY
for _operator, _name in _OPERATORS.items():
    function(getattr(operator, _operator))(lambda m, *values, _name=_name: _RUN[_name](*values))
