"""The dispatcher: `cuda.jit` without a GPU, and `kernel[grid, block](...)`."""

from __future__ import annotations

import functools
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import MethodType
from typing import Any

from simt.core.findings import Finding, Stop
from simt.core.limits import triple
from simt.core.registry import callee, python_function
from simt.core.source import KernelSource, read
from simt.errors import BadLaunch, KernelError
from simt.frontend.program import Program
from simt.frontend.signatures import chosen, signature_types
from simt.frontend.typecheck import argument_types, declare
from simt.host.arguments import marshal
from simt.host.overloads import Overload, asking, check_options, error_for
from simt.host.settings import listeners
from simt.host.streams import Stream
from simt.host.work.launches import PreparedLaunch, counted, launch_now, put_on_stream
from simt.host.work.prepared import LaunchRequest, Prepared
from simt.host.work.queue import work_queue
from simt.wording import shown


class Configured:
    """A kernel with the shape of a launch: call it with the kernel's arguments."""

    def __init__(self, kernel: Launchable, configuration: Any) -> None:
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
        self.grid = self.griddim = triple(parts[0], "the grid")
        self.block = self.blockdim = triple(parts[1], "the block")
        self.stream = parts[2] if len(parts) > 2 else 0
        self.sharedmem = int(parts[3]) if len(parts) > 3 else 0
        if self.stream and not isinstance(self.stream, Stream):
            name = kernel.__name__
            raise BadLaunch(
                f"{name}[grid, block, stream, bytes]: the third value is a stream, and "
                f"{shown(self.stream)} is none: write {name}[{parts[0]}, {parts[1]}, 0, "
                f"{shown(self.stream)}] for bytes of shared memory, cuda.stream() for a stream"
            )

    def __call__(self, *args: Any, **kwargs: Any) -> None:
        """Launches the kernel; it takes its arguments by position.

        Raises:
            KernelError: when the kernel cannot go on; it carries the report as `.report`.
            Exception: the one that a kernel raises, where it was made with `debug=True`.
        """
        function = getattr(self.kernel, "py_func", None)  # of which listeners are told
        detail = function and any(listener.wants_detail(function) for listener in listeners)
        prepared = self.prepare(args, kwargs, xray=bool(detail) or counted(self.stream))
        if work_queue.direct(self.stream):
            launch_now(function, prepared)
        else:
            put_on_stream(function, self.kernel, prepared, self.stream)

    def prepare(self, args: Sequence[Any], named: Iterable[str], **how: Any) -> Prepared:
        """A launch with its arguments taken, to be carried out now or when its turn comes."""
        request = LaunchRequest(self.grid, self.block, args, self.sharedmem, [*named], **how)
        return self.kernel.prepare(request)


class Launchable(ABC):
    """A kernel of any front end: `kernel[grid, block, stream, shared_bytes](...)` launches it."""

    __name__: str

    @abstractmethod
    def prepare(self, request: LaunchRequest) -> Prepared:
        """A launch with its arguments taken."""

    def __getitem__(self, configuration: Any) -> Configured:
        return Configured(self, configuration)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """A launch needs a shape.

        Raises:
            BadLaunch: always.
        """
        raise BadLaunch(
            "the launch configuration was not specified: "
            f"write {self.__name__}[blocks, threads_per_block](...)"
        )


