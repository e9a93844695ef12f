"""Values: numbers of the types that Numba would choose, one for all threads or one for each.

A *value* is what an expression of the kernel holds for every thread of a chunk: a plain
number where all threads agree, else a two-dimensional array that broadcasts to
(blocks, threads per block). A Python `int` stands for int64 and a `float` for float64,
as literals do in Numba; any other type is a NumPy scalar.

The rules, seen in Numba's own typing tables: integers meet as uint64 when both are
unsigned, else as int64; a float32 stays float32 beside integers of up to 16 bits and
becomes float64 beside wider ones; `/` of integers is float64.
"""

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from simt.core.resolution import choose

BOOL = np.dtype(np.bool_)
INT64 = np.dtype(np.int64)
UINT64 = np.dtype(np.uint64)
UINT32 = np.dtype(np.uint32)
FLOAT32 = np.dtype(np.float32)
FLOAT64 = np.dtype(np.float64)
ARITHMETIC = "ll>l lL>l Ll>l LL>L ee>e ff>f dd>d FF>F DD>D"
_PYTHON = {bool: BOOL, int: INT64, float: FLOAT64, complex: np.dtype(np.complex128)}
_WRAP = 1 << 64
_HALF = 1 << 63

Value = Any


class _Undefined:
    """What a local variable holds before anything was assigned to it."""

    def __repr__(self) -> str:
        return "undefined"


UNDEFINED = _Undefined()


@dataclass(frozen=True)
class Range:
    """`range(start, stop, step)` whose bounds may differ between threads."""

    start: Value
    stop: Value
    step: Value

    @property
    def bounds(self) -> tuple[Value, Value, Value]:
        """Start, stop and step."""
        return self.start, self.stop, self.step

    @property
    def uniform(self) -> bool:
        """Whether all threads count alike."""
        return all(type(v) is int for v in self.bounds)


def dtype_of(value: Value) -> np.dtype[Any]:
    """The NumPy dtype that stands for the Numba type of a value.

    >>> dtype_of(1), dtype_of(1.0), dtype_of(np.float32(1))
    (dtype('int64'), dtype('float64'), dtype('float32'))
    """
    python_type = _PYTHON.get(type(value))
    if python_type is not None:
        return python_type
    dtype = getattr(value, "dtype", None)
    if not isinstance(dtype, np.dtype):
        raise TypeError(f"{type(value).__name__} is not a number")
    return dtype


def normal(value: Value) -> Value:
    """Turns NumPy scalars of Python's own types into Python numbers, which are faster.

    >>> type(normal(np.int64(3))).__name__
    'int'
    """
    if isinstance(value, np.int64 | np.float64 | np.bool_):
        return value.item()
    return value


def cast(value: Value, dtype: np.dtype[Any]) -> Value:
    """The value converted as PTX's `cvt` does it: wrap integers, cut off fractions.

    >>> cast(300, np.dtype(np.uint8)), cast(-1.7, np.dtype(np.int32)), cast(-1.7, UINT32)
    (np.uint8(44), np.int32(-1), np.uint32(0))
    """
    if isinstance(value, np.ndarray):
        if value.dtype == dtype:
            return value
        if value.dtype.kind == "f" and dtype.kind in "iu":
            return _whole(value, dtype)
        return value.astype(dtype)
    if type(value) is int:
        if dtype == INT64:
            return value
        value = np.int64(value) if -_HALF <= value < _HALF else np.uint64(value % _WRAP)
    return normal(cast(np.asarray(value), dtype)[()])


def _whole(value: np.ndarray[Any, Any], dtype: np.dtype[Any]) -> Value:
    """Floats as integers by the instructions that Numba's code has for it.

    These are `cvt.rzi` to 16 bits or more, of which a type of 8 bits keeps the lower ones (a
    value of that type that is not stored could keep all); and `cvt.rni` of float16, to any type.
    """
    if value.itemsize == 2:
        return clamped(np.rint(value).astype(FLOAT32), dtype)
    if _fits(value, dtype):
        return value.astype(dtype)
    wide = np.promote_types(dtype, f"{dtype.kind}2")
    return clamped(np.trunc(value), wide).astype(dtype)


