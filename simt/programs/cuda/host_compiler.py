"""The C++ compiler of this computer, which makes a program of the host part."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from simt.errors import KernelError, MissingPackage
from simt.programs.cuda.errors import INCLUDE
from simt.programs.cuda.tokens import FILE, Source

__all__ = ["build", "host_fault", "line_of"]

NAMES = ("c++", "g++", "clang++")
# -g1: lines for findings; -no-pie: an address is the same in the file and in the process
OPTIONS = (
    "-std=c++17", "-O0", "-g1", "-fno-pie", "-no-pie", "-pthread", "-D__CUDACC__", "-D__NVCC__",
)  # fmt: skip


def _compiler() -> str | None:
    chosen = os.environ.get("CXX")
    return next(filter(None, map(shutil.which, [chosen] if chosen else NAMES)), None)


def host_fault() -> str | None:
    """What is missing to compile the host part, in one sentence; None if nothing is."""
    if sys.platform != "linux":
        return "a whole CUDA program runs on Linux only: use WSL, a container or Colab"
    if _compiler() is not None:
        return None
    chosen = os.environ.get("CXX")
    if chosen:
        return f"CXX names the C++ compiler {chosen!r}, which is not here"
    return "a CUDA program needs a C++ compiler for its host part, such as g++: install one"


def build(text: str, source: Source, folder: Path, origin: Path) -> Path:
    """The program that the host part becomes, in a folder; `origin` is where its source lies.

    Raises:
        MissingPackage: there is no compiler.
        KernelError: it refuses the text; the message is its own.
    """
    fault = host_fault()
    if fault is not None:
        raise MissingPackage(fault)
    unit, executable = folder / "host.cpp", folder / "program"
    program = source.files[0]
    name = str(program).replace("\\", "\\\\").replace('"', '\\"')
    unit.write_text(f'#line 1 "{name}"\n{text}\n', encoding="utf-8")
    process = subprocess.run(
        [
            str(_compiler()), *OPTIONS, "-isystem", str(INCLUDE), f"-I{program.parent.resolve()}",
            "-include", "cuda_runtime.h", "-o", str(executable), str(unit), "-lm",
        ],
        capture_output=True, text=True, check=False, cwd=origin,
    )  # fmt: skip
    if process.returncode:
        raise KernelError(_in_words(process.stderr.rstrip(), source))
    if process.stderr:
        print(_in_words(process.stderr.rstrip(), source), file=sys.stderr)
    return executable


def _in_words(messages: str, source: Source) -> str:
    """The compiler's messages with the files that lines stand in."""

    def place(match: re.Match[str]) -> str:
        number, line = divmod(int(match[1]), FILE)
        return f"{source.files[number]}:{line}:" if number < len(source.files) else match[0]

    return re.sub(rf"{re.escape(str(source.files[0]))}:(\d{{6,}}):", place, messages)


def line_of(program: Path, name: str, addresses: list[int]) -> int:
    """The line of a source in which the first of some addresses lies; 0 if none is known."""
    tool = shutil.which("addr2line")
    if tool is None or not addresses:
        return 0
    process = subprocess.run(
        [tool, "-e", str(program), *map(hex, addresses)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    for place in process.stdout.splitlines():
        file, _, line = place.partition(" ")[0].rpartition(":")
        if Path(file).name == name and line.isdigit():
            return int(line)
    return 0
