"""Overloads: a kernel compiled for the types of its arguments, with its names fixed there."""

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, NoReturn

from simt.core.findings import Finding, Stop
from simt.core.limits import resident
from simt.core.source import KernelSource
from simt.errors import KernelError
from simt.frontend.numba_errors import caught_as
from simt.frontend.program import Program
from simt.frontend.signatures import conversion
from simt.frontend.typecheck import unasked, verdict
from simt.host.devices import gpus
from simt.host.work.unchecked import UncheckedLaunches

Options = Mapping[str, Any]
# those that `cuda.jit` takes for kernels; here only debug, launch_bounds and link mean something
OPTIONS = {
    "cache", "debug", "device", "extensions", "fastmath", "forceinline", "inline", "launch_bounds",
    "lineinfo", "link", "lto", "max_registers", "opt", "shared_memory_carveout",
}  # fmt: skip
_REMOVED_OPTIONS = ("argtypes", "restype", "bind")
_NEEDS_COMPILER = {
    "const_mem_size", "local_mem_per_thread", "max_threads_per_block", "regs_per_thread",
    "inspect_asm", "inspect_cfg", "inspect_disasm_cfg", "inspect_llvm",
    "inspect_lto_ptx", "inspect_sass", "inspect_sass_cfg", "inspect_types", "library",
}  # fmt: skip


def error_for(finding: Finding, report: Any = None) -> Exception:
    """What to raise for a finding that stops a launch: caught as what Numba would raise."""
    if finding.error is not None:  # what the kernel itself has raised
        finding.error.report = report  # type: ignore[attr-defined]
        return finding.error
    kinds = finding.errors
    if not kinds and finding.kind == "not-a-kernel":
        kinds = caught_as("TypingError")
    error = KernelError.also(*kinds)(str(finding))
    error.report = report
    return error


def _needs_compiler(kernel: str, name: str) -> KernelError:
    """The error for what only a compiled kernel can tell."""
    return KernelError.also(NotImplementedError)(
        f"{name} of {kernel} is the compiler's to say, and the SIMT machine compiles nothing: "
        "ask where there is a GPU"
    )


def asking(kernel: Any, name: str) -> Callable[..., Any]:
    """The method of a kernel that asks its overloads: for one signature, or by signature."""
    fact = name.removeprefix("get_")
    if fact in _NEEDS_COMPILER:

        def refuse(*args: Any, **kwargs: Any) -> NoReturn:
            raise _needs_compiler(kernel.__name__, name)

        return refuse
    if name != "get_shared_mem_per_block":
        raise AttributeError(f"a kernel has no attribute {name!r}")

    def tell(signature: Any = None) -> Any:
        if signature is not None:
            return getattr(kernel.overloads[getattr(signature, "args", signature)], fact)
        every = {types: getattr(overload, fact) for types, overload in kernel.overloads.items()}
        return next(iter(every.values())) if kernel.specialized else every

    return tell


def check_options(options: Options, *, device: bool) -> None:
    """Refuses the options of `cuda.jit` that Numba refuses when it meets them."""
    if options.get("boundscheck"):
        raise KernelError.also(NotImplementedError)(
            "cuda.jit has no boundscheck=: the SIMT machine checks every index in any case"
        )
    for name in _REMOVED_OPTIONS:
        if options.get(name) is not None:
            raise KernelError.also(*caught_as("DeprecationError"))(
                f"cuda.jit takes no {name}= any more: give the signature first, "
                'as in @cuda.jit("void(float32[:])")'
            )
    if device and options.get("link"):
        raise KernelError.also(ValueError)("link= is for kernels, not for device functions")
    carveout = options.get("shared_memory_carveout")
    words = ("default", "maxl1", "maxshared")
    if carveout is None or (isinstance(carveout, str) and carveout.lower() in words):
        return
    if not isinstance(carveout, int) or not -1 <= carveout <= 100:
        kind = ValueError if isinstance(carveout, int | str) else TypeError
        raise KernelError.also(kind)(
            f"Invalid carveout value: shared_memory_carveout is {carveout!r}, and must be between "
            "-1 and 100, or 'default', 'MaxL1', 'MaxShared'"
        )