def _end(dtype: np.dtype[Any]) -> float:
    """The first integer above those of a type."""
    return 2.0 ** (8 * dtype.itemsize - (dtype.kind == "i"))


def _fits(value: np.ndarray[Any, Any], dtype: np.dtype[Any]) -> bool:
    least, most = value.min(initial=0), value.max(initial=0)
    return bool(least >= float(np.iinfo(dtype).min) and most < _end(dtype))


def clamped(whole: np.ndarray[Any, Any], dtype: np.dtype[Any]) -> Value:
    """Whole floats as the nearest integers that there are, which is what `cvt` of PTX gives.

    A NaN gives 0, or the highest bit alone where a number of 64 bits is converted or made.
    """
    if _fits(whole, dtype):
        return whole.astype(dtype)
    info = np.iinfo(dtype)
    low, end = float(info.min), _end(dtype)
    nothing = 0 if max(whole.itemsize, dtype.itemsize) < 8 else info.min or info.max // 2 + 1
    result = np.where((whole >= low) & (whole < end), whole, 0).astype(dtype)
    result[whole < low], result[whole >= end], result[np.isnan(whole)] = info.min, info.max, nothing
    return result


@cache
def arithmetic_type(a: np.dtype[Any], b: np.dtype[Any]) -> np.dtype[Any]:
    """The type in which `a + b` is computed.

    >>> arithmetic_type(np.dtype("int32"), np.dtype("int32"))
    dtype('int64')
    >>> arithmetic_type(np.dtype("float32"), np.dtype("int64"))
    dtype('float64')
    """
    return choose(ARITHMETIC, (a, b))[1][0]


@cache
def merge_type(a: np.dtype[Any], b: np.dtype[Any]) -> np.dtype[Any]:
    """The one type of a variable that is given an `a` on one path and a `b` on another."""
    if a == b:
        return a
    if {a, b} == {INT64, UINT64}:
        return FLOAT64
    return np.promote_types(a, b)


@dataclass(frozen=True)
class Maybe:
    """The type of what is None in some threads and of the type `kind` in others, or always None."""

    kind: Any


def settle(value: Value, dtype: Any, *, join: bool = False) -> Value:
    """A number, or a tuple of them, in the type that it has where paths meet.

    With `join`, in the common type of its own and `dtype`.
    """
    if dtype is None:
        return value
    if isinstance(dtype, Maybe):
        parts = getattr(value, "settled", None)  # of what is one thing here and another there
        return settle(value, dtype.kind) if parts is None else parts(dtype.kind)
    if isinstance(dtype, tuple):
        if not isinstance(value, tuple) or len(value) != len(dtype):
            return value
        items = [settle(v, d) for v, d in zip(value, dtype, strict=True)]
        return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
    if not isinstance(value, np.ndarray | np.generic | int | float | complex):
        return value
    own_type = dtype_of(value)
    if join:
        dtype = merge_type(own_type, dtype)
    return value if own_type == dtype else cast(value, dtype)


def truth(value: Value) -> Value:
    """The condition a value stands for: a bool, or an array of them.

    >>> truth(3), truth(np.array([0, 2])).tolist()
    (True, [False, True])
    """
    if isinstance(value, np.ndarray):
        return value if value.dtype == BOOL else value != 0
    return bool(value)


def where(mask: Value, new: Value, old: Value) -> Value:
    """`new` for the threads in `mask`, `old` for the others, in their common type."""
    if isinstance(new, tuple) and isinstance(old, tuple) and len(new) == len(old):
        return tuple(where(mask, n, o) for n, o in zip(new, old, strict=True))
    if new is old:
        return new
    dn, do = dtype_of(new), dtype_of(old)
    if dn != do:
        common = merge_type(dn, do)
        new, old = cast(new, common), cast(old, common)
    return np.where(mask, new, old)


def cast_up(value: Value, dtype: np.dtype[Any]) -> Value:
    """`cast`, but always to a NumPy type, so that a ufunc sees the width that is meant."""
    value = cast(value, dtype)
    return value if isinstance(value, np.ndarray) else dtype.type(value)
