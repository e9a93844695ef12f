"""The device code in what nvcc has built: PTX, kernels and variables."""

from __future__ import annotations

import re
import shutil
import struct
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from functools import cached_property

import numpy as np

from simt.core.findings import Stop
from simt.cpp.signature import Parameter, demangled_types, find_kernels, short_name
from simt.cpp.wording import in_words, shapes
from simt.errors import KernelError
from simt.programs.cuda.errors import ApiError, NotSupported
from simt.programs.cuda.kernels import DeviceKernel
from simt.programs.cuda.memory import DeviceMemory, Piece
from simt.programs.cuda.sources import FILE, SourceFiles, is_own
from simt.ptx.link import link
from simt.ptx.parse import Module, files_of
from simt.ptx.program import Memory, PtxListing, PtxProgram

MAGIC, PTX = 0xBA55ED50, 1  # of a fat binary; the kind of its entries that are text
COMPRESSED = 0x3000 | 0x8000


def ptx_of(binary: bytes) -> str:
    """The text in a fat binary; what is none is a text itself."""
    if not binary.startswith(MAGIC.to_bytes(4, "little")):
        return binary.decode(errors="replace")
    _, _, head, size = struct.unpack_from("<IHHQ", binary)
    at, compressed = head, False
    while at < min(head + size, len(binary)):
        kind, _, start, length = struct.unpack_from("<HHIQ", binary, at)
        flags = struct.unpack_from("<Q", binary, at + 40)[0]
        if kind == PTX:
            if not flags & COMPRESSED:
                text = binary[at + start : at + start + length]
                return text.partition(b"\0")[0].decode(errors="replace")
            compressed = True
        at += start + length
    raise NotSupported(
        "the program's PTX is compressed: compile it with nvcc -no-compress"
        if compressed
        else "the program holds no PTX, which the SIMT machine carries out: "
        "compile it with nvcc -gencode arch=compute_80,code=compute_80"
    )


class ProgramListing(PtxListing):
    """The source of a program's kernel."""

    bytes_by = "third launch value, kernel<<<grid, block, bytes>>>"
    together = "use cudaLaunchCooperativeKernel"


class Unit:
    """The device code of one translation unit, or of several that a device linker has joined."""

    def __init__(self, binary: bytes, memory: DeviceMemory, source: SourceFiles) -> None:
        self.binaries, self._place, self._source = [binary], memory, source
        self.managed: dict[str, Piece] = {}  # variables that the host reaches, too

    @cached_property
    def texts(self) -> list[str]:
        """The PTX of each translation unit; NVIDIA's own, which is linked too, is compressed."""
        texts = []
        for binary in self.binaries:
            with suppress(NotSupported):
                texts.append(ptx_of(binary))
        return texts or [ptx_of(self.binaries[0])]

    @cached_property
    def bases(self) -> list[dict[str, int]]:
        """What the lines of the program's own files are counted from, by their numbers here."""
        bases = []
        for text in self.texts:
            files = files_of(text)
            own = [n for n, file in files.items() if is_own(file)]
            # what was compiled while the program ran is no file: its name stands first
            chosen = own or list(files)[:1]
            bases.append({n: FILE * self._source.number(files[n]) for n in chosen})
        return bases

    @cached_property
    def module(self) -> Module:
        """The functions, and what is declared beside them."""
        try:
            return link(self.texts, self.bases)
        except Stop as stop:
            raise KernelError(str(in_words(stop.finding, {}))) from None

    @cached_property
    def written(self) -> dict[str, str]:
        """The kernels as the source has them, with their types."""
        return _demangled([f.name for f in self.module.kernels])

    @cached_property
    def memory(self) -> Memory:
        """The variables, which have addresses from now on."""
        memory = Memory(self.module)
        for symbol, allocation in memory.allocations.items():
            if symbol in self.managed:
                memory.allocations[symbol] = self.managed[symbol].allocation
            else:
                piece = self._place.place(allocation)
                piece.name = piece.variable = short_name(symbol)
        return memory

    def manage(self, symbol: str, piece: Piece) -> None:
        """Gives a variable that the host reaches, too, its memory, with what it holds at first."""
        content = self.module.arrays[symbol].content
        piece.allocation.data[: len(content)] = np.frombuffer(content, np.uint8)
        piece.name = piece.variable = short_name(symbol)
        piece.lasts = True
        self.managed[symbol] = piece


