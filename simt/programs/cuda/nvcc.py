"""NVIDIA's compiler nvcc and the runtime library that takes the place of NVIDIA's."""

import functools
import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from simt.core.folder import cache_folder
from simt.cpp.compiler import ARCHITECTURE
from simt.errors import KernelError, MissingPackage
from simt.programs.cuda.errors import NATIVE
from simt.wording import install_command

PER_THREAD = ("_ptsz", "_ptds")  # ends of names of functions that take stream 0 for the thread's
CODE = ARCHITECTURE.replace("compute", "code=compute")
# shared: our library stands in for NVIDIA's; -g1: lines of the host's calls
OPTIONS = (
    "-cudart", "shared", "-no-compress", "-gencode", f"arch={ARCHITECTURE},{CODE}", "-lineinfo",
    "-Xcompiler", "-g1", "-extended-lambda", "-allow-unsupported-compiler",
)  # fmt: skip


def find_nvcc() -> Path | None:
    """The compiler: that of Python's packages, of `CUDA_HOME`, or of the path."""
    spec = importlib.util.find_spec("nvidia")
    for place in (spec.submodule_search_locations or []) if spec else []:
        for file in sorted(Path(place).glob("*/bin/nvcc")):
            if (file.parent.parent / "include" / "cuda_runtime.h").is_file():
                return file
    home = os.environ.get("CUDA_HOME", "")
    found = shutil.which("nvcc", path=f"{home}/bin") if home else None
    found = found or shutil.which("nvcc")
    return Path(found) if found else None


def host_fault() -> str | None:
    """What is missing to compile a program as NVIDIA does; None if nothing is."""
    if sys.platform != "linux":
        return "a whole CUDA program runs on Linux only: use WSL, a container or Colab"
    if find_nvcc() is None:
        return f"a CUDA program needs NVIDIA's compiler nvcc, no GPU: {install_command('cpp')}"
    if shutil.which("g++") is None:
        return "nvcc needs g++ for the program's host part: install it"
    return None


def _toolkit(nvcc: Path) -> Path:
    """The folder with the headers and libraries of a compiler."""
    listing = subprocess.run(
        [str(nvcc), "-dryrun", "-x", "cu", os.devnull], capture_output=True, text=True, check=False
    )
    top = re.search(r"^#\$ TOP=(.*)$", listing.stderr, re.MULTILINE)
    return Path(top[1] if top else nvcc.parent / "..").resolve()


@functools.cache  # a process that is copied behind a grader's walls has it ready
def runtime_library() -> Path:
    """The folder of the runtime library, which is compiled once and kept."""
    fault = host_fault()
    nvcc = find_nvcc()
    if fault is not None or nvcc is None:
        raise MissingPackage(fault or "nvcc is not here")
    parts = [*sorted(NATIVE.iterdir()), Path(__file__)]
    key = hashlib.sha256(b"".join(part.read_bytes() for part in parts) + str(nvcc).encode())
    cache = cache_folder()
    if cache is None:  # what lies there would be run
        raise MissingPackage(
            "the folder for compiled files is somebody else's: let XDG_CACHE_HOME name one"
        )
    folder = cache / f"cudart-{key.hexdigest()[:16]}"
    if (folder / "libcudart.so").exists():
        return folder
    with tempfile.TemporaryDirectory(dir=folder.parent) as name:
        made = Path(name) / "cudart"
        made.mkdir()
        _compile_library(NATIVE / "cudart.cpp", _toolkit(nvcc), made)
        try:
            made.rename(folder)
        except OSError:  # another process was faster
            if not folder.is_dir():
                raise
    return folder


