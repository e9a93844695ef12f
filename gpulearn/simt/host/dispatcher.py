"""The dispatcher: `cuda.jit` without a GPU, and `kernel[grid, block](...)`."""

from __future__ import annotations

import functools
import math
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from gpulearn.errors import BadLaunch, KernelError
from gpulearn.simt.core.findings import Finding, SimtWarning, Stop
from gpulearn.simt.core.limits import check_shape
from gpulearn.simt.core.memory import views
from gpulearn.simt.core.source import KernelSource
from gpulearn.simt.frontend import typecheck
from gpulearn.simt.frontend.dataflow import Types
from gpulearn.simt.frontend.program import Program
from gpulearn.simt.host.arguments import Marshalled, marshal
from gpulearn.simt.host.settings import checking, current_seed
from gpulearn.simt.machine.execution import LaunchResult, launch
from gpulearn.simt.observers.counters import Counters
from gpulearn.simt.observers.initialised import Initialised
from gpulearn.simt.observers.observer import Observer
from gpulearn.simt.observers.races import Races
from gpulearn.simt.observers.trace import Recorder, block_number
from gpulearn.simt.report.report import Report, make_report

__all__ = ["Configured", "Kernel", "jit", "run"]

_programs: dict[tuple[Any, ...], Program] = {}


def _program(
    function: Callable[..., Any], key: Any, types: Types, source: KernelSource | None = None
) -> Program:
    """The translated kernel for these argument types; a changed cell is a new function."""
    found = _programs.get((function, key))
    if found is None:
        if len(_programs) > 256:
            _programs.clear()
        found = _programs[function, key] = Program(function, types, source)
    return found


class Configured:
    """A kernel with the shape of a launch: call it with the kernel's arguments."""

    def __init__(self, kernel: Kernel, configuration: Any) -> None:
        self.kernel = kernel
        parts = configuration if isinstance(configuration, tuple) else (configuration,)
        if len(parts) == 1:
            raise BadLaunch(
                f"{kernel.__name__}[{parts[0]!r}] says nothing of the threads: write "
                f"{kernel.__name__}[blocks, threads_per_block](...)"
            )
        if not 2 <= len(parts) <= 4:
            raise BadLaunch(
                f"{kernel.__name__}[grid, block, stream, sharedmem] takes 2 to 4 values, "
                f"got {len(parts)}"
            )
        self.grid, self.block = parts[0], parts[1]
        self.sharedmem = int(parts[3]) if len(parts) > 3 else 0

    def __call__(self, *args: Any, **named: Any) -> None:
        """Launches the kernel; like Numba's, it takes its arguments by position.

        Raises:
            KernelError: when the kernel cannot go on; it carries the report as `.report`.
        """
        report, stopped = run(
            self.kernel, self.grid, self.block, args, self.sharedmem, xray=False, named=named
        )
        if stopped is not None:
            raise _error(stopped, report) from None
        said = set()
        for finding in report.findings:
            if finding.severity != "error" and finding.kind not in ("negative-index", "no-effect"):
                continue
            # `bins[k] += 1` races twice, by its read and by its write: one sentence is enough
            lines = frozenset((finding.line, finding.other_line or finding.line))
            mistake = (finding.kind, finding.array, lines, finding.function)
            if mistake not in said:
                said.add(mistake)
                warnings.warn(str(finding), SimtWarning, stacklevel=2)


def _error(stopped: Finding, report: Report) -> KernelError:
    error = KernelError(str(stopped))
    error.report = report
    return error


def run(
    kernel: Kernel,
    grid: Any,
    block: Any,
    args: tuple[Any, ...],
    sharedmem: int,
    *,
    xray: bool,
    watch: int | tuple[int, ...] = 0,
    named: Mapping[str, Any] | None = None,
    only: np.ndarray[Any, Any] | None = None,
) -> tuple[Report, Finding | None]:
    """One launch: its report, and the finding that stopped it if any did.

    `only` are the numbers of the blocks to run, ascending, if not all: for counts of a launch
    that is too large for the machine. Hazards are then not looked for.
    """
    function = kernel.py_func
    counters, recorder = (Counters(), Recorder()) if xray else (None, None)
    marshalled = None
    try:
        front = _program(function, "as it stands", {})
    except Stop as stop:
        name = getattr(function, "__name__", str(function))
        empty = make_report(LaunchResult(None, [stop.finding]), (1, 1, 1), (1, 1, 1), name=name)
        return empty, stop.finding
    source = front.source
    shape = (1, 1, 1), (1, 1, 1)
    try:
        shape = check_shape(grid, block, sharedmem)
        if recorder is not None:
            recorder.block = block_number(watch, shape[0])
        if source.tree.args.vararg:
            message = "*args in a kernel is not supported by the SIMT machine: name its arguments"
            raise Stop(Finding("unsupported", source.tree.lineno, message))
        if named:
            raise Stop(_by_position(source.name, source.parameters, list(named)))
        dtypes = kernel.argument_dtypes()
        marshalled = marshal(source.parameters, args, source.name, dtypes)
        refused = front.refused
        if refused is not None and refused.kind == "not-a-kernel":
            raise Stop(refused)
        key, types = typecheck.judge(function, marshalled.values, kernel.signature)
        if refused is not None:  # Numba could compile it, the machine cannot run it
            raise Stop(refused)
        program = _program(function, key, types, source)
        observers: list[Observer] = []
        if counters is not None and recorder is not None:
            counters.expect(marshalled.values)
            observers += [recorder, counters]
        if only is None and (xray or checking()):
            observers += [Initialised(), Races(math.prod(shape[0]))]
        result = launch(
            program, *shape, marshalled.values, dynamic=sharedmem, observers=observers,
            seed=current_seed(), only=only,
        )  # fmt: skip
        given = zip(source.parameters, marshalled.values, strict=True)
        result.findings[:0] = program.idle(frozenset(name for name, v in given if views(v)))
        marshalled.copy_back()
    except Stop as stop:
        result = LaunchResult(source, [stop.finding], stopped=stop.finding)
    if marshalled is not None and xray:
        result.findings += _copies(marshalled)
    report = make_report(result, *shape, counters=counters, recorder=recorder)
    return report, result.stopped


