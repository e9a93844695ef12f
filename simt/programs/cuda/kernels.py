"""Kernels of a CUDA program: compiled by NVRTC, launched with the bytes that the host sends."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import redirect_stdout
from copy import copy
from dataclasses import dataclass, field
from io import StringIO
from typing import Any, NamedTuple

import numpy as np

from simt.core.memory import View
from simt.cpp.compiler import compile_to_ptx
from simt.cpp.module import parse_module
from simt.cpp.signature import find_kernels
from simt.cpp.wording import in_words, shapes
from simt.errors import BadInput
from simt.host.arguments import LaunchArguments
from simt.host.work.prepared import Outcome
from simt.observers.observer import Observer
from simt.programs.cuda.device_part import DevicePart
from simt.programs.cuda.host_part import DeclaredKernel, HostPart
from simt.programs.cuda.memory import DeviceMemory, Piece
from simt.ptx.launch import PreparedPtx, PtxListing
from simt.ptx.parse import Module
from simt.ptx.program import Memory, PtxProgram

__all__ = ["DeviceCode", "DeviceKernel", "PreparedKernel"]

Triple = tuple[int, int, int]
OPTIONS = ("--std=c++17",)
BYTES = np.dtype(np.uint8)


@dataclass
class Arguments:
    """The arguments of a launch: each as bytes or as an array, and the memory they reach."""

    values: tuple[Any, ...]
    reads: list[Piece] = field(default_factory=list)
    writes: list[Piece] = field(default_factory=list)
    others: dict[str, Piece] = field(default_factory=dict)  # reached by pointers in memory


class CompiledModule(NamedTuple):
    """What NVRTC compiled, and the mangled names in it."""

    module: Module
    memory: Memory
    lowered: dict[str, str]


class DeviceCode:
    """What NVRTC makes of a program's device part; its variables keep what they hold."""

    def __init__(self, device: DevicePart, host: HostPart, memory: DeviceMemory, file: str) -> None:
        self.device, self.memory, self.file = device, memory, file
        self.kernels, self.names = host.kernels, host.variables
        self.variables: dict[str, Piece] = {}  # by expression or symbol
        plain = [k.expression for k in host.kernels if not k.template]
        twice = {e for e in plain if plain.count(e) > 1}
        if twice:
            raise BadInput(
                f"{file}: two kernels are called {min(twice)}, which is not covered: "
                "give them names of their own"
            )
        self.shapes = shapes(device.text())
        self._plain = self._compiled(plain)
        self._kernels: dict[str, DeviceKernel] = {}

    def _compiled(
        self, expressions: Sequence[str], types: str = "", kernel: str | None = None
    ) -> CompiledModule:
        """What becomes of kernels; of a template only the one, and the types that it is for."""
        text = self.device.text(re.findall(r"[A-Za-z_]\w*", types), kernel)
        symbols = [f"&{name}" for name in self.names]
        ptx, lowered = compile_to_ptx(text, OPTIONS, [*expressions, *symbols])
        module = parse_module(ptx)
        own = Memory(module)
        names = {lowered[s]: s[1:] for s in symbols}
        for symbol, allocation in own.allocations.items():
            name = names.get(symbol, symbol)
            if name in self.variables and not symbol.startswith("$"):
                own.allocations[symbol] = self.variables[name].allocation
            else:
                self.variables[name] = self.memory.place(allocation)
                self.variables[name].name = self.variables[name].variable = name
        return CompiledModule(module, own, lowered)

    def kernel(self, number: int, types: Sequence[str]) -> DeviceKernel:
        """A kernel by its number, with the arguments of its template if it is one."""
        declared = self.kernels[number]
        arguments = f"<{', '.join(types)}>" if declared.template else ""
        name = declared.expression + arguments
        if name not in self._kernels:
            compiled = self._plain
            if declared.template:
                compiled = self._compiled([name], arguments, declared.name)
            self._kernels[name] = DeviceKernel(self, compiled, declared, name, types)
        return self._kernels[name]


