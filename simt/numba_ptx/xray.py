"""`xray(kernel)[grid, block](*args)`: a launch under the lens, which gives a report."""

from __future__ import annotations

from typing import Any

from simt.host.dispatcher import Kernel
from simt.host.xray import XRay, as_kernel

__all__ = ["xray"]


def xray(kernel: Any, *, block: int | tuple[int, ...] = 0, compiled: bool = False) -> XRay:
    """Prepares a launch with everything on: findings, counters, addresses.

    `kernel` may come from `cuda.jit`, here or in Numba, from CUDA C++, or be a plain function.
    The launch returns a `Report` whatever happened; on a stream it waits for that. Printed, or
    shown in a notebook, it has the findings first (races, divergent barriers, accesses out of
    bounds), then each line of the kernel with what it cost. `report.ok` says whether no finding is
    an error; `findings` is their list. `totals`, `lines[number]` and `arrays[name]` are counts of
    the launch, of a line and of an array: events, sectors of 32 bytes, bank conflicts.
    `to_json` saves the report. `block` is the one that `report.step` shows.
    With `compiled`, what is carried out is not the source but the PTX that Numba's compiler makes
    of it for a GPU, as it always is for CUDA C++; the costs still stand beside the lines of the
    source. `report.diff` of the two reports says what the compiler has changed.

    Raises:
        BadInput: if `kernel` is none of these.
        MissingPackage: `compiled` where there is no such compiler.

    Example:
        >>> import numpy as np
        >>> from simt import cuda
        >>> @cuda.jit
        ... def double(a):
        ...     i = cuda.grid(1)
        ...     if i < a.size:
        ...         a[i] = 2 * a[i]
        >>> report = xray(double)[2, 32](cuda.to_device(np.arange(40)))
        >>> report.ok, report.totals.divergent_branches, report.arrays["a"].global_load_sectors
        (True, 1, 10)
    """
    prepared = as_kernel(kernel)
    if compiled and isinstance(prepared, Kernel):
        from simt.numba_ptx.kernel import CompiledKernel

        return XRay(CompiledKernel(prepared), block)
    return XRay(prepared, block)
