"""Python's, math's and NumPy's functions inside a kernel, with the types Numba gives them."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from gpulearn.simt.findings import Finding, Stop
from gpulearn.simt.flow import Range, make_range
from gpulearn.simt.masks import EMPTY
from gpulearn.simt.memory import View
from gpulearn.simt.names import Intrinsic, converter, function
from gpulearn.simt.values import (
    BINARY,
    FLOAT32,
    FLOAT64,
    INT64,
    Value,
    cast,
    cast_up,
    dtype_of,
    merge_type,
    normal,
    truth,
)

if TYPE_CHECKING:
    from gpulearn.simt.chunk import Chunk
    from gpulearn.simt.machine import Machine

__all__ = ["type_of"]


_NARROW = {np.dtype(name) for name in ("bool", "int8", "uint8", "int16", "float32")}


def _float_of(*values: Value, small: bool = False) -> np.dtype[Any]:
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
    dtype = _float_of(*values, small=small)
    if ufunc is np.power and dtype_of(values[1]) == np.int32:  # C's powf takes an int
        dtype = _float_of(values[0], small=small)
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
            return normal(_ufunc(cast_up(value, _float_of(value))))

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
    return normal(np.ldexp(cast_up(value, _float_of(value)), cast(exponent, np.dtype(np.int32))))


@function(math.frexp)
def _frexp(m: Machine, value: Value) -> Value:
    return tuple(normal(part) for part in np.frexp(cast_up(value, _float_of(value))))


@converter
def _ufunc(thing: Any) -> Intrinsic | None:
    """A NumPy ufunc: float32 and narrow integers stay float32, as in NumPy's own loops."""
    if not isinstance(thing, np.ufunc):
        return None

    def run(m: Machine, *values: Value) -> Value:
        strong = [v if isinstance(v, np.ndarray) else dtype_of(v).type(v) for v in values]
        dtypes = (*(v.dtype for v in strong), *[None] * thing.nout)
        if thing.resolve_dtypes(dtypes)[-1] == np.float16:
            strong = [v.astype(FLOAT32) for v in strong]  # Numba has no float16 loops
        result = thing(*strong)
        return tuple(map(normal, result)) if isinstance(result, tuple) else normal(result)

    return Intrinsic(thing.__name__, run)


def type_of(thing: Any) -> np.dtype[Any] | None:
    """The dtype that a NumPy type, a Numba type or a dtype's name stands for."""
    if isinstance(thing, np.dtype):
        return thing
    if isinstance(thing, type) and issubclass(thing, np.generic | bool | int | float | complex):
        return np.dtype(thing)
    if isinstance(thing, str):
        try:
            return np.dtype(thing)
        except TypeError:
            return None
    if type(thing).__module__.startswith("numba"):
        name = str(thing)
        if name.startswith(("Record", "unaligned", "nested")) or hasattr(thing, "members"):
            dtype = getattr(thing, "dtype", None)
            return dtype if isinstance(dtype, np.dtype) else _record(thing)
        try:
            return np.dtype(name)
        except TypeError:
            return None
    return None


def _record(thing: Any) -> np.dtype[Any] | None:
    from numba.np.numpy_support import as_dtype

    try:
        found: np.dtype[Any] = as_dtype(thing)
    except (NotImplementedError, TypeError):
        return None
    return found


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


@function(int)
def _int(m: Machine, value: Value = 0) -> Value:
    dtype = dtype_of(value)
    return value if dtype.kind in "iu" else cast(value, INT64)


@function(float)
def _float(m: Machine, value: Value = 0.0) -> Value:
    if isinstance(value, str):
        return float(value)
    dtype = dtype_of(value)
    return value if dtype.kind == "f" else cast(value, FLOAT64)


@function(bool)
def _bool(m: Machine, value: Value = False) -> Value:
    return truth(value)


@function(complex)
def _complex(m: Machine, real: Value = 0.0, imag: Value = 0.0) -> Value:
    narrow = all(dtype_of(v) == FLOAT32 for v in (real, imag))
    return cast(real, np.dtype(np.complex64 if narrow else np.complex128)) + 1j * imag


@function(abs)
def _abs(m: Machine, value: Value) -> Value:
    return normal(
        np.abs(value if isinstance(value, np.ndarray) else cast_up(value, dtype_of(value)))
    )


