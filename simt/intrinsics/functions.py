"""Built-in functions: Python's own functions and types inside a kernel."""

import math
import re
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np

from simt.core.arithmetic import BINARY
from simt.core.chunk import Dim3
from simt.core.masks import EMPTY
from simt.core.memory import View
from simt.core.registry import Intrinsic, converter, function
from simt.core.resolution import choose
from simt.core.values import (
    FLOAT32,
    FLOAT64,
    INT64,
    Range,
    Value,
    cast,
    cast_up,
    dtype_of,
    normal,
    truth,
)
from simt.intrinsics.math import complex_of, compute, magnitude
from simt.machine.iteration import Indices, Pairs, length
from simt.machine.machine import Machine
from simt.machine.views import reshaped

COMPLEX64, COMPLEX128 = np.dtype(np.complex64), np.dtype(np.complex128)


def type_of(thing: Any) -> np.dtype[Any] | None:
    """The dtype that a NumPy type, a Numba type or a dtype's name stands for."""
    if isinstance(thing, np.dtype):
        return thing
    if isinstance(thing, type) and issubclass(thing, np.generic | bool | int | float | complex):
        return np.dtype(thing)
    numbas, name = type(thing).__module__.startswith("numba"), str(thing)
    records = name.startswith(("Record", "unaligned", "nested")) or hasattr(thing, "members")
    if numbas and records:
        from numba.np.numpy_support import as_dtype

        dtype = getattr(thing, "dtype", None)
        with suppress(NotImplementedError, TypeError):
            record: np.dtype[Any] = dtype if isinstance(dtype, np.dtype) else as_dtype(thing)
            return record
        return None
    with suppress(TypeError):
        return np.dtype(name) if numbas or isinstance(thing, str) else None
    return None


@converter
def _type(thing: Any) -> Intrinsic | None:
    """A type used as a conversion: `np.float32(x)`, `numba.int64(x)`."""
    if isinstance(thing, type) and not issubclass(thing, np.generic):
        return None
    if not (isinstance(thing, type) or type(thing).__module__.startswith("numba")):
        return None
    dtype = type_of(thing)
    if dtype is None or dtype.kind == "V":
        return None

    def run(m: Machine, value: Value = 0) -> Value:
        return cast(value, dtype)

    return Type(str(dtype), run, dtype)


class Type(Intrinsic):
    """A number type: a conversion when it is called, and a dtype for `shared.array`."""

    def __init__(self, name: str, run: Callable[..., Any], dtype: np.dtype[Any]) -> None:
        super().__init__(name, run)
        object.__setattr__(self, "dtype", dtype)


@function(float)
def _float(m: Machine, value: Value = 0.0) -> Value:
    if isinstance(value, str):
        return float(value)
    dtype = dtype_of(value)
    return value if dtype.kind == "f" else cast(value, FLOAT64)


@function(complex)
def _complex(m: Machine, real: Value = 0.0, imag: Value = None) -> Value:
    if imag is None:
        return normal(cast_up(real, COMPLEX64 if dtype_of(real) == FLOAT32 else COMPLEX128))
    narrow = dtype_of(real) == dtype_of(imag) == FLOAT32
    return compute(complex_of, "ff>F" if narrow else "dd>D", real, imag)


function(len)(length)


@function(range)
def _range(m: Machine, *bounds: Value) -> Range:
    if any(type(b) is int and b == 0 for b in bounds[2:]):
        raise m.stop("not-a-kernel", "range() with a step of 0 never ends")
    start, stop, step = (0, bounds[0], 1) if len(bounds) == 1 else (*bounds, 1)[:3]
    whole = [v if type(v) is int else cast(v, INT64) for v in (start, stop, step)]
    return Range(*whole)


@function(divmod)
def _divmod(m: Machine, a: Value, b: Value) -> Value:
    operands, _ = choose("ll>ll LL>LL ff>ff dd>dd", (dtype_of(a), dtype_of(b)))
    a, b = cast(a, operands[0]), cast(b, operands[1])
    return BINARY["FloorDiv"](a, b), BINARY["Mod"](a, b)


@function(round)
def _round(m: Machine, value: Value, digits: Value = None) -> Value:
    if digits is None:
        return cast(compute(np.rint, "f>f d>d", value), INT64)
    return compute(rounded, "fl>f dl>d", value, digits)


def rounded(value: Any, digits: Any) -> Any:
    """To some decimal places, in float64 whatever the type of the number, as Numba has it.

    The power of ten is in two factors, each of which fits; where the product does not, the
    number has no more places than that.
    """
    wide = value.astype(FLOAT64)
    most = np.minimum(np.abs(digits), 22)
    rest, power = 10.0 ** (np.abs(digits) - most), 10.0**most
    up = digits >= 0
    scaled = np.where(up, wide * rest * power, wide / power / rest)
    whole = np.rint(scaled)
    result = np.where(up, whole / power / rest, whole * rest * power)
    return np.where(np.isfinite(scaled), result, wide).astype(value.dtype)[()]