def _compile_library(source: Path, toolkit: Path, folder: Path) -> None:
    """Compiles the library, with an answer for each function of NVIDIA's that it lacks."""
    own_part = folder / "cudart.o"
    target, stubs, versions = folder / "libcudart.so.13", folder / "stubs.c", folder / "versions"
    nvrtc = next((lib.name for lib in toolkit.glob("lib*/libnvrtc.so.1*")), "libnvrtc")
    versions.write_text(
        "libcudart.so.13 { global: cu*; __cuda*; local: *; };\n"
        f"{nvrtc} {{ global: nvrtc*; }};\n"  # as programs ask for them
    )
    flags = ["-std=c++17", "-O2", "-fPIC", "-w", "-isystem", str(toolkit / "include")]
    _run(["g++", *flags, "-c", "-o", str(own_part), str(source)])
    first = folder / "first.so"
    _run(["g++", "-shared", "-o", str(first), str(own_part)])
    own = set(_symbols(first))
    names = [s for lib in sorted(toolkit.glob("lib*/libcudart.so.1*")) for s in _symbols(lib)]
    header = (toolkit / "include" / "cuda.h").read_text(encoding="utf-8", errors="replace")
    renamed = {a: b for a, b in re.findall(r"#define (cu\w+) +(?:\w+\()?(cu\w+)", header) if a != b}
    names += [renamed.get(s, s) for s in re.findall(r"CUDAAPI (cu\w+)\(", header)]
    # with --default-stream per-thread: they stand for the others
    renamed |= {s: s[:-5] for s in names if s.endswith(PER_THREAD)}
    lines = ["int simt_refused(const char*);", "const char* simt_driver_error(int n) {"]
    for error, number in re.findall(r"^ +(CUDA_(?:ERROR_\w+|SUCCESS)) += (\d+)", header, re.M):
        lines.append(f'    if (n == {number}) return "{error}";')
    lines.append("    return 0;\n}")
    defined = own | {s for s in names if re.match("_*cu", s) and s not in renamed}
    for symbol in sorted(defined - own):
        lines.append(f'int {symbol}() {{ return simt_refused("{symbol}"); }}')
    older = [f"-Wl,--defsym={s}={renamed[s]}" for s in renamed.keys() - defined]
    stubs.write_text("\n".join(lines) + "\n")
    _run(["gcc", "-c", "-fPIC", "-w", "-o", str(folder / "stubs.o"), str(stubs)])
    wanted = [f"-Wl,-soname,{target.name},--version-script={versions}", *older]
    parts = [str(own_part), str(folder / "stubs.o")]
    _run(["g++", "-shared", *wanted, "-o", str(target), *parts])
    for name in ("libcudart.so", "libcuda.so", "libcuda.so.1"):
        (folder / name).symlink_to(target.name)
    (folder / "libcudart_static.a").write_text("INPUT(-lcudart)\n")  # there is none: the same
    _complete(toolkit, folder)


def _complete(toolkit: Path, folder: Path) -> None:
    """Makes the library's folder a toolkit, which CMake can take for NVIDIA's."""
    (folder / "lib64").symlink_to(".")
    for name in ("bin", "include", "nvvm"):
        (folder / name).symlink_to(toolkit / name)
    for library in sorted(toolkit.glob("lib*/lib*")):
        for name in {library.name, re.sub(r"(?<=\.so)\..*", "", library.name)}:
            if not (folder / name).exists():
                (folder / name).symlink_to(library)


def _symbols(library: Path) -> list[str]:
    listing = subprocess.run(
        ["nm", "-D", "--defined-only", str(library)], capture_output=True, text=True, check=False
    ).stdout
    return [line.split()[-1].partition("@")[0] for line in listing.splitlines()]


def _run(command: Sequence[str]) -> None:
    process = subprocess.run(command, capture_output=True, text=True, check=False)
    if process.returncode:
        raise KernelError(process.stderr.rstrip())


def build(files: Sequence[str], options: Sequence[str], folder: Path, origin: Path) -> Path:
    """A program of `.cu` and other files, linked with the runtime library."""
    library, executable = runtime_library(), folder / "program"
    process = subprocess.run(
        [
            str(find_nvcc()), *OPTIONS, *options, "-isystem", str(NATIVE), f"-L{library}",
            "-o", str(executable), *files,
        ],
        capture_output=True, text=True, check=False, cwd=origin,
    )  # fmt: skip
    messages = (process.stdout + process.stderr).rstrip()
    if process.returncode:
        raise KernelError(messages or f"nvcc ends with status {process.returncode}")
    if messages:
        print(messages, file=sys.stderr)
    return executable


def main(arguments: Sequence[str] | None = None) -> int:
    """`simt nvcc …`, `simt-nvcc …`: nvcc, for what `simt run` can run; gives its exit status.

    As the compiler of a Makefile or of CMake: what chooses a GPU or a
    runtime library is left out, everything else is passed on.
    """
    passed, skip = [], False
    for word in sys.argv[1:] if arguments is None else arguments:
        chosen = re.match(
            r"--?(arch|gpu-architecture|gencode|generate-code|code|gpu-code|cudart)\b", word
        )
        if not (chosen or skip):
            passed.append(word)
        skip = bool(chosen) and "=" not in word
    if "--version" in passed and find_nvcc():  # CMake asks, and does not wait for a library
        return subprocess.run([str(find_nvcc()), "--version"], check=False).returncode
    try:
        library = runtime_library()
    except (MissingPackage, KernelError) as error:
        print(error, file=sys.stderr)
        return 2
    link = ["-L", str(library), "-Xlinker", f"-rpath={library}"]
    command = [str(find_nvcc()), *OPTIONS, "-isystem", str(NATIVE), *passed, *link]
    if not {"-v", "--verbose", "-dryrun", "--dryrun"} & set(passed):
        return subprocess.run(command, check=False).returncode
    process = subprocess.run(command, check=False, capture_output=True, text=True)
    for text, out in ((process.stdout, sys.stdout), (process.stderr, sys.stderr)):
        # where a build system looks for the toolkit
        out.write(re.sub(r"(?m)^#\$ TOP=.*$", f"#$ TOP={library}", text))
    return process.returncode