class Kernel(Launchable):
    """A function decorated with `cuda.jit`: a kernel, or a device function.

    `signatures` are those that it declares: it is compiled for them at once and for no others.
    A kernel with one that is no list is `specialized`: its arguments are taken for what it says.

    Raises:
        KernelError: Numba refuses it for a signature.
    """

    def __init__(
        self, function: Callable[..., Any], signatures: Sequence[Any] = (), *,
        specialized: bool = False, device: bool = False, options: Mapping[str, Any] | None = None,
    ) -> None:  # fmt: skip
        function = python_function(function) or function
        functools.update_wrapper(self, function)
        self.py_func = function
        self.device = device
        self.targetoptions = {**(options or {}), "device": device}
        self.extensions = self.targetoptions.setdefault("extensions", [])
        self.specialized = specialized
        self.__name__ = getattr(function, "__name__", repr(function))
        self.overloads: dict[Any, Overload] = {}
        self.specializations: dict[Any, Kernel] = {}
        parsed = [signature_types(types) for types in signatures]
        self.declared = [types for types in parsed if types is not None]
        with _stops_as_errors():
            if device and self.declared:
                finding = declare(self)
                if finding is not None:
                    raise Stop(finding)
                Program.fix(callee(self))
            for arguments, result in [] if device else self.declared:
                if str(result) not in ("None", "none", "void"):
                    message = f"{self.__name__} is a kernel: its signature must return void"
                    raise Stop(Finding("not-a-kernel", None, message, errors=(TypeError,)))
                self._compiled(arguments)

    @functools.cached_property
    def source(self) -> KernelSource:
        """The text of the function."""
        return read(self.py_func)

    @property
    def signatures(self) -> list[Any]:
        """The argument types for which the kernel has been compiled."""
        return list(self.overloads)

    def overload(self, types: tuple[Any, ...] | None) -> Overload:
        """The kernel for arguments of these types, as Numba chooses it."""
        if self.specialized and self.overloads:
            return next(iter(self.overloads.values()))
        if types in self.overloads:
            return self.overloads[types]
        if self.declared and types is not None:
            return self.overloads[chosen(self.__name__, self.signatures, types)]
        return self._compiled(types)

    def _compiled(self, types: tuple[Any, ...] | None) -> Overload:
        if types not in self.overloads:
            overload = Overload(self.py_func, self.source, types, self.targetoptions)
            self.overloads[types] = overload
        return self.overloads[types]

    def compile(self, sig: Any) -> Overload:
        """The kernel for a signature, from where on what its names stand for is fixed."""
        parsed = signature_types(sig)
        with _stops_as_errors():
            if self.declared:
                return self.overload(parsed and parsed[0])
            return self._compiled(parsed and parsed[0])

    def recompile(self) -> None:
        """Compiles all overloads again, with what their names stand for by now."""
        signatures = self.signatures
        self.overloads.clear()
        with _stops_as_errors():
            for arguments in signatures:
                self._compiled(arguments)

    def specialize(self, *args: Any) -> Kernel:
        """A kernel for arguments like these only, or for arguments of these types."""
        if self.specialized:
            raise KernelError(f"Dispatcher already specialized: launch {self.__name__} as it is")
        with _stops_as_errors():
            types = tuple(_type_like(arg) for arg in args)
            if types not in self.specializations:
                kernel = Kernel(self.py_func, options=self.targetoptions, specialized=True)
                kernel._compiled(types)
                self.specializations[types] = kernel
        return self.specializations[types]

    def __getattr__(self, name: str) -> Any:
        return asking(self, name)

    def __get__(self, owner: Any, kind: Any = None) -> Any:
        return self if owner is None else MethodType(self, owner)

    def prepare(self, request: LaunchRequest) -> PreparedLaunch:
        """A launch with its arguments taken."""
        return PreparedLaunch(self, request)

    def configure(self, griddim: Any, blockdim: Any, stream: Any = 0, sharedmem: int = 0) -> Any:
        """The same as `kernel[griddim, blockdim, stream, sharedmem]`."""
        return self[griddim, blockdim, stream, sharedmem]

    def forall(self, ntasks: int, tpb: int = 0, stream: Any = 0, sharedmem: int = 0) -> Any:
        """A launch with one thread for each of `ntasks` tasks, `tpb` threads per block."""
        if ntasks < 0:
            raise ValueError(f"Can't create ForAll with negative task count: {ntasks}")
        if ntasks == 0:
            return _nothing
        threads = tpb or 128
        return self[math.ceil(ntasks / threads), threads, stream, sharedmem]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Kernels need a shape, device functions a kernel.

        Raises:
            BadLaunch: always.
        """
        if self.device:
            raise BadLaunch(f"{self.__name__} is a device function: only kernels can call it")
        super().__call__()

    def __repr__(self) -> str:
        return f"<kernel {self.__name__}>"


def _nothing(*args: Any) -> None:
    """A launch without threads."""


def _type_like(thing: Any) -> Any:
    """The Numba type of an argument, or the type itself."""
    if hasattr(thing, "can_convert_to"):
        return thing
    types = argument_types(marshal(["argument"], (thing,), "the kernel").typed)
    return types and types[0]


@contextmanager
def _stops_as_errors() -> Iterator[None]:
    """Raises what ends a compilation as an error."""
    try:
        yield
    except Stop as stop:
        raise error_for(stop.finding) from None


def jit(func_or_sig: Any = None, device: bool = False, **options: Any) -> Any:
    """`cuda.jit`: bare, with a signature or a list of them, with options.

    Raises:
        KernelError: an option is wrong, or Numba refuses the function for a signature.
    """
    check_options(options, device=device)
    function = python_function(func_or_sig) or func_or_sig
    if callable(function) and hasattr(function, "__code__"):
        return Kernel(function, device=device, options=options)
    if callable(function):
        raise KernelError.also(AttributeError)(
            f"cuda.jit takes a function, got {shown(function)}: write def, with a function around "
            "it for what is to be filled in beforehand"
        )
    several = isinstance(func_or_sig, list)
    signatures = func_or_sig if several else [] if func_or_sig is None else [func_or_sig]
    return functools.partial(
        Kernel, signatures=signatures, specialized=bool(signatures) and not several,
        device=device, options=options,
    )  # fmt: skip