class DeviceCode:
    """The device code of a program; its variables keep what they hold."""

    def __init__(self, memory: DeviceMemory, source: SourceFiles) -> None:
        self.memory, self.file, self._source = memory, str(source.files[0]), source
        self.modules: list[Unit] = []
        self.functions: dict[int, tuple[Unit, str]] = {}  # by what stands for it
        self.shadows: dict[int, tuple[Unit, str]] = {}
        self.conditions: dict[int, int] = {}  # of graphs, which kernels set
        self.shapes: dict[str, tuple[int, ...]] = shapes(source.text(0))
        self._kernels: dict[tuple[int, bool], DeviceKernel] = {}

    def add(self, binary: bytes, joined: int = 0) -> int:
        """A translation unit, and the number by which it is known: that of `joined` if given."""
        if joined:
            self.modules[joined - 1].binaries.append(binary)
            return joined
        self.modules.append(Unit(binary, self.memory, self._source))
        return len(self.modules)

    def variable(self, shadow: int) -> Piece:
        """The device's variable that one of the host's stands for."""
        if shadow not in self.shadows:
            raise ApiError(
                "this is no __device__ or __constant__ variable: give the variable itself",
                "cudaErrorInvalidSymbol",
            )
        unit, symbol = self.shadows[shadow]
        piece = self.memory.at(unit.memory.allocations[symbol].address)
        assert piece is not None
        return piece

    def kernel(self, number: int, *, together: bool) -> DeviceKernel:
        """A kernel by the address of the host's function that stands for it."""
        key = number, together
        if key not in self._kernels:
            if number not in self.functions:
                raise ApiError(
                    "cudaLaunchKernel is given no kernel", "cudaErrorInvalidDeviceFunction"
                )
            self._kernels[key] = self._made(*self.functions[number], together=together)
        return self._kernels[key]

    def launched(self, module: Module, symbol: str) -> DeviceKernel:
        """A kernel of some code that another kernel of it launches."""
        named = (n for n, f in self.functions.items() if f[1] == symbol and f[0].module is module)
        return self.kernel(next(named), together=False)

    def _made(self, unit: Unit, symbol: str, *, together: bool) -> DeviceKernel:
        module, memory = unit.module, unit.memory
        if symbol not in module.functions:
            raise NotSupported(f"the kernel {symbol} is not in the program's PTX")
        full = unit.written[symbol]
        count = len(module.functions[symbol].params)
        written, lines = self._written(unit, symbol, count)
        names = [p.name for p in written] or [f"argument {k + 1}" for k in range(count)]
        types = demangled_types(full) if "(" in full else written
        elements = {name: p.element for name, p in zip(names, types, strict=False)}
        title = re.sub(r"^void |\(.*$", "", full) if "(" in full else full
        title = title.removeprefix("(anonymous namespace)::") or short_name(symbol)
        listing = ProgramListing(title, names, lines, file=self.file)
        program = PtxProgram(module, symbol, listing, memory, cooperative=together)
        return DeviceKernel(self, program, elements)

    def _written(
        self, unit: Unit, symbol: str, count: int
    ) -> tuple[tuple[Parameter, ...], dict[int, str]]:
        """The parameters of a kernel in its source, and its lines; none where it is not found."""
        for base in {base for bases in unit.bases for base in bases.values()}:
            text = self._source.text(base // FILE)
            signature = find_kernels(text, (), symbol).get(short_name(symbol))
            if signature is not None and len(signature.parameters) == count:
                first, last = signature.first, signature.last
                numbered = enumerate(text.splitlines()[first - 1 : last], base + first)
                return signature.parameters, dict(numbered)
        return (), {}


def _demangled(symbols: Sequence[str]) -> dict[str, str]:
    tool = shutil.which("c++filt")
    if tool is None:
        return dict(zip(symbols, symbols, strict=True))
    process = subprocess.run(
        [tool], input="\n".join(symbols), capture_output=True, text=True, check=False
    )
    return dict(zip(symbols, process.stdout.splitlines(), strict=True))
