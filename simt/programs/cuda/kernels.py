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
from simt.host.work.ptx import PreparedPtx
from simt.observers.observer import Observer
from simt.programs.cuda.memory import DeviceMemory, Piece
from simt.ptx.program import PtxProgram
from simt.ptx.textures import Texels, Texture

Triple = tuple[int, int, int]
BYTES = np.dtype(np.uint8)


@dataclass
class Arguments:
    """The arguments of a launch: each as bytes or as an array, and the memory they reach."""

    values: tuple[Any, ...]
    reads: list[Piece] = field(default_factory=list)
    writes: list[Piece] = field(default_factory=list)
    others: dict[str, Piece] = field(default_factory=dict)  # reached by pointers in memory
    fetched: dict[str, Piece] = field(default_factory=dict)  # by textures
    textures: dict[int, Texture | Texels] = field(default_factory=dict)


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
        direct = {id(b) for b in (*result.reads, *result.writes)}
        if loose:
            for block in memory.blocks.values():
                if block.kind not in ("variable", "array") and id(block) not in direct:
                    self._reach(result.others, block, result)
            result.writes += result.reads
            result.reads = []
        if self.program.fetches:
            words = {
                int.from_bytes(raw[at : at + 8], "little")
                for raw in arguments
                for at in range(0, len(raw) - 7, 8)
            }
            result.textures = {h: t for h, t in memory.textures.items() if loose or h in words}
            for thing in result.textures.values():
                texels = thing.texels if isinstance(thing, Texture) else thing
                block = memory.at(texels.address)
                known = (*result.others.values(), *result.fetched.values())
                if block is not None and id(block) not in direct and block not in known:
                    sets = self.program.sets_texels and block.kind == "array" and block.surfaces
                    self._reach(result.others if sets else result.fetched, block, result)
        result.values = tuple(values)
        return result

    def _reach(self, group: dict[str, Piece], block: Piece, result: Arguments) -> None:
        """Names a piece of memory that no argument points to."""
        name = block.name or block.variable or f"array_of_line_{block.line}"
        variables = self.program.memory.allocations
        while any(
            name in known for known in (result.others, result.fetched, self.names, variables)
        ):
            name += "_"
        group[name] = block

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
            program.fetched = {name: b.allocation for name, b in marshalled.fetched.items()}
            program.textures = marshalled.textures
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
