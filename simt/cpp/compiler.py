"""NVRTC, NVIDIA's run-time compiler of CUDA C++: source to PTX, on machines without a GPU too."""

import ctypes
import importlib.util
import re
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from simt.cpp.stored import stored
from simt.errors import KernelError, MissingPackage
from simt.wording import install_command

ARCHITECTURE = "compute_80"
CELL = "cell.cu"  # what the compiler takes the source's file to be called
PATTERNS = {"win32": ("bin/**/nvrtc64_*.dll",)}
PRELUDE = """#pragma once
#include "stdint.h"
#include "float.h"
#define INFINITY __int_as_float(0x7f800000)
#define NAN __int_as_float(0x7fffffff)
#ifndef NULL
#define NULL 0
#endif
#define M_PI 3.14159265358979323846
#define M_PI_2 1.57079632679489661923
#define M_E 2.7182818284590452354
#define M_SQRT2 1.41421356237309504880
#define INT_MAX 2147483647
#define INT_MIN (-INT_MAX - 1)
#define UINT_MAX 4294967295u
#define LLONG_MAX 9223372036854775807ll
"""
STDINT = """#pragma once
typedef signed char int8_t;
typedef short int16_t;
typedef int int32_t;
typedef long long int64_t;
typedef unsigned char uint8_t;
typedef unsigned short uint16_t;
typedef unsigned int uint32_t;
typedef unsigned long long uint64_t;
"""
FLOAT = """#pragma once
#define FLT_MAX 3.402823466e+38f
#define FLT_MIN 1.175494351e-38f
#define FLT_EPSILON 1.192092896e-7f
#define DBL_MAX 1.7976931348623158e+308
#define DBL_MIN 2.2250738585072014e-308
#define DBL_EPSILON 2.2204460492503131e-16
"""
# what nvcc takes from the host's compiler, which NVRTC does without
ASSERT = """#pragma once
extern "C" __device__ void __assertfail(const char*, const char*, unsigned, const char*, size_t);
#define assert(e) ((e) ? (void)0 : __assertfail(#e, __FILE__, __LINE__, __func__, sizeof(char)))
"""
EMPTY_HEADERS = ("stdio.h", "cstdio", "stdlib.h", "cstdlib", "cuda_runtime.h", "iostream", "vector",
        "device_launch_parameters.h", "string.h", "cstring",
        "cuda.h", "cuda_runtime_api.h")  # fmt: skip
PRELUDE_HEADERS = ("simt.h", "math.h", "cmath", "limits.h", "climits")
OWN_HEADERS = {
    "assert.h": ASSERT, "cassert": ASSERT, "stdint.h": STDINT, "cstdint": STDINT,
    "float.h": FLOAT, "cfloat": FLOAT,
    **dict.fromkeys(EMPTY_HEADERS, "#pragma once\n"), **dict.fromkeys(PRELUDE_HEADERS, PRELUDE),
}  # fmt: skip
LIBRARY = ("lib/libnvrtc.so*", "lib64/libnvrtc.so*")
# what people who come from Python write, by the line that the compiler refuses
HABITS = {
    r"^\s*#\s*(?!(define|undef|include|pragma|if|ifdef|ifndef|el|endif|line|error|warning))": (
        "in C++ a comment begins with //"
    ),
    r"\bcuda\.grid\(": "cuda.grid(1) is blockIdx.x * blockDim.x + threadIdx.x in C++",
    r"\bcuda\.gridsize\(": "cuda.gridsize(1) is gridDim.x * blockDim.x in C++",
    r"\bcuda\.(?!grid(?:size)?\()(?=\w)": (
        "C++ has no `cuda.` in front: threadIdx.x, __syncthreads()"
    ),
    r"\.(?:size|shape)\b(?!\()|\blen\(": (
        "a pointer does not know how many elements follow: take their number as a parameter, as n"
    ),
    r"^\s*for\s+\w+\s+in\b": "a loop over i looks like for (int i = 0; i < n; ++i) { … }",
    r"^\s*(if\b(?!\s*(constexpr\b\s*)?\()|while\b(?!\s*\()|elif\b)": (
        "a condition stands between brackets, and what depends on it between braces: "
        "if (i < n) { … } else { … }"
    ),
    r"=[^;=?]*\bif\b.+\belse\b": "`this if condition else that` is condition ? this : that in C++",
    r"\w\[[^][(){}]*,": "each dimension has brackets of its own: tile[y][x]",
}
NO_HOST = "host functions are not allowed"
NO_ROWS = "must have pointer-to-object type"


def _roots() -> list[Path]:
    """The folders of the `nvidia` packages that are installed."""
    spec = importlib.util.find_spec("nvidia")
    places = [Path(p) for p in spec.submodule_search_locations or []] if spec else []
    return [folder for place in places for folder in sorted(place.iterdir()) if folder.is_dir()]


@cache
def _library() -> Any:
    """The compiler, or None if it is not installed."""
    for pattern in PATTERNS.get(sys.platform, LIBRARY):
        for root in _roots():
            for file in sorted(root.glob(pattern)):
                if "builtins" not in file.name and ".alt." not in file.name:
                    return ctypes.CDLL(str(file))
    for name in ("libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"):
        try:
            return ctypes.CDLL(name)
        except OSError:
            continue
    return None


