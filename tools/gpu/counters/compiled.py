"""Compiles a case to machine code, without running it and without a GPU, and lists its accesses.

Numba compiles, NVIDIA's linker (nvJitLink) makes machine code of that, as in a launch, and
nvdisasm prints it. Where the linker is missing ptxas takes its place, and where one of these is
missing as well, the listing is that of the PTX.
"""

from __future__ import annotations

import importlib
import importlib.util
import re
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from gpulearn.device import selection
from gpulearn.simt.frontend.numba_bridge import compile_to_ptx
from tools.gpu.case import Case
from tools.gpu.codegen import unlinked
from tools.gpu.counters.disassembly import Listing, parse_ptx, parse_sass
from tools.gpu.counters.matching import kernel_of
from tools.gpu.counters.ncu_csv import kernel_name

__all__ = ["assembly", "find_tool", "listing"]

HOPPER = (9, 0)
PLACES = ("usr/local/cuda*/bin", "opt/cuda/bin")  # below the root of the file system
LIMIT = 60  # seconds for one tool


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
    capability = capability or (gpus[0].capability if gpus else HOPPER)
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
