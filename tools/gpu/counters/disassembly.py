"""The memory accesses in a case's machine code, by line of its source, without running it.

Numba compiles, NVIDIA's linker (nvJitLink) makes machine code (SASS) of that, as in a launch, and
`nvdisasm -gi` prints it. Where the linker is missing ptxas takes its place, and where one of these
is missing as well, the listing is that of the PTX, which the last compiler turns into SASS. No
GPU is needed. Where a counter differs from the SIMT machine's, this shows whether the compiler
has merged, hoisted or widened an access, or moved a variable to local memory.
"""

from __future__ import annotations

import importlib
import importlib.util
import re
import shutil
import subprocess
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gpulearn.perf.gpus import HOPPER
from simt.device import selection
from simt.numba_ptx.codegen import compile_to_ptx
from tools.gpu.case import Case
from tools.gpu.codegen import unlinked
from tools.gpu.counters.matching import kernel_name, kernel_of

__all__ = ["Access", "Listing", "assembly", "find_tool", "listing", "parse_ptx", "parse_sass"]

# LD and ST without a space find out at run time which space an address is in
SASS = {
    "LD": ("generic", "load"), "ST": ("generic", "store"), "LDG": ("global", "load"),
    "STG": ("global", "store"), "LDGSTS": ("global", "copy to shared"), "LDS": ("shared", "load"),
    "LDSM": ("shared", "load"), "STS": ("shared", "store"), "LDL": ("local", "load"),
    "STL": ("local", "store"), "RED": ("global", "atomic"), "REDG": ("global", "atomic"),
    "ATOM": ("generic", "atomic"), "ATOMG": ("global", "atomic"), "ATOMS": ("shared", "atomic"),
}  # fmt: skip
WIDTHS = {"U8": 1, "S8": 1, "U16": 2, "S16": 2, "64": 8, "128": 16}
SPACES = ("global", "shared", "local")
ACTIONS = {"ld": "load", "st": "store", "atom": "atomic", "red": "atomic"}

PLACES = ("usr/local/cuda*/bin", "opt/cuda/bin")  # below the root of the file system
LIMIT = 60  # seconds for one tool


@dataclass(frozen=True)
class Access:
    """One instruction that touches memory.

    Attributes:
        line: of the source, 0 where the listing does not say.
        space: "global", "shared", "local", or "generic".
        action: "load", "store", "atomic", or "copy to shared".
        width: bytes per lane.
        guard: the predicate without which it does nothing, such as "@!P0", or "".
        text: the instruction.
    """

    line: int
    space: str
    action: str
    width: int
    guard: str
    text: str


@dataclass(frozen=True)
class Listing:
    """What a compiler made of a kernel.

    Attributes:
        form: "SASS" or "PTX".
        accesses: in the order of the code; one inside a loop stands once for each copy of it.
        registers: per thread, None where the compiler did not say.
        spills: bytes per thread that did not fit into registers, None likewise.
    """

    form: str
    accesses: tuple[Access, ...]
    registers: int | None = None
    spills: int | None = None

    def count(self, space: str, action: str) -> int:
        """How many instructions do that."""
        return sum(a.space == space and a.action == action for a in self.accesses)

    def __str__(self) -> str:
        """Instructions by line, those that are equal but for their registers counted."""
        held = "" if self.registers is None else f", {self.registers} registers"
        held += "" if self.spills is None else f", {self.spills} bytes spilled"
        lines = [f"{self.form}{held}"]
        alike = Counter((a.line, a.space, a.action, a.width, bool(a.guard)) for a in self.accesses)
        for (line, space, action, width, guarded), times in sorted(alike.items()):
            lines.append(
                f"  line {line or '?'}: {times} × {space} {action} of {width} bytes"
                f"{', predicated' if guarded else ''}"
            )
        return "\n".join(lines)


def parse_sass(text: str, registers: int | None = None, spills: int | None = None) -> Listing:
    """The accesses in a listing of nvdisasm, with or without its lines of the source.

    >>> text = '''
    ...     //## File "copies.py", line 44
    ...         /*00e0*/              @!P0 LDG.E.64 R4, desc[UR4][R2.64] ;'''
    >>> parse_sass(text).accesses[0].width, parse_sass(text).accesses[0].line
    (8, 44)
    """
    found, line = [], 0
    for row in text.splitlines():
        if place := re.search(r'//## File ".*?", line (\d+)', row):
            line = int(place[1])
        code = re.search(r"/\*[0-9a-f]{4,}\*/\s+(@!?U?P\w+ )?\s*([A-Z]+)((?:\.\w+)*) ([^;]*);", row)
        if code is None or code[2] not in SASS:
            continue
        space, action = SASS[code[2]]
        parts = code[3].split(".")
        width = next((WIDTHS[part] for part in parts if part in WIDTHS), 4)
        text_of = f"{code[2]}{code[3]} {code[4].strip()}"
        found.append(Access(line, space, action, width, (code[1] or "").strip(), text_of))
    return Listing("SASS", tuple(found), registers, spills)


