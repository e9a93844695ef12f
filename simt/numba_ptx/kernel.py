"""A Numba kernel of which the compiled PTX is carried out, not the source."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from typing import Any

from simt.core.findings import Finding
from simt.core.memory import View
from simt.errors import MissingPackage
from simt.frontend.numba_bridge import CAPABILITY
from simt.frontend.typecheck import argument_types
from simt.host.arguments import LaunchArguments, marshal
from simt.host.dispatcher import Kernel
from simt.numba_ptx.codegen import linked_ptx, linker_fault
from simt.ptx.launch import PreparedPtx, PtxListing
from simt.ptx.program import PtxProgram

__all__ = ["CompiledKernel", "parameters"]


def parameters(values: Iterable[Any]) -> list[Any]:
    """A kernel's arguments as Numba's compiler hands them over.

    An array is seven or more parameters: meminfo and parent (both null), the number of elements,
    the bytes of each, the address, then a length and a stride for each axis. A tuple is its items.
    """
    result: list[Any] = []
    for value in values:
        if isinstance(value, View):
            size, item = value.size, value.dtype.itemsize
            result += [0, 0, size, item, value, *value.shape, *value.strides]
        elif isinstance(value, tuple):
            result += parameters(value)
        else:
            result.append(value)
    return result


class CompiledKernel:
    """A kernel whose launches carry out what Numba's compiler made of it.

    Raises:
        MissingPackage: there is no such compiler here.
    """

    def __init__(self, kernel: Kernel) -> None:
        fault = linker_fault()
        if fault is not None:
            raise MissingPackage(f"compiled=True shows the compiler's work: {fault}")
        self.__name__ = kernel.__name__
        self._kernel = kernel

    def prepare(
        self, grid: Any, block: Any, args: tuple[Any, ...], sharedmem: int = 0, *,
        xray: bool = False, watch: int | tuple[int, ...] = 0,
    ) -> PreparedPtx:  # fmt: skip
        """A launch with its arguments taken, to be carried out now or when its turn comes."""
        return PreparedPtx(
            self.__name__, grid, block, sharedmem, lambda: self._take(args),
            words=_without_mangled_names, xray=xray, watch=watch,
        )  # fmt: skip

    def _take(self, args: tuple[Any, ...]) -> tuple[PtxProgram, LaunchArguments, tuple[Any, ...]]:
        kernel = self._kernel
        source = kernel.source
        marshalled = marshal(source.parameters, args, source.name, kernel.extensions)
        types = argument_types(marshalled.typed)
        overload = kernel.overload(types)
        values = tuple(parameters(overload.values(types, marshalled.values)))
        names = [f"parameter {k}" for k in range(len(values))]
        listing = PtxListing(source.name, names, source.lines, file=source.file)
        text = _compile(kernel.py_func, overload.argument_types)
        return PtxProgram(text, None, listing), marshalled, values


def _without_mangled_names(finding: Finding) -> Finding:
    """The finding without the names that the compiler gives to shared arrays."""
    return replace(finding, message=re.sub(r"_cudapy_smem\w*", "shared", finding.message))


@cache
def _compile(function: Any, types: tuple[Any, ...]) -> str:
    return linked_ptx(function, types, CAPABILITY, lines=True)
