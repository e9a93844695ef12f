"""What the reference does for a call: CUDA's own functions, and plain Python's."""

import math
import operator
import types as python_types
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numba import cuda, types
from numba.np.numpy_support import as_dtype

from .reference_types import in_type


def _of_thread(part: str) -> Callable[[Any], Any]:
    """What `cuda.threadIdx` and its like are for a thread."""
    return lambda me: python_types.SimpleNamespace(
        **dict(zip("xyz", getattr(me, part), strict=True))
    )


_PARTS = {"threadIdx": "index", "blockIdx": "at", "blockDim": "block", "gridDim": "grid"}
# `from numba.cuda import threadIdx` binds the object itself
DIMENSIONS = {id(getattr(cuda, name)): _of_thread(part) for name, part in _PARTS.items()}


def attribute(value: Any, name: str, me: Any) -> Any:
    if value is cuda and name in _PARTS:
        return _of_thread(_PARTS[name])(me)
    names = value.dtype.names if isinstance(value, np.void | np.ndarray) else None
    return value[name] if name in (names or ()) else getattr(value, name)


class Call(NamedTuple):
    """One call by one thread, as typed by Numba."""

    me: Any
    expr: Any
    sig: Any
    args: list[Any]
    kws: dict[str, Any]


def _array(c: Call, arrays: dict[Any, Any]) -> np.ndarray:
    """An array in shared or local memory: one for each place in the source that makes it."""
    shape = c.args[0] if c.args else c.kws["shape"]
    kind = as_dtype(c.sig.return_type.dtype)
    if c.expr not in arrays:
        raw = np.full(int(np.prod(shape)) * kind.itemsize, 0x7F, np.uint8)
        arrays[c.expr] = raw.view(kind).reshape(shape)
    return arrays[c.expr]


def _atomic(rule: Callable[[Any, Any], Any]) -> Callable[[Call], Any]:
    def special(c: Call) -> Any:
        array, index, value = c.args
        old = array[index]
        array[index] = np.asarray(rule(old, in_type(value, array.dtype))).astype(array.dtype)[()]
        return old

    return special


# what the kernels here call, by the function's id
RULES: dict[int, Callable[[Call], Any]] = {
    id(cuda.grid): lambda c: c.me.at[0] * c.me.block[0] + c.me.index[0],
    id(cuda.shared.array): lambda c: _array(c, c.me.shared),
    id(cuda.local.array): lambda c: _array(c, c.me.local),
    id(cuda.atomic.add): _atomic(operator.add),
    id(cuda.atomic.max): _atomic(max),
    id(cuda.atomic.or_): _atomic(operator.or_),
}


_BITWISE = (operator.and_, operator.or_, operator.xor, operator.lshift, operator.rshift)


def operate(fn: Any, values: list[Any]) -> Any:
    """An operator on values that already have the types that Numba's signature asks for."""
    if fn is operator.not_:
        return not values[0]
    if fn in _BITWISE and len(values) == 2:  # NumPy has no int64 & uint64
        return fn(int(values[0]), int(values[1]))
    if len(values) == 1 and isinstance(values[0], np.bool_):  # -True is -1, ~True is False
        return not values[0] if fn is operator.invert else fn(int(values[0]))
    if fn in (operator.floordiv, operator.ifloordiv) and values == [np.iinfo(np.int64).min, -1]:
        return 0  # Numba leaves out the one quotient that does not fit
    return fn(*values)


# Python's give an int, a GPU's the float: ceil(-0.5) is -0.0
_ROUNDING = {math.floor: np.floor, math.ceil: np.ceil, math.trunc: np.trunc}
_CHOICES = (np.maximum, np.minimum, np.fmax, np.fmin)


def plain(fn: Any, values: list[Any], kws: dict[str, Any], result: Any) -> Any:
    """A call that Python itself can make (`range`, `len`, `math.sqrt`, `float32(x)`)."""
    if fn is range:
        return range(*(int(v) for v in values))
    if isinstance(fn, (types.Number, types.Boolean)) or fn in (int, float, bool):
        return _convert(values[0], result)
    if isinstance(fn, type) and issubclass(fn, np.generic):
        return _convert(values[0], result)
    if fn in _ROUNDING and isinstance(values[0], np.floating):
        return _ROUNDING[fn](values[0])
    if fn in _CHOICES and values[0] == values[1]:  # NumPy takes any of two zeros, Numba the first
        return fn(*values).dtype.type(values[0])
    if getattr(fn, "__module__", "") == "math":
        values = [v.item() if isinstance(v, np.generic) else v for v in values]
    return fn(*values, **kws)


def _convert(value: Any, result: Any) -> Any:
    return in_type(value, as_dtype(types.unliteral(result)))
