"""Arithmetic: the operators of Python on values, in the types that Numba would choose."""

import operator
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from simt.core.resolution import choose
from simt.core.values import (
    BOOL,
    FLOAT32,
    FLOAT64,
    INT64,
    UINT64,
    Value,
    arithmetic_type,
    cast,
    cast_up,
    dtype_of,
    normal,
    truth,
)

Operation = Callable[..., Value]
_WRAP = 1 << 64
_HALF = 1 << 63


def _wrapped(number: int) -> int:
    if -_HALF <= number < _HALF:
        return number
    return (number + _HALF) % _WRAP - _HALF


# Called with the two dtypes when float32 data meets arithmetic in float64.
leak_hook: list[Callable[[], None]] = []


def _binary(
    ufunc: Any,
    rule: Callable[[np.dtype[Any], np.dtype[Any]], np.dtype[Any]],
    exact: Callable[[int, int], int] | None = None,
) -> Operation:
    """One arithmetic operator; `exact` is its form for two Python ints."""

    def operate(a: Value, b: Value) -> Value:
        ta, tb = type(a), type(b)
        if ta is int and tb is int and exact is not None:
            return _wrapped(exact(a, b))
        if ta is tuple:
            return _joined(ufunc, a, b)
        if ta is np.ndarray:
            da = a.dtype
            if tb is int:
                if da is INT64 and exact is not None:
                    return ufunc(a, b)
                db = INT64
            elif tb is np.ndarray:
                db = b.dtype
                if da is db and da.kind == "f" and da.itemsize > 2:
                    return ufunc(a, b)
            else:
                db = dtype_of(b)
        else:
            da, db = dtype_of(a), dtype_of(b)
        if da.kind in "mM" or db.kind in "mM":  # dates: NumPy's units, which are Numba's
            return ufunc(_strong(a), _strong(b))
        dtype = rule(da, db)
        if da is not db and dtype is FLOAT64 and leak_hook and FLOAT32 in (da, db):
            leak_hook[-1]()
        result = ufunc(cast_up(a, dtype), cast_up(b, dtype))
        return result if ta is np.ndarray or tb is np.ndarray else normal(result)

    operate.__name__ = operate.__qualname__ = str(ufunc.__name__)
    return operate


def _joined(ufunc: Any, a: tuple[Value, ...], b: Value) -> Value:
    """`+` of two tuples, and a tuple times a whole number that all threads share."""
    if ufunc is np.add and isinstance(b, tuple):
        return a + tuple(b)
    if ufunc is np.multiply and type(b) is int:
        return a * b
    raise TypeError("tuple is not a number")


def _floor_divide(a: Value, b: Value) -> Value:
    """`//`; the least whole number over -1 does not fit, and Numba gives 0."""
    quotient = np.floor_divide(a, b)
    if quotient.dtype != INT64 or not np.any(b == -1):
        return quotient
    return np.where((b == -1) & (a == -_HALF), 0, quotient)[()]


def _quotient(a: int, b: int) -> int:
    return a // b if b and (a != -_HALF or b != -1) else 0


def _result(table: str) -> Callable[[np.dtype[Any], np.dtype[Any]], np.dtype[Any]]:
    """The type of an operator's result, from its signatures."""

    @cache
    def rule(a: np.dtype[Any], b: np.dtype[Any]) -> np.dtype[Any]:
        return choose(table, (a, b))[1][0]

    return rule


def _shift_type(a: np.dtype[Any], b: np.dtype[Any]) -> np.dtype[Any]:
    return UINT64 if a.kind == "u" else INT64


def _squared(base: Any, exponent: Any) -> Any:
    """A whole power by squaring and multiplying, rounded where Numba's code rounds."""
    remaining = size = np.abs(exponent).astype(np.uint64)
    square, result = base, np.ones_like(base)
    while remaining.any():
        odd = (remaining & np.uint64(1)).astype(bool)
        if odd.any():
            result = result * square if odd.all() else np.where(odd, result * square, result)
        square, remaining = square * square, remaining >> np.uint64(1)
    if (exponent < 0).any():
        inverse = 1 / result
        if base.dtype.kind in "iu":
            inverse = np.trunc(inverse)
        result = np.where(exponent < 0, inverse.astype(base.dtype), result)
    if base.dtype.kind == "f" and (size > _MAX_SQUARED).any():
        result = np.where(size > _MAX_SQUARED, np.power(base, exponent.astype(base.dtype)), result)
    return result[()]


def _power(a: Value, b: Value) -> Value:
    (_, kind), (result,) = choose(_POWERS, (dtype_of(a), dtype_of(b)))
    if kind.kind not in "iu":
        return _float_power(a, b)
    return normal(_squared(cast_up(a, result), cast_up(b, kind)))


_REAL = "ll>l lL>l Ll>l LL>L ff>f dd>d"
_BITS = "??>? ll>l lL>l Ll>l LL>L"
_POWERS = "ll>l lL>l Ll>l LL>L fi>f fl>f fL>f di>d dl>d dL>d ff>f dd>d FF>F DD>D"
_MAX_SQUARED = 0x10000  # the largest exponent of that kind
_float_power = _binary(np.power, _result(_POWERS))


BINARY: dict[str, Operation] = {
    "Add": _binary(np.add, arithmetic_type, lambda a, b: a + b),
    "Sub": _binary(np.subtract, arithmetic_type, lambda a, b: a - b),
    "Mult": _binary(np.multiply, arithmetic_type, lambda a, b: a * b),
    "Div": _binary(np.true_divide, _result("ll>d lL>d Ll>d LL>d ee>e ff>f dd>d FF>F DD>D")),
    "FloorDiv": _binary(_floor_divide, _result(_REAL), _quotient),
    "Mod": _binary(np.mod, _result(_REAL), lambda a, b: a % b if b else 0),
    "Pow": _power,
    "LShift": _binary(np.left_shift, _shift_type, lambda a, b: a << b if 0 <= b < 64 else 0),
    "RShift": _binary(np.right_shift, _shift_type, lambda a, b: a >> min(b, 63) if b >= 0 else 0),
    "BitAnd": _binary(np.bitwise_and, _result(_BITS), lambda a, b: a & b),
    "BitOr": _binary(np.bitwise_or, _result(_BITS), lambda a, b: a | b),
    "BitXor": _binary(np.bitwise_xor, _result(_BITS), lambda a, b: a ^ b),
}


def _strong(value: Value) -> Value:
    """A Python number as the NumPy scalar of its own width (NumPy would narrow it)."""
    if type(value) is int:
        return np.int64(value)
    return np.float64(value) if type(value) is float else value


def _compare(ufunc: Any, python: Callable[[Any, Any], Any]) -> Operation:
    def compare(a: Value, b: Value) -> Value:
        ta, tb = type(a), type(b)
        if ta is int and tb is int:
            return bool(python(a, b))
        if ta is tuple or tb is tuple:
            return _compare_tuples(python, a, b)
        if ta is np.ndarray:
            kind = a.dtype
            if kind is getattr(b, "dtype", None):
                return ufunc(a, b)
            if tb is int and kind.kind in "iu" and kind != UINT64:
                return ufunc(a, b)
        a, b = _alike(_strong(a), _strong(b))
        return ufunc(a, b) if np.ndarray in (ta, tb) else bool(python(a, b))

    return compare


def _alike(a: Value, b: Value) -> tuple[Value, Value]:
    """What is compared: uint64 and a signed integer as float64, since Numba's code has no other."""
    kinds = getattr(a, "dtype", None), getattr(b, "dtype", None)
    if UINT64 in kinds and any(getattr(kind, "kind", "") == "i" for kind in kinds):
        return cast_up(a, FLOAT64), cast_up(b, FLOAT64)
    return a, b


def _compare_tuples(python: Callable[[Any, Any], Any], a: Value, b: Value) -> Value:
    """Tuples element by element, as in Python: the first that differs decides."""
    name = python.__name__
    if type(a) is not type(b):
        return bool(python(a, b))
    same: Value = True
    less: Value = False
    greater: Value = False
    for x, y in zip(a, b, strict=False):
        less = np.logical_or(less, np.logical_and(same, COMPARE["Lt"](x, y)))
        greater = np.logical_or(greater, np.logical_and(same, COMPARE["Gt"](x, y)))
        same = np.logical_and(same, COMPARE["Eq"](x, y))
    if len(a) != len(b):
        shorter = len(a) < len(b)
        less, greater = (
            np.logical_or(v, same) if s else v for v, s in ((less, shorter), (greater, not shorter))
        )
        same = False
    result = {
        "eq": same, "ne": np.logical_not(same), "lt": less, "gt": greater,
        "le": np.logical_or(less, same), "ge": np.logical_or(greater, same),
    }[name]  # fmt: skip
    return normal(result)


COMPARE: dict[str, Operation] = {
    "Eq": _compare(np.equal, operator.eq),
    "NotEq": _compare(np.not_equal, operator.ne),
    "Lt": _compare(np.less, operator.lt),
    "LtE": _compare(np.less_equal, operator.le),
    "Gt": _compare(np.greater, operator.gt),
    "GtE": _compare(np.greater_equal, operator.ge),
}


def _widened(value: Value) -> Value:
    """Unary minus and plus compute small integers in 64 bits."""
    dtype = dtype_of(value)
    if dtype.kind in "biu":
        return cast(value, UINT64 if dtype.kind == "u" else INT64)
    return value


def _negative(value: Value) -> Value:
    """Computed in the operand's own width, and then widened, as Numba does."""
    if type(value) is int:
        return _wrapped(-value)
    if dtype_of(value) == BOOL:
        value = _widened(value)
    return _widened(normal(np.negative(value)))


def _invert(value: Value) -> Value:
    if dtype_of(value) == BOOL:
        return np.logical_not(value) if isinstance(value, np.ndarray) else not value
    return _widened(normal(~value))


def _not(value: Value) -> Value:
    value = truth(value)
    return np.logical_not(value) if isinstance(value, np.ndarray) else not value


UNARY: dict[str, Operation] = {"USub": _negative, "UAdd": _widened, "Invert": _invert, "Not": _not}