class DeviceKernel:
    """One kernel, or one of what a template stands for."""

    def __init__(
        self, code: DeviceCode, compiled: CompiledModule, declared: DeclaredKernel, name: str,
        types: Sequence[str],
    ) -> None:  # fmt: skip
        self.code, self.file = code, code.file
        self.__name__ = re.sub(r"\(\w[\w ]*\)(?=\d)", "", name)
        self.names = declared.parameters
        listing = PtxListing(self.__name__, self.names, declared.lines, file=code.file)
        self.program = PtxProgram(compiled.module, compiled.lowered[name], listing, compiled.memory)
        signature = find_kernels("\n".join(declared.lines.values())).get(declared.name)
        if signature is not None:
            signature = signature.with_types(list(types))
        self._elements = {p.name: p.element for p in signature.parameters} if signature else {}

    def marshal(self, arguments: Sequence[bytes]) -> Arguments:
        """Arguments as the machine takes them: a pointer into memory of the device as an array."""
        memory, result = self.code.memory, Arguments(())
        values: list[Any] = []
        loose = self._follows_pointers()
        for name, raw, kind in zip(self.names, arguments, self.program.function.kinds, strict=True):
            pointer = int.from_bytes(raw, "little") if len(raw) == 8 and kind != "f64" else 0
            block = memory.at(pointer)
            if block is None:
                values.append(raw)
                loose = loose or len(raw) > 8
                continue
            block.name = block.name or name
            element = self._elements.get(name) or BYTES
            size = element.itemsize
            values.append(
                View(block.allocation, element, (max(block.size // size, 0),), (size,),
                     pointer - block.address, name)
            )  # fmt: skip
            writes = name in self.program.written_parameters
            (result.writes if writes else result.reads).append(block)
        if loose:
            direct = {id(b) for b in (*result.reads, *result.writes)}
            for block in memory.blocks.values():
                if block.kind != "variable" and id(block) not in direct:
                    name = block.name or f"array_of_line_{block.line}"
                    while name in result.others or name in self.names:
                        name += "_"
                    result.others[name] = block
            result.writes += result.reads
            result.reads = []
        result.values = tuple(values)
        return result

    def _follows_pointers(self) -> bool:
        """Whether it may take an address from memory."""
        return any(
            i.op[0] in ("ld", "atom") and "param" not in i.op and i.op[-1] in ("u64", "b64", "s64")
            for f in self.program.used
            for i in f.instructions
        )

    def prepare(
        self, grid: Triple, block: Triple, arguments: Sequence[bytes], shared: int, *, xray: bool
    ) -> PreparedKernel:
        """A launch with its arguments taken."""
        return PreparedKernel(self, grid, block, arguments, shared, xray=xray)


class PreparedKernel(PreparedPtx):
    """A launch of a program's kernel: its arguments, and what it has printed."""

    def __init__(
        self, kernel: DeviceKernel, grid: Triple, block: Triple, arguments: Sequence[bytes],
        shared: int, *, xray: bool,
    ) -> None:  # fmt: skip
        self.arguments, self.printed = Arguments(()), ""

        def take() -> tuple[PtxProgram, LaunchArguments, tuple[Any, ...]]:
            marshalled = self.arguments = kernel.marshal(arguments)
            program = copy(kernel.program)  # what it reaches is this launch's own
            program.reached = {name: b.allocation for name, b in marshalled.others.items()}
            return program, LaunchArguments(marshalled.values), marshalled.values

        super().__init__(
            kernel.__name__, grid, block, shared, take, listing=kernel.program.source,
            words=lambda finding: in_words(finding, kernel.code.shapes), xray=xray,
        )  # fmt: skip

    def carry_out(self, further: Sequence[Observer] = ()) -> Outcome:
        """The report, and the finding that stopped the launch if any did."""
        printed = StringIO()
        with redirect_stdout(printed):
            outcome = super().carry_out(further)
        self.printed = printed.getvalue()
        return outcome
