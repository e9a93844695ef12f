"""What the reference does for a call: CUDA's own functions, and plain Python's."""

from __future__ import annotations

import math
import operator
import types as python_types
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import cuda, types
from numba.np.numpy_support import as_dtype

from .reference_types import in_type

DIMENSIONS = ("threadIdx", "blockIdx", "blockDim", "gridDim", "laneid", "warpsize")
# `from numba.cuda import threadIdx` binds the object itself
IDENTITY = {id(getattr(cuda, name)): name for name in DIMENSIONS if hasattr(cuda, name)}


def dimension(name: str, me: Any) -> Any:
    if name == "laneid":
        return me.rank % 32
    if name == "warpsize":
        return 32
    value = {
        "threadIdx": me.index,
        "blockIdx": me.at,
        "blockDim": me.block,
        "gridDim": me.grid,
    }[name]
    return python_types.SimpleNamespace(x=value[0], y=value[1], z=value[2])


@dataclass(frozen=True)
class GridGroup:
    """What `cuda.cg.this_grid()` returns."""

    sync: str = "grid.sync"


def attribute(value: Any, name: str, me: Any) -> Any:
    if value is cuda and name in DIMENSIONS:
        return dimension(name, me)
    if isinstance(value, np.void):
        return value[name]
    if isinstance(value, np.ndarray) and value.dtype.names and name in value.dtype.names:
        return value[name]
    return getattr(value, name)


@dataclass(frozen=True)
class Call:
    """One call by one thread, as typed by Numba."""

    me: Any
    expr: Any
    sig: Any
    args: list[Any]
    kws: dict[str, Any]

    def arg(self, i: int, name: str = "") -> Any:
        return self.args[i] if i < len(self.args) else self.kws[name]


@dataclass(frozen=True)
class Request:
    """A thread waits for the others in `scope`; `answer` gives each its result."""

    scope: str
    answer: Callable[[list[Any]], list[Any]]
    site: Any = None
    mask: int = 0
    value: Any = None
    extra: Any = None


def _no_answer(group: list[Any]) -> list[Any]:
    return [0] * len(group)


def _block_vote(reduce: Callable[[list[bool]], int]) -> Callable[[Call], Request]:
    def answer(group: list[Any]) -> list[Any]:
        return [reduce([bool(t.wants.value) for t in group])] * len(group)

    return lambda c: Request("block", answer, value=c.arg(0, "predicate"))


def _warp(rule: Callable[[list[Any], Any], Any]) -> Callable[[Call], Request]:
    """A warp function: `rule` gives the answer of one thread from its whole group."""

    def special(c: Call) -> Request:
        mask = int(c.args[0]) & 0xFFFFFFFF if c.args else 0xFFFFFFFF
        value = c.args[1] if len(c.args) > 1 else None
        extra = c.args[2] if len(c.args) > 2 else None
        return Request(
            "warp", lambda group: [rule(group, t) for t in group], c.expr, mask, value, extra
        )

    return special


def _shuffle(source: Callable[[int, int], int]) -> Callable[[Call], Request]:
    def rule(group: list[Any], me: Any) -> Any:
        lane = me.rank % 32
        wanted = source(lane, int(me.wants.extra) % 32)  # PTX reads five bits
        values = {t.rank % 32: t.wants.value for t in group}
        return values.get(wanted, me.wants.value)

    return _warp(rule)


def _bits(group: list[Any], chosen: Callable[[Any], bool]) -> int:
    return sum(1 << (t.rank % 32) for t in group if chosen(t))


def _match_all(group: list[Any], me: Any) -> Any:
    same = all(t.wants.value == me.wants.value for t in group)
    return (_bits(group, lambda t: True) if same else 0, same)