@function(isinstance)
def _isinstance(m: Machine, value: Any, kinds: Any) -> bool:
    kinds = kinds if isinstance(kinds, tuple) else (kinds,)
    if isinstance(value, View | tuple):
        return tuple in [getattr(k, "python", k) for k in kinds] and isinstance(value, tuple)
    letters = {"int": "iu", "float": "f", "bool": "b", "complex": "c"}
    kind = dtype_of(value).kind
    return any(kind in letters.get(getattr(k, "name", ""), "") for k in kinds)


@function(tuple)
def _tuple(m: Machine, value: Any = ()) -> Any:
    if isinstance(value, tuple):
        return value
    raise m.stop("unsupported", "tuple() of something that is not a tuple")


def _absolute(m: Machine, value: Value) -> Value:
    if dtype_of(value).kind == "m":
        return normal(np.abs(value))
    return compute(magnitude, "b>b h>h i>i l>l B>B H>H I>I L>L e>e f>f d>d F>f D>d", value)


_EXPRESSIONS: dict[Any, Callable[..., Any]] = {
    bool: lambda m, value=False: truth(value),
    int: lambda m, value=0: value if dtype_of(value).kind in "iu" else cast(value, INT64),
    abs: _absolute,
    slice: lambda m, *bounds: slice(*bounds),
    ord: lambda m, letter: ord(letter),
    np.size: lambda m, array: array.size,
    np.shape: lambda m, array: array.shape,
    np.asarray: lambda m, array: array,
    enumerate: lambda m, thing, start=0: Pairs((thing,), start),
    zip: lambda m, *things: Pairs(things),
    np.ndindex: lambda m, *shape: Indices(shape[0] if isinstance(shape[0], tuple) else shape),
    np.ndenumerate: lambda m, array: Indices(array.shape, array),
    np.nditer: lambda m, array: Indices(array.shape, array, alone=True),
}
for _function, _run in _EXPRESSIONS.items():
    function(_function)(_run)
function(pow, flop=True)(lambda m, a, b: BINARY["Pow"](a, b))


def _carray(m: Machine, pointer: View, shape: Any, dtype: Any = None) -> View:
    shape = shape if isinstance(shape, tuple) else (shape,)
    return reshaped(m, pointer.first(math.prod(shape)), shape)


def _farray(m: Machine, pointer: View, shape: Any, dtype: Any = None) -> View:
    reversed_shape = shape[::-1] if isinstance(shape, tuple) else shape
    return _carray(m, pointer, reversed_shape, dtype).transposed()


_NUMBAS: dict[str, Callable[..., Any]] = {
    "literal_unroll": lambda m, value: value,  # a loop that Numba compiles for each item's type
    "carray": _carray,
    "farray": _farray,
}


@converter
def _numba_function(thing: Any) -> Intrinsic | None:
    """A function of Numba's own."""
    home, name = getattr(thing, "__module__", None) or "", getattr(thing, "__name__", "")
    is_known = home.startswith("numba.") and name in _NUMBAS
    return Intrinsic(name, _NUMBAS[name]) if is_known else None


_PRINTF_FORMATS = {"b": "%s", "i": "%lld", "u": "%llu", "f": "%f"}  # by the kind of a dtype
_MAX_ARGS = 32  # what CUDA's printf takes


def _format(m: Machine, value: Any) -> tuple[str, list[Any]]:
    """The format with which Numba prints something, and what goes into it."""
    if isinstance(value, str):
        return "%s", [value]
    if isinstance(value, Dim3):
        return "(%d, %d, %d)", [value.x, value.y, value.z]
    if isinstance(value, tuple):
        formats, parts = zip(*(_format(m, v) for v in value), strict=True) if value else ((), ())
        text = ", ".join(formats) + "," * (len(formats) == 1)
        return f"({text})", [p for part in parts for p in part]
    array = isinstance(value, View)
    number = not array and isinstance(value, np.ndarray | np.generic | bool | int | float | complex)
    if not number or dtype_of(value).kind not in _PRINTF_FORMATS:
        what = "an array" if array else dtype_of(value) if number else type(value).__name__
        message = f"print() in a kernel takes real numbers, strings and tuples, and this is {what}"
        raise m.stop("not-a-kernel", message)
    return _PRINTF_FORMATS[dtype_of(value).kind], [value]


@function(print)
def _print(m: Machine, *values: Any) -> None:
    """Prints what each active thread prints, thread after thread, as CUDA's printf does."""
    if m.mask is EMPTY:
        return
    formats, parts = zip(*(_format(m, v) for v in values), strict=True) if values else ((), ())
    text = " ".join(formats)
    columns = [
        m.spread(p).ravel() if isinstance(p, np.ndarray) else p for part in parts for p in part
    ]
    for lane in m.lanes(m.mask):
        items = (c[lane] if isinstance(c, np.ndarray) else c for c in columns)
        print(text if len(values) > _MAX_ARGS else re.sub("ll(?=[du])", "", text) % tuple(items))
