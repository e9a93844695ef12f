"""What a GPU would load, made without a GPU: machine code, and what it is linked from."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from simt.numba_ptx.codegen import lowered

__all__ = ["linked_machine_code", "unlinked"]

Types = tuple[Any, ...]


def linked_machine_code(
    kernel: Callable[..., Any], types: Types, capability: tuple[int, int]
) -> bytes:
    """The machine code of a kernel, as a cubin: what `nvdisasm` reads.

    Takes and raises what `linked_ptx` does.
    """
    with lowered(kernel, types, capability) as library:
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
    with lowered(kernel, types, capability, lines=True) as library:
        if not library.use_cooperative:
            return bytes(library.get_ltoir(cc=capability)), None
        from numba.cuda.cudadrv.libs import get_cudalib

        return bytes(library.get_ltoir(cc=capability)), Path(get_cudalib("cudadevrt", static=True))