@cache
def _headers() -> tuple[str, ...]:
    """The folders of headers that come in packages."""
    folders = [root / "include" for root in _roots()]
    folders += [folder / "cccl" for folder in folders]
    return tuple(str(folder) for folder in folders if folder.is_dir())


def compiler_fault() -> str | None:
    """What is missing to compile CUDA C++, in one sentence; None if nothing is."""
    if _library() is not None:
        return None
    if sys.platform == "darwin":
        return (
            "CUDA C++ needs NVIDIA's compiler NVRTC, which does not exist for macOS: "
            "open the notebook on Linux, on Windows or in Colab"
        )
    return f"CUDA C++ needs NVIDIA's compiler NVRTC, no GPU: {install_command('cpp')}"


def compile_to_ptx(
    source: str, options: Sequence[str] = (), names: Sequence[str] = ()
) -> tuple[str, dict[str, str]]:
    """The PTX of a CUDA C++ source, and what each name expression is called in it.

    Without a compiler, what it made of the lessons' own sources is at hand.

    Raises:
        MissingPackage: there is no compiler here, and the source is none of the lessons'.
        KernelError: the compiler refuses the source; the message has its line and caret.
    """
    fault = compiler_fault()
    if fault is not None:
        entry = stored(source, options, names)
        if entry is None:
            raise MissingPackage(fault)
        if "refused" in entry:
            raise KernelError(entry["refused"])
        return entry["ptx"], entry["lowered"]
    library = _library()
    program = ctypes.c_void_p()
    cell, text = CELL.encode(), source.encode()
    count = len(OWN_HEADERS)
    headers = (ctypes.c_char_p * count)(*(content.encode() for content in OWN_HEADERS.values()))
    include = (ctypes.c_char_p * count)(*(name.encode() for name in OWN_HEADERS))
    library.nvrtcCreateProgram(ctypes.byref(program), text, cell, count, headers, include)
    try:
        for name in names:
            library.nvrtcAddNameExpression(program, name.encode())
        arguments = ["--pre-include=simt.h"]
        if not any(o.startswith(("--gpu-architecture", "-arch")) for o in options):
            arguments.append(f"--gpu-architecture={ARCHITECTURE}")
        if not {"-lineinfo", "--generate-line-info", "-G"} & {*options}:
            arguments.append("--generate-line-info")
        if "<cooperative_groups/" not in source:  # groups alone need no standard library
            arguments.append("-D_CG_LIMIT_INCLUDED_DEPENDENCIES")  # whose headers take seconds
        arguments += [*options, *(f"--include-path={folder}" for folder in _headers())]
        array = (ctypes.c_char_p * len(arguments))(*(argument.encode() for argument in arguments))
        status = library.nvrtcCompileProgram(program, len(arguments), array)
        if status:
            raise KernelError(_message(_read(library, program, "ProgramLog"), source, status))
        mangled_names = {}
        for name in names:
            mangled = ctypes.c_char_p()
            library.nvrtcGetLoweredName(program, name.encode(), ctypes.byref(mangled))
            mangled_names[name] = (mangled.value or b"").decode()
        return _read(library, program, "PTX"), mangled_names
    finally:
        library.nvrtcDestroyProgram(ctypes.byref(program))


def _read(library: Any, program: Any, what: str) -> str:
    size = ctypes.c_size_t()
    getattr(library, f"nvrtcGet{what}Size")(program, ctypes.byref(size))
    buffer = ctypes.create_string_buffer(size.value)
    getattr(library, f"nvrtcGet{what}")(program, buffer)
    return buffer.value.decode(errors="replace")


def _message(log: str, source: str, status: int) -> str:
    """The compiler's errors: the line of the cell, what is wrong, the text with its caret."""
    errors, advice = [], []
    source_lines = source.splitlines()
    pattern = rf"^{re.escape(CELL)}\((\d+)\): (?:catastrophic )?error(?: #[\w-]+)?: "
    lines = log.splitlines()
    for at, line in enumerate(lines):
        match = re.match(pattern, line)
        if not match:
            continue
        excerpt = [line[match.end() :]]
        for following in lines[at + 1 :]:
            if not following.strip() or re.match(rf"^{re.escape(CELL)}\(\d+\)", following):
                break
            excerpt.append(following)
        errors.append("\n".join([f"line {match[1]}: {excerpt[0]}", *excerpt[1:]]))
        text = "".join(source_lines[int(match[1]) - 1 : int(match[1])])
        advice += [hint for habit, hint in HABITS.items() if re.search(habit, text)]
        if NO_ROWS in excerpt[0] and re.search(r"\w\[[^][]*\]\s*\[", text):
            advice.append(
                "a pointer has one index, and image[y][x] has two: write image[y * width + x]"
            )
        if NO_HOST in excerpt[0]:
            advice.append(
                "write __global__ in front of a kernel and __device__ in front of a function that "
                "kernels call; main and what else runs on the host stays out"
            )
    if errors:
        return "\n".join([*errors, *dict.fromkeys(advice)])
    excerpt = [line for line in lines if line.strip()]
    first = next((line for line in excerpt if ": error" in line), excerpt[0] if excerpt else "")
    first = first or f"NVRTC failed with status {status}"
    return f"the compiler refuses the source: {first.strip()}"
