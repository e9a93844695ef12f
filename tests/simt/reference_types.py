"""What Numba makes of a function: its instructions, and the type of every variable."""

import math
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numba import types
from numba.core.typing.typeof import Purpose, typeof
from numba.np.numpy_support import as_dtype

from simt.frontend.numba_bridge import type_annotation


@dataclass
class Code:
    """A function as Numba typed it for one list of argument types."""

    blocks: dict[int, list[Any]]
    first: int
    typemap: dict[str, Any]
    calltypes: dict[Any, Any]


@cache
def annotation(kernel: Any, argtypes: tuple[Any, ...]) -> Any:
    """Numba's reading of a kernel: the machine can be handed the same, to save asking twice."""
    return type_annotation(kernel, argtypes)


@cache
def _code(found: Any) -> Code:
    blocks = {
        label: [s for s in block.body if type(s).__name__ != "Del"]
        for label, block in found.blocks.items()
    }
    return Code(blocks, min(blocks), found.typemap, found.calltypes)


def typed(kernel: Any, argtypes: tuple[Any, ...]) -> Code:
    """A kernel as Numba types it; raises what Numba raises when it refuses."""
    return _code(annotation(kernel, argtypes))


def typed_device(dispatcher: Any, argtypes: tuple[Any, ...]) -> Code:
    """A device function that a typed kernel calls: Numba has typed it along."""
    return _code(dispatcher.overloads[argtypes].type_annotation)


def forget() -> None:
    """Drops what is known about functions: two thousand of them fill a gigabyte."""
    annotation.cache_clear()
    _code.cache_clear()
    _kinds.clear()


def whole(value: float, wide: bool, kind: np.dtype[Any]) -> int:
    """A float as an integer: what PTX says of `cvt.rzi`, and Numba's code of 8 bits.

    These are cut from 16. `wide` is whether the float has 64 bits.
    """
    bits = 8 * max(2, kind.itemsize)
    low, high = (0, 2**bits - 1) if kind.kind == "u" else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    if math.isnan(value):
        number = 2 ** (bits - 1) if wide or bits == 64 else 0
    else:
        number = int(max(low, min(high, math.trunc(value) if math.isfinite(value) else value)))
    number %= 2 ** (8 * kind.itemsize)
    return number - 2 ** (8 * kind.itemsize) * (number > np.iinfo(kind).max)


def in_type(value: Any, kind: np.dtype[Any]) -> Any:
    """A number, or several, converted to a dtype."""
    if isinstance(value, float | np.float32) and kind.kind in "iu":
        return kind.type(whole(float(value), not isinstance(value, np.float32), kind))
    return np.asarray(value).astype(kind)[()]


_kinds: dict[int, tuple[Any, np.dtype[Any] | None]] = {}  # by identity: to hash a type is slow


def kind_of(ty: Any) -> np.dtype[Any] | None:
    """The dtype of a number's type, None for anything else."""
    known, kind = _kinds.get(id(ty), (None, None))
    if known is not ty:
        plain = types.unliteral(ty)
        number = isinstance(plain, (types.Number, types.Boolean))
        kind = as_dtype(plain) if number else None
        _kinds[id(ty)] = ty, kind  # what lives keeps its id
    return kind


def cast(value: Any, ty: Any) -> Any:
    """`value` as Numba holds it in a variable of type `ty`."""
    kind = kind_of(ty)
    if kind is not None:
        if type(value) is kind.type:
            return value
        if isinstance(value, (int, np.integer)) and kind.kind in "iu":
            bits = 8 * kind.itemsize  # two's complement, whatever the size of the int
            wrapped = int(value) & ((1 << bits) - 1)
            if kind.kind == "i" and wrapped >> (bits - 1):
                wrapped -= 1 << bits
            return kind.type(wrapped)
        return in_type(value, kind)
    if isinstance(ty, types.Optional):
        return value if value is None else cast(value, ty.type)
    if isinstance(ty, types.BaseTuple) and isinstance(value, tuple):
        parts = ty.types if hasattr(ty, "types") else [ty.dtype] * len(value)
        new = [cast(v, t) for v, t in zip(value, parts, strict=True)]
        return type(value)(*new) if hasattr(value, "_fields") else tuple(new)
    return value


def typeof_argument(value: Any) -> Any:
    """The type that Numba gives to a kernel argument."""
    return typeof(value, Purpose.argument)