def _array(c: Call) -> np.ndarray:
    """A shared array: one for each block and each place in the source that makes it."""
    shape, kind = c.arg(0, "shape"), as_dtype(c.sig.return_type.dtype)
    shape = tuple(int(n) for n in shape) if isinstance(shape, tuple) else (int(shape),)
    if shape == (0,):
        return c.me.dynamic[: c.me.dynamic.size // kind.itemsize * kind.itemsize].view(kind)
    if c.expr not in c.me.shared:
        raw = np.full(int(np.prod(shape)) * kind.itemsize, 0x7F, np.uint8)
        c.me.shared[c.expr] = raw.view(kind).reshape(shape)
    return c.me.shared[c.expr]


def _local(c: Call) -> np.ndarray:
    shape, kind = c.arg(0, "shape"), as_dtype(c.sig.return_type.dtype)
    shape = tuple(int(n) for n in shape) if isinstance(shape, tuple) else (int(shape),)
    if c.expr not in c.me.local:
        raw = np.full(int(np.prod(shape)) * kind.itemsize, 0x7F, np.uint8)
        c.me.local[c.expr] = raw.view(kind).reshape(shape)
    return c.me.local[c.expr]


def _atomic(rule: Callable[[Any, Any], Any]) -> Callable[[Call], Any]:
    def special(c: Call) -> Any:
        array, index, value = c.args
        old = array[index]
        new = rule(old, in_type(value, array.dtype))
        array[index] = np.asarray(new).astype(array.dtype)[()]
        return old

    return special


def _cas(c: Call) -> Any:
    array, index, expected, value = c.args if len(c.args) == 4 else (c.args[0], 0, *c.args[1:])
    old = array[index]
    if old == expected:
        array[index] = value
    return old


def _position(c: Call) -> Any:
    me, n = c.me, int(c.args[0])
    values = [a * b + i for a, b, i in zip(me.at, me.block, me.index, strict=True)]
    return values[0] if n == 1 else tuple(values[:n])


def _size(c: Call) -> Any:
    values = [g * b for g, b in zip(c.me.grid, c.me.block, strict=True)]
    return values[0] if int(c.args[0]) == 1 else tuple(values[: int(c.args[0])])


def _brev(c: Call) -> int:
    bits = 8 * as_dtype(c.sig.args[0]).itemsize
    return int(f"{int(c.args[0]) & ((1 << bits) - 1):0{bits}b}"[::-1], 2)


def _clz(c: Call) -> int:
    bits = 8 * as_dtype(c.sig.args[0]).itemsize
    return bits - (int(c.args[0]) & ((1 << bits) - 1)).bit_length()


def _popc(c: Call) -> int:
    bits = 8 * as_dtype(c.sig.args[0]).itemsize
    return (int(c.args[0]) & ((1 << bits) - 1)).bit_count()


def _ffs(c: Call) -> int:
    value = int(c.args[0])
    return (value & -value).bit_length()


_SPECIAL: dict[str, Callable[[Call], Any]] = {
    "grid": _position,
    "gridsize": _size,
    "syncthreads": lambda c: Request("block", _no_answer),
    "syncthreads_count": _block_vote(sum),
    "syncthreads_and": _block_vote(lambda votes: int(all(votes))),
    "syncthreads_or": _block_vote(lambda votes: int(any(votes))),
    "syncwarp": _warp(lambda group, me: None),
    "threadfence": lambda c: None,
    "threadfence_block": lambda c: None,
    "threadfence_system": lambda c: None,
    "shfl_sync": _shuffle(lambda lane, k: k),
    "shfl_up_sync": _shuffle(lambda lane, k: lane - k),
    "shfl_down_sync": _shuffle(lambda lane, k: lane + k),
    "shfl_xor_sync": _shuffle(lambda lane, k: lane ^ k),
    "all_sync": _warp(lambda group, me: all(t.wants.value for t in group)),
    "any_sync": _warp(lambda group, me: any(t.wants.value for t in group)),
    "eq_sync": _warp(
        lambda group, me: len({bool(t.wants.value) for t in group}) == 1,
    ),
    "ballot_sync": _warp(lambda group, me: _bits(group, lambda t: bool(t.wants.value))),
    "match_any_sync": _warp(
        lambda group, me: _bits(group, lambda t: t.wants.value == me.wants.value),
    ),
    "match_all_sync": _warp(_match_all),
    "lanemask_lt": lambda c: (1 << (c.me.rank % 32)) - 1,
    "shared.array": _array,
    "local.array": _local,
    "const.array_like": lambda c: c.args[0],
    "atomic.add": _atomic(operator.add),
    "atomic.sub": _atomic(operator.sub),
    "atomic.max": _atomic(max),
    "atomic.min": _atomic(min),
    "atomic.and_": _atomic(operator.and_),
    "atomic.or_": _atomic(operator.or_),
    "atomic.xor": _atomic(operator.xor),
    "atomic.exch": _atomic(lambda old, value: value),
    "atomic.inc": _atomic(lambda old, top: 0 if old >= top else old + 1),
    "atomic.dec": _atomic(lambda old, top: top if old == 0 or old > top else old - 1),
    "atomic.compare_and_swap": _cas,
    "atomic.cas": _cas,
    "popc": _popc,
    "brev": _brev,
    "clz": _clz,
    "ffs": _ffs,
    "fma": lambda c: c.args[0] * c.args[1] + c.args[2],
    "selp": lambda c: c.args[1] if c.args[0] else c.args[2],
    "cbrt": lambda c: math.cbrt(c.args[0]),
    "cg.this_grid": lambda c: GridGroup(),
}


def _find(path: str) -> Any:
    value: Any = cuda
    for part in path.split("."):
        value = getattr(value, part, None)
    return value


_BY_IDENTITY = {id(_find(path)): rule for path, rule in _SPECIAL.items() if _find(path)}


def special(fn: Any) -> Callable[[Call], Any] | None:
    """The reference's own rule for a CUDA function, if `fn` is one."""
    if isinstance(fn, str) and fn == "grid.sync":
        return lambda c: Request("grid", _no_answer)
    return _BY_IDENTITY.get(id(fn))


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
