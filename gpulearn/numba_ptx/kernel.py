"""A Numba kernel of which the compiled PTX is carried out, not the source."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from typing import Any

from gpulearn.errors import MissingPackage
from gpulearn.numba_ptx.codegen import linked_ptx, linker_fault
from gpulearn.ptx.launch import PtxListing, carry_out
from gpulearn.ptx.program import PtxProgram
from gpulearn.simt.core.findings import Finding, Stop
from gpulearn.simt.core.limits import check_shape
from gpulearn.simt.core.memory import View
from gpulearn.simt.frontend.numba_bridge import CAPABILITY
from gpulearn.simt.frontend.typecheck import argument_types
from gpulearn.simt.host.arguments import marshal
from gpulearn.simt.host.dispatcher import Kernel
from gpulearn.simt.host.settings import checking, current_seed, keeps_going
from gpulearn.simt.machine.execution import LaunchResult
from gpulearn.simt.observers.counters import Counters
from gpulearn.simt.observers.trace import Recorder, block_number
from gpulearn.simt.report.report import Report, make_report

__all__ = ["CompiledKernel", "parameters"]


def parameters(values: Iterable[Any]) -> list[Any]:
    """A kernel's arguments as Numba's compiler hands them over.

    An array is seven or more parameters: meminfo and parent (both null), the number of elements,
    the bytes of each, the address, then a length and a stride for each axis. A tuple is its items.
    """
    made: list[Any] = []
    for value in values:
        if isinstance(value, View):
            size, item = value.size, value.dtype.itemsize
            made += [0, 0, size, item, value, *value.shape, *value.strides]
        elif isinstance(value, tuple):
            made += parameters(value)
        else:
            made.append(value)
    return made


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

    def launch(
        self, grid: Any, block: Any, args: tuple[Any, ...], sharedmem: int = 0, *,
        xray: bool = False, watch: int | tuple[int, ...] = 0,
    ) -> tuple[Report, Finding | None]:  # fmt: skip
        """One launch: its report, and the finding that stopped it if any did."""
        kernel = self._kernel
        counters, recorder = (Counters(), Recorder()) if xray else (None, None)
        shape = (1, 1, 1), (1, 1, 1)
        marshalled = source = None
        try:
            source = kernel.source
            shape = check_shape(grid, block, sharedmem)
            if recorder is not None:
                recorder.block = block_number(watch, shape[0])
            marshalled = marshal(source.parameters, args, source.name, kernel.extensions)
            types = argument_types(marshalled.typed)
            overload = kernel.overload(types)
            values = parameters(overload.values(types, marshalled.values))
            names = [f"parameter {k}" for k in range(len(values))]
            listing = PtxListing(source.name, names, source.lines, file=source.file)
            text = _compiled(kernel.py_func, overload.argument_types)
            program = PtxProgram(text, None, listing)
            result = carry_out(
                program, *shape, tuple(values), dynamic=sharedmem,
                hazards=xray or checking(), counters=counters, recorder=recorder,
                seed=current_seed(), keep_going=keeps_going(),
            )  # fmt: skip
            marshalled.copy_back()
        except Stop as stop:
            result = LaunchResult(source, [stop.finding], stopped=stop.finding)
        for finding in result.findings:  # the compiler has numbered the shared arrays
            finding.message = re.sub(r"_cudapy_smem\w*", "shared", finding.message)
        if marshalled is not None and xray:
            result.findings += marshalled.copies()
        report = make_report(
            result, *shape, counters=counters, recorder=recorder, name=self.__name__
        )
        return report, result.stopped


@cache
def _compiled(function: Any, types: tuple[Any, ...]) -> str:
    return linked_ptx(function, types, CAPABILITY, lines=True)
