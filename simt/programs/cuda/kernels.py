"""Kernels of a CUDA program, launched with the bytes that the host sends."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import redirect_stdout
from copy import copy
from dataclasses import dataclass, field
from io import StringIO
from typing import Any, Protocol

import numpy as np

from simt.core.limits import MAX_SHARED
from simt.core.memory import View
from simt.cpp.wording import in_words
from simt.host.arguments import LaunchArguments
from simt.host.work.prepared import Outcome
from simt.observers.observer import Observer
from simt.programs.cuda.memory import DeviceMemory, Piece
from simt.ptx.launch import PreparedPtx
from simt.ptx.program import PtxProgram

__all__ = ["DeviceKernel", "PreparedKernel"]

Triple = tuple[int, int, int]
BYTES = np.dtype(np.uint8)


@dataclass
class Arguments:
    """The arguments of a launch: each as bytes or as an array, and the memory they reach."""

    values: tuple[Any, ...]
    reads: list[Piece] = field(default_factory=list)
    writes: list[Piece] = field(default_factory=list)
    others: dict[str, Piece] = field(default_factory=dict)  # reached by pointers in memory


class Code(Protocol):
    """The device's part of a program, as its kernels know it."""

    memory: DeviceMemory
    shapes: dict[str, tuple[int, ...]]


class DeviceKernel:
    """One kernel, or one of what a template stands for.

    `elements` has the type of what each parameter is or points to, where it is known.
    """

    def __init__(
        self, code: Code, program: PtxProgram, elements: dict[str, np.dtype[Any] | None]
    ) -> None:
        self.code, self.program = code, program
        self.__name__ = program.source.name
        self.names = program.source.parameters
        self.static_shared = sum(a.size for _, a in program.own_arrays if a.space == "shared")
        self.most_shared = MAX_SHARED  # bytes that a block may have
        self._elements = elements

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
            program.most_shared = kernel.most_shared
            program.reached = {name: b.allocation for name, b in marshalled.others.items()}
            return program, LaunchArguments(marshalled.values), marshalled.values

        super().__init__(
            kernel.__name__, grid, block, shared, take, listing=kernel.program.source,
            words=lambda finding: in_words(finding, kernel.code.shapes), xray=xray,
            most_shared=kernel.most_shared,
        )  # fmt: skip

    def carry_out(self, further: Sequence[Observer] = ()) -> Outcome:
        """The report, and the finding that stopped the launch if any did."""
        printed = StringIO()
        with redirect_stdout(printed):
            outcome = super().carry_out(further)
        self.printed = printed.getvalue()
        return outcome
