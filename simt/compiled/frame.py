"""The frame: all that a launch hands to compiled code, in one piece of memory.

Compiled code gets one address. There lie the shape of the launch, its arguments, and where the
block's shared and the threads' local arrays are. A thread knows itself by a tuple `me`: the
address, the places of its block and of itself (x, y, z), and its number in the block.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from numba.np.numpy_support import from_dtype

from simt.core.memory import View, aligned

__all__ = ["HEADER", "ME", "WORD", "LaunchFrame", "NotCompiled", "reader", "word_at", "word_of"]

WORD = ir.IntType(64)
HEADER = {
    name: 8 * place
    for place, name in enumerate((
        "stop", "blockDim.x", "blockDim.y", "blockDim.z", "gridDim.x", "gridDim.y", "gridDim.z",
        "shared", "local", "states", "exchange", "left", "round", "meeting", "block", "noted",
        "part",
    ))
}  # fmt: skip
ME = types.Tuple((types.int64, *[types.int32] * 6, types.int64))
_DATA = 4  # the field of Numba's array that holds the address of its elements
_FORMATS = {  # of numbers, in whole words
    "bool": "?7x", "int8": "b7x", "uint8": "B7x", "int16": "h6x", "uint16": "H6x", "int32": "i4x",
    "uint32": "I4x", "int64": "q", "uint64": "Q", "float32": "f4x", "float64": "d",
    "complex64": "ff", "complex128": "dd",
}  # fmt: skip


class NotCompiled(Exception):  # noqa: N818 - the machine carries it out instead
    """A kernel, or a part of one, that cannot be compiled; the message says why."""


def word_at(builder: Any, me: Any, offset: int) -> Any:
    """A word of the frame, as a pointer."""
    address = builder.add(builder.extract_value(me, 0), WORD(offset))
    return builder.inttoptr(address, WORD.as_pointer())


def word_of(builder: Any, me: Any, name: str) -> Any:
    """What a word of the header holds."""
    return builder.load(word_at(builder, me, HEADER[name]))


def _fixed(builder: Any, pointer: Any, kind: Any) -> Any:
    """Loads what does not change during a launch from a pointer, part by part."""
    if isinstance(kind, ir.ArrayType):
        parts = [kind.element] * kind.count
    elif isinstance(kind, ir.BaseStructType):
        parts = list(kind.elements)
    else:
        value = builder.load(pointer)
        value.set_metadata("invariant.load", builder.module.add_metadata([]))
        return value
    whole = ir.Constant(kind, ir.Undefined)
    for number, part in enumerate(parts):
        place = builder.gep(pointer, [ir.IntType(32)(0), ir.IntType(32)(number)])
        whole = builder.insert_value(whole, _fixed(builder, place, part), number)
    return whole


def reader(kind: Any, offset: int, pitch: Callable[[], int] = int) -> Any:
    """A function of `me` that gives what lies in the frame as a `kind`.

    With a `pitch`, it is an array of which each thread has its own, so many bytes apart.
    """

    @intrinsic
    def read(typingctx: Any, me: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            model = context.data_model_manager[kind]
            data = model.get_data_type()
            address = builder.add(builder.extract_value(args[0], 0), WORD(offset))
            value = _fixed(builder, builder.inttoptr(address, data.as_pointer()), data)
            if isinstance(kind, types.Array):
                for owner in (0, 1):  # nobody: the launch keeps the memory alive
                    nobody = ir.Constant(data.elements[owner], None)
                    value = builder.insert_value(value, nobody, owner)
                first = builder.extract_value(value, _DATA)
                own = builder.mul(builder.extract_value(args[0], 7), WORD(pitch()))
                own = builder.inttoptr(builder.add(builder.ptrtoint(first, WORD), own), first.type)
                value = builder.insert_value(value, own, _DATA)
            return model.from_data(builder, value)

        return kind(me), codegen

    return read


class LaunchFrame:
    """The layout of a kernel's frame; it grows while the kernel is translated.

    Where threads of a block take turns, the local arrays of all live at the same time.
    """

    def __init__(self, *, turns: bool) -> None:
        self.turns = turns
        self.format = f"<{len(HEADER)}q"
        self.parts: list[Callable[[Sequence[Any], dict[str, int], int], Sequence[Any]]] = []
        self.sizes = {"shared": 0, "local": 0}  # bytes of a block, of a thread
        self.pieces: dict[str, list[tuple[int, int, int]]] = {"shared": [], "local": []}

    def _room(self, form: str) -> int:
        offset = struct.calcsize(self.format)
        self.format += form
        return offset

    def argument(self, place: tuple[int, ...], kind: Any) -> Any:
        """The reader of an argument, or of an item of one that is a tuple.

        Raises:
            NotCompiled: there is none for its type.
        """

        def part(values: Sequence[Any], bases: dict[str, int], dynamic: int) -> Sequence[Any]:
            return _numbers(reduce(lambda whole, n: whole[n], place, values))

        self.parts.append(part)
        if isinstance(kind, types.Array):
            fields = getattr(kind.dtype, "fields", {}).values()
            nested = any(isinstance(field.type, types.NestedArray) for field in fields)
            if nested and not kind.dtype.aligned:
                raise NotCompiled("arrays within records that are not aligned")
            return reader(kind, self._room(f"16x{3 + 2 * kind.ndim}q"))
        if str(kind) not in _FORMATS:
            raise NotCompiled(f"an argument of type {kind}")
        return reader(kind, self._room(_FORMATS[str(kind)]))

    def own(self, space: str, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
        """The reader of a shared or local array; of shape 0 it is the launch's dynamic memory."""
        size = dtype.itemsize
        count = math.prod(shape) * size
        begin = self.sizes[space]
        if count:
            poison = 0xFF if dtype.kind in "fc" else 0xA5
            self.pieces[space].append((begin, count, poison))
            self.sizes[space] = begin + aligned(count)

        def part(values: Sequence[Any], bases: dict[str, int], dynamic: int) -> Sequence[Any]:
            full = shape if count else (dynamic // size,)
            strides = [size * math.prod(full[n + 1 :]) for n in range(len(full))]
            address = bases[space] + (begin if count else self.sizes[space])
            return math.prod(full), size, address, *full, *strides

        self.parts.append(part)
        kind = types.Array(from_dtype(dtype), len(shape), "C")
        each = self.turns and space == "local"
        return reader(
            kind, self._room(f"16x{3 + 2 * len(shape)}q"),
            (lambda: self.sizes["local"]) if each else int,
        )  # fmt: skip

    @property
    def static_bytes(self) -> int:
        """The bytes of a block's shared arrays, but for dynamic ones."""
        return sum(self.pieces["shared"][-1][:2]) if self.pieces["shared"] else 0

    def pack(
        self, header: Sequence[int], values: Sequence[Any], bases: dict[str, int], dynamic: int
    ) -> bytearray:
        """The frame of a launch."""
        numbers = list(header)
        for part in self.parts:
            numbers += part(values, bases, dynamic)
        return bytearray(struct.pack(self.format, *numbers))


def _numbers(value: Any) -> Sequence[Any]:
    """An argument as it lies in the frame."""
    if isinstance(value, View):
        address = value.allocation.data.ctypes.data + value.offset
        return value.size, value.dtype.itemsize, address, *value.shape, *value.strides
    if isinstance(value, complex | np.complexfloating):
        return value.real, value.imag
    return (value,)