class Overload:
    """A kernel for one set of argument types; it may be launched as often as one likes."""

    def __init__(
        self, function: Callable[..., Any], source: KernelSource, arguments: tuple[Any, ...] | None,
        options: Options,
    ) -> None:  # fmt: skip
        self.py_func = function
        self.argument_types = arguments
        self.program = program = Program(
            source, debug=bool(options.get("debug")), fastmath=bool(options.get("fastmath"))
        )
        self._check(options)
        self.shared_bytes: int | None = None
        self._bounds = options.get("launch_bounds")
        self._conversions: dict[Any, list[Callable[[Any], Any]]] = {}
        refusal, finding = program.refused, None
        if arguments is not None:
            if len(arguments) != len(source.parameters):
                message = (
                    f"{source.name} takes {len(source.parameters)} arguments, "
                    f"and its signature has {len(arguments)}"
                )
                raise Stop(Finding("not-a-kernel", None, message, errors=(TypeError,)))
            finding, program.types = verdict(function, arguments, program.names())
        if refusal is not None and refusal.kind == "not-a-kernel":
            raise Stop(replace(refusal, errors=finding.errors if finding else refusal.errors))
        if finding is not None and finding.severity == "error":
            raise Stop(finding)
        self.unjudged = unasked() if arguments is None else finding
        program.accept()
        self.unchecked = UncheckedLaunches(program, arguments)
        self.refused = refusal  # what Numba could compile and the machine cannot run

    def _check(self, options: Options) -> None:
        unknown = sorted(options.keys() - OPTIONS)
        if unknown:
            allowed = ", ".join(sorted(OPTIONS))
            message = f"cuda.jit has no option {unknown[0]}=; it has {allowed}"
            raise Stop(Finding("not-a-kernel", None, message, errors=(TypeError,)))
        if options.get("device"):
            message = f"{self.program.source.name} is a device function: only kernels can call it"
            raise Stop(Finding("not-a-kernel", None, message, errors=(RuntimeError,)))
        if options.get("link"):
            message = (
                "link= brings code of another compiler, which the SIMT machine cannot run: write "
                "what it does in Python, as @cuda.jit(device=True)"
            )
            raise Stop(Finding("unsupported", None, message))
        bounds = options.get("launch_bounds")
        if isinstance(bounds, tuple) and len(bounds) > 3:
            message = f"Got {len(bounds)} launch bounds: {bounds}, at most 3 have a meaning"
            raise Stop(Finding("not-a-kernel", None, message, errors=(ValueError,)))

    def values(self, types: tuple[Any, ...] | None, values: tuple[Any, ...]) -> tuple[Any, ...]:
        """The arguments of a launch in the types of this overload."""
        if types is None or types == self.argument_types:
            return values
        if types not in self._conversions:
            source = self.program.source
            triples = zip(source.parameters, self.argument_types or (), types, strict=True)
            self._conversions[types] = [
                conversion(source.name, name, want, have) for name, want, have in triples
            ]
        parts = zip(self._conversions[types], values, strict=True)
        return tuple(convert(value) for convert, value in parts)

    def check_launch(self, block: tuple[int, ...]) -> None:
        """Stops a launch of more threads than `launch_bounds` promised, or of a refused kernel."""
        if self.refused is not None:
            raise Stop(replace(self.refused))
        bounds = self._bounds
        most = bounds[0] if isinstance(bounds, tuple) else bounds
        if most is not None and math.prod(block) > most:
            message = f"launch_bounds allows {most} threads in a block, got {math.prod(block)}"
            raise Stop(Finding("launch-limit", None, message))

    # --- what programs ask of it

    @property
    def signature(self) -> Any:
        """Numba's signature."""
        from numba.core import types

        return types.void(*(self.argument_types or ()))

    @property
    def cooperative(self) -> bool:
        """Whether it synchronizes the whole grid."""
        return self.program.cooperative

    def max_cooperative_grid_blocks(self, blockdim: Any, dynsmemsize: int = 0) -> int:
        """How many blocks run at a time, and so can wait for each other."""
        threads = math.prod(blockdim) if isinstance(blockdim, tuple) else blockdim
        return int(resident(threads) * gpus[0].MULTIPROCESSOR_COUNT)

    @property
    def shared_mem_per_block(self) -> int:
        """Bytes of its static shared arrays, the most that a launch has made."""
        if self.shared_bytes is None and self.program.makes_arrays:
            raise KernelError.also(NotImplementedError)(
                f"{self.py_func.__name__} has arrays of its own, whose size the SIMT machine knows "
                "once they are made: launch it first"
            )
        return self.shared_bytes or 0

    def __getattr__(self, name: str) -> Any:
        if name in _NEEDS_COMPILER:
            raise _needs_compiler(self.py_func.__name__, name)
        raise AttributeError(name)