def parse_ptx(text: str) -> Listing:
    r"""The accesses in PTX; parameters and constants are no memory traffic and left out.

    >>> parse_ptx(".loc 1 44 1\nld.global.v2.f32 {%f1, %f2}, [%rd4];").accesses[0].width
    8
    """
    found, line = [], 0
    for row in text.splitlines():
        if place := re.match(r"\s*\.loc\s+\d+\s+(\d+)", row):
            line = int(place[1])
        code = re.match(r"\s*(@!?%p\d+\s+)?(ld|st|atom|red)((?:\.\w+)+)\s+([^;]*);", row)
        if code is None or code[3].startswith((".param", ".const")):
            continue
        parts = code[3].split(".")[1:]
        space = next((part for part in parts if part in SPACES), "generic")
        bits = re.search(r"\d+$", parts[-1])
        many = next((int(part[1:]) for part in parts if part in ("v2", "v4", "v8")), 1)
        width = many * (int(bits[0]) if bits else 32) // 8
        guard = (code[1] or "").strip()
        found.append(
            Access(line, space, ACTIONS[code[2]], width, guard, f"{code[2]}{code[3]} {code[4]}")
        )
    return Listing("PTX", tuple(found))


def find_tool(name: str) -> Path | None:
    """A program of the CUDA toolkit: on the path, where it is installed, or in Triton's wheel."""
    on_path = shutil.which(name)
    if on_path:
        return Path(on_path)
    folders = [folder for place in PLACES for folder in sorted(Path("/").glob(place))]
    triton = importlib.util.find_spec("triton")
    if triton is not None and triton.origin is not None:
        folders.append(Path(triton.origin).parent / "backends/nvidia/bin")
    return next((f / name for f in reversed(folders) if (f / name).exists()), None)


def listing(case: Case, capability: tuple[int, int] | None = None) -> Listing:
    """The accesses of a case's kernel, compiled for the types of its small size.

    Args:
        case: of the catalogue.
        capability: the compute capability; that of the GPU here, or of an H100 and H200.

    Raises:
        ImportError: there is no CUDA compiler here.
    """
    ptx, sass, log = assembly(case, capability)
    if not sass:
        return parse_ptx(ptx)
    # the kernel comes first, functions of CUDA's library after it
    registers = re.search(r"[Uu]sed (\d+) registers", log)
    spilled = re.findall(r"(\d+) bytes spill", log)[:2]
    return parse_sass(
        sass, int(registers[1]) if registers else None, sum(map(int, spilled)) if spilled else None
    )


def assembly(case: Case, capability: tuple[int, int] | None = None) -> tuple[str, str, str]:
    """A case's PTX, its machine code, and what the last compiler said; "" for what is missing.

    Raises:
        ImportError: there is no CUDA compiler here.
    """
    from numba import typeof

    gpus = selection.current().gpus
    capability = capability or (gpus[0].capability if gpus else HOPPER.capability)
    shot = case.shot("small")
    types = tuple(typeof(value) for value in shot.args)
    ptx = compile_to_ptx(case.kernel, types, capability, lines=True)
    made = _by_linker(case, types, capability) or _by_ptxas(ptx, capability)
    disassembler = find_tool("nvdisasm")
    if made is None or disassembler is None:
        return ptx, "", ""
    cubin, log = made
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "kernel.cubin"
        path.write_bytes(cubin)
        text = _output([disassembler, "-gi", path])
    # each function has a section of its own, and CUDA's library brings some
    sections = re.split(r"(?m)^\.text\.(?=\S+:)", text)[1:]
    own = [s for s in sections if kernel_name(s.partition(":")[0]) == kernel_of(case)]
    return ptx, "".join(own), log


def _by_linker(
    case: Case, types: tuple[Any, ...], capability: tuple[int, int]
) -> tuple[bytes, str] | None:
    """Machine code by nvJitLink, as a launch gets it; None where that is not here or fails."""
    options = [f"-arch=sm_{capability[0]}{capability[1]}", "-lto", "-lineinfo", "-verbose"]
    try:
        code, library = unlinked(case.kernel, types, capability)
        nvjitlink = importlib.import_module("cuda.bindings.nvjitlink")
        handle = nvjitlink.create(len(options), options)
        nvjitlink.add_data(handle, nvjitlink.InputType.LTOIR, code, len(code), "kernel")
        if library is not None:
            data = library.read_bytes()
            nvjitlink.add_data(handle, nvjitlink.InputType.LIBRARY, data, len(data), "library")
        nvjitlink.complete(handle)
        cubin = bytearray(nvjitlink.get_linked_cubin_size(handle))
        nvjitlink.get_linked_cubin(handle, cubin)
        log = bytearray(nvjitlink.get_info_log_size(handle))
        nvjitlink.get_info_log(handle, log)
        nvjitlink.destroy(handle)
    except Exception:  # not here, an exception of its own, or other names in another version
        return None
    return bytes(cubin), log.decode(errors="replace")


def _by_ptxas(ptx: str, capability: tuple[int, int]) -> tuple[bytes, str] | None:
    """Machine code by ptxas; None where that is not here or too old for the PTX."""
    ptxas = find_tool("ptxas")
    if ptxas is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder) / "kernel.ptx", Path(folder) / "kernel.cubin"
        source.write_text(ptx, encoding="utf-8")
        arch = f"-arch=sm_{capability[0]}{capability[1]}"
        said = _output([ptxas, arch, "-v", source, "-o", target])
        return (target.read_bytes(), said) if target.exists() else None


def _output(command: list[Any]) -> str:
    """What a program prints on both streams; "" if it does not end or cannot start."""
    try:
        done = subprocess.run(
            [str(part) for part in command],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=LIMIT,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout
