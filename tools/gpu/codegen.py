"""The code that a GPU would carry out, made without a GPU: PTX, linked PTX, machine code.

`compile_to_ptx` gives what NVVM, the compiler's front half, makes of a kernel. On a
GPU Numba takes another way: it hands an intermediate form to nvJitLink, which optimises once
more while it links. This module takes that way, with the options that a launch has.
"""

from __future__ import annotations

import contextlib
import functools
import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any

from gpulearn.device import numba_cuda
from gpulearn.simt.frontend import numba_bridge
from gpulearn.simt.frontend.numba_bridge import CAPABILITY

__all__ = ["compile_to_ptx", "compiler_fault", "linked_machine_code", "linked_ptx", "unlinked"]

Types = tuple[Any, ...]


def compile_to_ptx(
    kernel: Callable[..., Any],
    signature: str | tuple[Any, ...],
    capability: tuple[int, int] = CAPABILITY,
    lines: bool = False,
) -> str:
    """The PTX, NVIDIA's portable assembly, that Numba compiles a kernel to; needs no GPU.

    Args:
        kernel: what either `cuda.jit` made, or a plain function.
        signature: its types as Numba writes them, such as "void(float32[::1], int64)", or the
            Numba types of its arguments.
        capability: the compute capability to compile for, such as (8, 0).
        lines: whether the PTX says from which line of the source each instruction comes.

    Raises:
        ImportError: there is no CUDA compiler here (see `compiler_fault`).
        numba.core.errors.NumbaError: the kernel cannot be compiled for these types.
    """
    fault = compiler_fault()
    if fault is not None:
        raise ImportError(fault)
    return _ptx(numba_bridge.real_function(kernel), signature, capability, lines)


def _ptx(
    function: Callable[..., Any],
    signature: str | tuple[Any, ...],
    capability: tuple[int, int],
    lines: bool = False,
) -> str:
    cuda = numba_cuda.load()
    with numba_bridge.any_device():
        return str(cuda.compile_ptx(function, signature, cc=capability, lineinfo=lines)[0])


@functools.cache
def compiler_fault() -> str | None:
    """Why Numba cannot compile a kernel and link it here, in one sentence; None if it can."""
    brings = "pip install 'gpulearn[ptx]' brings it"
    if importlib.util.find_spec("numba_cuda") is None:
        return f"numba-cuda is not here, and the target that numba itself has is old; {brings}"
    try:
        _ptx(_nothing, "void()", CAPABILITY)
        with _lowered(_nothing, (), CAPABILITY) as library:
            library.get_lto_ptx(CAPABILITY)  # another package's than the compiler
    except Exception as error:  # what a missing compiler raises differs between versions
        said = next(iter(str(error).split("\n")), "") or type(error).__name__
        return f"no CUDA compiler here ({said}); {brings}"
    return None


def _nothing() -> None:
    """A kernel."""


def linked_ptx(kernel: Callable[..., Any], types: Types, capability: tuple[int, int]) -> str:
    """The PTX of a kernel after linking: what the machine code is made from.

    A barrier of the whole grid stays a call: its code is no PTX.

    Args:
        kernel: what either `cuda.jit` made, or a plain function.
        types: the Numba types of its arguments, such as `numba.typeof` gives.
        capability: the compute capability to compile for, such as (9, 0).

    Raises:
        ImportError: there is no CUDA compiler here, or something of Numba's is not where it
            used to be.
        numba.core.errors.NumbaError: the kernel cannot be compiled for these types.
    """
    with _library(kernel, types, capability) as library:
        return str(library.get_lto_ptx(capability))


def linked_machine_code(
    kernel: Callable[..., Any], types: Types, capability: tuple[int, int]
) -> bytes:
    """The machine code of a kernel, as a cubin: what `nvdisasm` reads.

    Takes and raises what `linked_ptx` does.
    """
    with _library(kernel, types, capability) as library:
        if library.use_cooperative:  # grid barriers are functions of a library of CUDA's
            library.needs_cudadevrt = True
        code = library.get_cubin(capability)
        return bytes(getattr(code, "code", code))


def unlinked(
    kernel: Callable[..., Any], types: Types, capability: tuple[int, int]
) -> tuple[bytes, Path | None]:
    """What Numba hands to nvJitLink, with the lines of the source: the code, and a library.

    The library is CUDA's own, which a barrier of the whole grid needs; None where none does.
    Takes and raises what `linked_ptx` does.
    """
    with _library(kernel, types, capability, lines=True) as library:
        if not library.use_cooperative:
            return bytes(library.get_ltoir(cc=capability)), None
        from numba.cuda.cudadrv.libs import get_cudalib

        return bytes(library.get_ltoir(cc=capability)), Path(get_cudalib("cudadevrt", static=True))


@contextlib.contextmanager
def _library(
    kernel: Callable[..., Any], types: Types, capability: tuple[int, int], lines: bool = False
) -> Any:
    """A kernel, lowered as Numba's dispatcher does it before a first launch."""
    fault = compiler_fault()
    if fault is not None:
        raise ImportError(fault)
    with _lowered(kernel, types, capability, lines) as library:
        yield library


@contextlib.contextmanager
def _lowered(
    kernel: Callable[..., Any], types: Types, capability: tuple[int, int], lines: bool = False
) -> Any:
    """The same, without asking whether there is a compiler."""
    from numba.core import types as numba_types
    from numba.cuda import compiler

    function = numba_bridge.real_function(kernel)
    with numba_bridge.any_device():
        try:
            compiled = compiler.compile_cuda(
                function, numba_types.void, types, cc=capability, lto=True, lineinfo=lines,
                nvvm_options={"fastmath": False, "opt": 3},
            )  # fmt: skip
            library = compiled.library
            entry = compiled.fndesc.llvm_func_name
            compiler.kernel_fixup(library.get_function(entry), False)
        except (AttributeError, TypeError) as error:
            raise ImportError(f"numba-cuda compiles in another way here: {error}") from None
        library._entry_name = entry
        yield library