def _extreme(m: Machine, values: tuple[Value, ...], ufunc: Any) -> Value:
    if len(values) == 1 and isinstance(values[0], tuple):
        values = values[0]
    dtype = dtype_of(values[0])
    for v in values[1:]:
        dtype = merge_type(dtype, dtype_of(v))
    result = cast_up(values[0], dtype)
    for v in values[1:]:
        v = cast_up(v, dtype)
        # Python's own rule: the first stays unless the other is strictly better
        result = np.where(ufunc(v, result), v, result)
    return normal(result[()] if result.ndim == 0 else result)


@function(min)
def _min(m: Machine, *values: Value) -> Value:
    return _extreme(m, values, np.less)


@function(max)
def _max(m: Machine, *values: Value) -> Value:
    return _extreme(m, values, np.greater)


@function(sum)
def _sum(m: Machine, values: Any, start: Value = 0) -> Value:
    for i in range(length(m, values)):
        start = BINARY["Add"](start, m.load(values, i))
    return start


def length(m: Chunk, thing: Any) -> int:
    """`len(thing)` where all threads agree on it."""
    if isinstance(thing, View):
        return int(thing.shape[0])
    if isinstance(thing, tuple | str):
        return len(thing)
    raise Stop(Finding("not-a-kernel", m.here(), f"{type(thing).__name__} has no len()"))


@function(len)
def _len(m: Machine, thing: Any) -> Value:
    if isinstance(thing, View):
        return thing.shape[0]
    if isinstance(thing, Range):
        step = thing.step
        count = BINARY["FloorDiv"](BINARY["Sub"](thing.stop, thing.start), step)
        return _max(m, count, 0)
    return length(m, thing)


@function(range)
def _range(m: Machine, *bounds: Value) -> Range:
    if any(type(b) is int and b == 0 for b in bounds[2:]):
        raise Stop(Finding("not-a-kernel", m.here(), "range() with a step of 0 never ends"))
    return make_range(*bounds)


@function(pow)
def _pow(m: Machine, a: Value, b: Value) -> Value:
    return BINARY["Pow"](a, b)


@function(divmod)
def _divmod(m: Machine, a: Value, b: Value) -> Value:
    return BINARY["FloorDiv"](a, b), BINARY["Mod"](a, b)


@function(round)
def _round(m: Machine, value: Value, digits: Value = None) -> Value:
    dtype = _float_of(value)
    if digits is None:
        return cast(normal(np.rint(cast_up(value, dtype))), INT64)
    scale = np.power(dtype.type(10), cast_up(digits, dtype))
    return normal(np.rint(cast_up(value, dtype) * scale) / scale)


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
    raise Stop(Finding("unsupported", m.here(), "tuple() of something that is not a tuple"))


class Pairs:
    """`enumerate` and `zip` over things of a length that all threads share."""

    def __init__(self, m: Machine, things: tuple[Any, ...], start: int | None = None) -> None:
        self.machine, self.things, self.start = m, things, start

    def kernel_items(self) -> Any:
        """The tuples that the loop variable takes."""
        m = self.machine
        for n in range(min(self._length(t) for t in self.things)):
            items = tuple(self._item(t, n) for t in self.things)
            yield (n + self.start, items[0]) if self.start is not None else items
        del m

    def _length(self, thing: Any) -> int:
        if isinstance(thing, Range) and thing.uniform:
            return len(range(thing.start, thing.stop, thing.step))
        return length(self.machine, thing)

    def _item(self, thing: Any, n: int) -> Any:
        if isinstance(thing, Range):
            return thing.start + n * thing.step
        return self.machine.load(thing, n)


@function(enumerate)
def _enumerate(m: Machine, thing: Any, start: int = 0) -> Pairs:
    return Pairs(m, (thing,), start)


@function(zip)
def _zip(m: Machine, *things: Any) -> Pairs:
    return Pairs(m, things)


@function(print)
def _print(m: Machine, *values: Any) -> None:
    """Prints what each active thread prints, thread after thread."""
    shape = (m.blocks, m.threads)
    if m.mask is EMPTY:
        return
    columns = [
        np.broadcast_to(v, shape).ravel() if isinstance(v, np.ndarray) else v for v in values
    ]
    for lane in m.lanes(m.mask):
        print(*(c[lane] if isinstance(c, np.ndarray) else c for c in columns))


_register_math()
