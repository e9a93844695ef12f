"""The code that a GPU would carry out, made without a GPU: PTX, and PTX after linking.

NVVM, the compiler's front half, makes PTX of a kernel (`unfused_ptx`). On a GPU Numba takes another
way: it hands an intermediate form to nvJitLink, which optimizes once more while it links
(`linked_ptx`). Both have the options that a launch has.
"""

import contextlib
import functools
import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any

from simt.device import numba_cuda
from simt.frontend import numba_bridge
from simt.frontend.numba_bridge import CAPABILITY

Types = tuple[Any, ...]


INSTALL = "pip install 'gpulearn[ptx]' brings it"


@functools.cache
def compiler_fault() -> str | None:
    """Why Numba cannot compile to PTX here, in one sentence; None if it can."""
    if importlib.util.find_spec("numba_cuda") is None:
        return f"numba-cuda is not here, and the target that numba itself has is old; {INSTALL}"

    def compiled() -> str:
        cuda = numba_cuda.load()
        with numba_bridge.any_device():
            return str(cuda.compile_ptx(_nothing, "void()", cc=CAPABILITY)[0])

    return _fault("no CUDA compiler here", compiled)


@functools.cache
def linker_fault() -> str | None:
    """Why Numba cannot link here, in one sentence; None if it can."""
    linked = functools.partial(linked_ptx, _nothing, (), CAPABILITY)
    return compiler_fault() or _fault("no nvJitLink here", linked)


def _fault(what: str, attempt: Callable[[], str]) -> str | None:
    try:
        attempt()
    except Exception as error:  # what a missing library raises differs between versions
        detail = next(iter(str(error).split("\n")), "") or type(error).__name__
        return f"{what} ({detail}); {INSTALL}"
    return None


def _nothing() -> None:
    """A kernel."""


def linked_ptx(
    kernel: Callable[..., Any], types: Types, capability: tuple[int, int], lines: bool = False
) -> str:
    """The PTX of a kernel after linking: what the machine code is made from.

    A barrier of the whole grid stays a call: its code is no PTX.

    Args:
        kernel: what either `cuda.jit` made, or a plain function.
        types: the Numba types of its arguments, such as `numba.typeof` gives.
        capability: the compute capability to compile for, such as (9, 0).
        lines: whether the PTX says from which line of the source each instruction comes.
    """
    with lowered(kernel, types, capability, lines) as library:
        return str(library.get_lto_ptx(capability))


def unfused_ptx(kernel: Callable[..., Any], types: Types) -> str:
    """The PTX of a kernel that rounds after every multiplication, as the SIMT machine does.

    What it computes is then the same, to the bit. It needs no nvJitLink.
    """
    with lowered(kernel, types, CAPABILITY, fused=False) as library:
        return str(library.get_asm_str(CAPABILITY))


@contextlib.contextmanager
def lowered(
    kernel: Callable[..., Any], types: Types, capability: tuple[int, int], lines: bool = False, *,
    fused: bool = True,
) -> Any:  # fmt: skip
    """A kernel, lowered as Numba's dispatcher does it before a first launch."""
    fault = compiler_fault()
    if fault is not None:
        raise ImportError(fault)
    from numba.core import types as numba_types
    from numba.cuda import compiler

    function = numba_bridge.real_function(kernel)
    with numba_bridge.any_device():
        try:
            compiled = compiler.compile_cuda(
                function, numba_types.void, types, cc=capability, lto=fused, lineinfo=lines,
                nvvm_options={"opt": 3, "fma": fused},
            )  # fmt: skip
            library = compiled.library
            entry = compiled.fndesc.llvm_func_name
            compiler.kernel_fixup(library.get_function(entry), False)
        except (AttributeError, TypeError) as error:
            raise ImportError(f"numba-cuda compiles in another way here: {error}") from None
        library._entry_name = entry
        # C++ of numba-cuda's, which its dispatcher links to a kernel that calls it
        reshapes = Path(compiler.__file__).with_name("reshape_funcs.cu")
        if reshapes.is_file() and any("nocopy_reshape" in text for text in library.llvm_strs):
            library.add_linking_file(str(reshapes))
        yield library
