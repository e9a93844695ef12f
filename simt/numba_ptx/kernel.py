"""A Numba kernel as a program of PTX, and its arguments as the compiler's code takes them."""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from simt.core.memory import Record, View
from simt.core.source import KernelSource
from simt.ptx.program import PtxListing, PtxProgram


def parameters(values: Iterable[Any]) -> list[Any]:
    """A kernel's arguments as Numba's compiler hands them over.

    An array is seven or more parameters: meminfo and parent (both null), the number of elements,
    the bytes of each, the address, then a length and a stride for each axis. A tuple is its items,
    a complex number its parts, a record its address.
    """
    result: list[Any] = []
    for value in values:
        if isinstance(value, View):
            size, item = value.size, value.dtype.itemsize
            result += [0, 0, size, item, value, *value.shape, *value.strides]
        elif isinstance(value, tuple):
            result += parameters(value)
        elif isinstance(value, complex | np.complexfloating):
            result += [value.real, value.imag]
        else:
            result.append(value.view if isinstance(value, Record) else value)
    return result


def program(
    compiler: Callable[..., str], source: KernelSource, types: tuple[Any, ...], count: int
) -> PtxProgram:
    """What a compiler makes of a kernel for argument types, which are `count` parameters."""
    names = [f"parameter {k}" for k in range(count)]
    listing = PtxListing(source.name, names, source.lines, file=source.file)
    return PtxProgram(compiler(source.function, types), None, listing)
