"""Vector types: `cuda.float32x3(1, 2, 3).y`, a few numbers of one type under one name."""

from collections import namedtuple
from typing import Any

import numpy as np

from simt.core.registry import intrinsic
from simt.core.values import Value, cast
from simt.machine.machine import Machine

_ALIASES = {
    "char": "int8", "short": "int16", "int": "int32", "long": "int64", "longlong": "int64",
    "uchar": "uint8", "ushort": "uint16", "uint": "uint32", "ulong": "uint64",
    "ulonglong": "uint64", "float": "float32", "double": "float64",
}  # fmt: skip


def _flat(values: tuple[Any, ...]) -> list[Value]:
    return [n for v in values for n in (_flat(v) if isinstance(v, tuple) else [v])]


def _vector(base: str, count: int) -> None:
    name, dtype = f"{base}x{count}", np.dtype(base)
    aliases = [f"{alias}{count}" for alias, target in _ALIASES.items() if target == base]
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
