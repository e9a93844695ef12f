"""`xray(kernel)[grid, block](*args)`: a launch under the lens, which gives a report."""

import re
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from simt.core.findings import Finding
from simt.core.registry import python_function
from simt.errors import BadInput, BadLaunch, MissingPackage
from simt.frontend.numba_bridge import CAPABILITY
from simt.frontend.typecheck import argument_types
from simt.host.arguments import LaunchArguments, marshal
from simt.host.dispatcher import Configured, Kernel, Launchable
from simt.host.gufuncs import Gufunc
from simt.host.reduction import Reduce
from simt.host.ufuncs import Ufunc
from simt.host.work.launches import carry_out_on_stream
from simt.host.work.prepared import LaunchRequest, Prepared
from simt.host.work.queue import work_queue
from simt.report.report import Report


class XRay:
    """A kernel that waits for its launch configuration."""

    def __init__(self, kernel: Launchable, block: int | tuple[int, ...]) -> None:
        self._kernel = kernel
        self._block = block

    def __call__(self, *args: Any) -> None:
        """A launch needs a shape.

        Raises:
            BadLaunch: always.
        """
        name = self._kernel.__name__
        raise BadLaunch(f"a launch needs a shape: write xray({name})[blocks, threads](...)")

    def __getitem__(self, configuration: Any) -> Callable[..., Report]:
        configured = Configured(self._kernel, configuration)

        def launch(*args: Any, **kwargs: Any) -> Report:
            prepared = configured.prepare(args, kwargs, xray=True, watch=self._block)
            if work_queue.direct(configured.stream) or prepared.stopped is not None:
                return prepared.carry_out()[0]
            return carry_out_on_stream(self._kernel, prepared, configured.stream)

        return launch


def as_kernel(kernel: Any) -> Launchable:
    """What can be launched under the lens: a kernel of any front end, or a plain function."""
    if isinstance(kernel, Launchable):
        return kernel
    if isinstance(kernel, Ufunc | Gufunc | Reduce):
        raise BadInput(
            f"xray needs a kernel, and {getattr(kernel, '__name__', 'this')} launches kernels of "
            "its own: write the loop over elements as a kernel, or call it, and findings are told"
        )
    function = python_function(kernel)
    if function is None and callable(kernel) and hasattr(kernel, "__code__"):
        function = kernel
    if function is None:
        raise BadInput(
            f"xray needs a kernel or a function, got {type(kernel).__name__}: "
            "write xray(kernel)[blocks, threads](...)"
        )
    return Kernel(function)


class _CompiledKernel(Launchable):
    """A kernel whose launches carry out what Numba's compiler made of it."""

    def __init__(self, kernel: Kernel) -> None:
        from simt.numba_ptx import codegen

        fault = codegen.linker_fault()
        if fault is not None:
            raise MissingPackage(f"compiled=True shows the compiler's work: {fault}")
        self.__name__ = kernel.__name__
        self._kernel = kernel
        self._compiler = partial(codegen.linked_ptx, capability=CAPABILITY, lines=True)
        self._programs: dict[Any, Any] = {}  # by the types of their arguments

    def prepare(self, request: LaunchRequest) -> Prepared:
        """A launch with its arguments taken."""
        from simt.host.work.ptx import PreparedPtx

        def words(finding: Finding) -> Finding:  # without the compiler's names of shared arrays
            return replace(finding, message=re.sub(r"_cudapy_smem\w*", "shared", finding.message))

        return PreparedPtx(self.__name__, request, lambda: self._take(request), words)

    def _take(self, request: LaunchRequest) -> tuple[Any, LaunchArguments, tuple[Any, ...]]:
        from simt.numba_ptx.kernel import parameters, program

        kernel = self._kernel
        source = kernel.source
        marshalled = marshal(
            source.parameters, request.args, source.name, kernel.extensions, request.named
        )
        types = argument_types(marshalled.typed)
        overload = kernel.overload(types)
        values = tuple(parameters(overload.values(types, marshalled.values)))
        types = overload.argument_types or ()
        if types not in self._programs:
            self._programs[types] = program(self._compiler, source, types, len(values))
        return self._programs[types], marshalled, values


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
        return XRay(_CompiledKernel(prepared), block)
    return XRay(prepared, block)