def _by_position(kernel: str, parameters: list[str], named: list[str]) -> Finding:
    message = (
        f"{kernel} takes its arguments by position only: write "
        f"{kernel}[blocks, threads]({', '.join(parameters)}), without {named[0]}="
    )
    return Finding("not-a-kernel", None, message)


def _copies(marshalled: Marshalled) -> list[Finding]:
    found = []
    for name, size in marshalled.copied:
        message = (
            f"{name} is a host array: {size:,} bytes go to the device and back at every launch; "
            f"copy once: cuda.to_device({name})"
        )
        found.append(Finding("implicit-copy", None, message, array=name))
    return found


class Kernel:
    """A function decorated with `cuda.jit`."""

    def __init__(
        self, function: Callable[..., Any], *, signature: Any = None, device: bool = False
    ) -> None:
        functools.update_wrapper(self, function)
        self.py_func = function
        self.signature = signature
        self.device = device
        self.__name__ = getattr(function, "__name__", repr(function))

    def argument_dtypes(self) -> list[Any] | None:
        """The dtypes of the numbers that a signature fixes, None for the rest."""
        if self.signature is None:
            return None
        return typecheck.number_dtypes(self.signature)

    def __getitem__(self, configuration: Any) -> Configured:
        if self.device:
            raise BadLaunch(f"{self.__name__} is a device function: only kernels can call it")
        return Configured(self, configuration)

    def configure(self, griddim: Any, blockdim: Any, stream: Any = 0, sharedmem: int = 0) -> Any:
        """The same as `kernel[griddim, blockdim, stream, sharedmem]`."""
        return self[griddim, blockdim, stream, sharedmem]

    def forall(self, ntasks: int, tpb: int = 0, stream: Any = 0, sharedmem: int = 0) -> Any:
        """A launch with one thread for each of `ntasks` tasks, `tpb` threads per block."""
        if ntasks < 0:
            raise ValueError(f"forall needs a number of tasks of 0 or more, got {ntasks}")
        if ntasks == 0:
            return _nothing
        threads = tpb or 128
        return self[math.ceil(ntasks / threads), threads, stream, sharedmem]

    def specialize(self, *args: Any) -> Kernel:
        """The kernel itself: it adapts to its arguments at each launch."""
        return self

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Kernels need a shape, device functions a kernel.

        Raises:
            BadLaunch: always.
        """
        if self.device:
            raise BadLaunch(f"{self.__name__} is a device function: only kernels can call it")
        raise BadLaunch(
            f"{self.__name__} was called without a launch configuration: "
            f"write {self.__name__}[blocks, threads_per_block](...)"
        )

    def __repr__(self) -> str:
        return f"<kernel {self.__name__}>"


def _nothing(*args: Any) -> None:
    """A launch without threads."""


def jit(
    func_or_sig: Any = None, device: bool = False, signature: Any = None, **options: Any
) -> Any:
    """`cuda.jit`: bare, with a signature, with options (which change nothing here)."""
    if func_or_sig is None or isinstance(func_or_sig, str | list | tuple):
        given = func_or_sig
    elif callable(func_or_sig) and hasattr(func_or_sig, "__code__"):
        return Kernel(func_or_sig, signature=signature, device=device)
    elif isinstance(func_or_sig, Kernel):
        return Kernel(func_or_sig.py_func, signature=signature, device=device)
    else:
        given = func_or_sig
    if isinstance(given, list):
        given = given[0] if len(given) == 1 else None

    def decorate(function: Callable[..., Any]) -> Kernel:
        return Kernel(function, signature=given, device=device)

    return decorate
