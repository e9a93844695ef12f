"""CUDA C++ from a notebook's cell: compiled by NVRTC, carried out by the SIMT machine.

`cpp(source)["saxpy"][grid, block](n, 2.0, x, y)` launches a kernel; `xray` of it gives a report.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Any

import numpy as np

from simt.core.findings import Finding, Stop
from simt.core.memory import View
from simt.core.source import Listing
from simt.cpp.compiler import compile_to_ptx
from simt.cpp.ptx_text import PtxText
from simt.cpp.signature import ELEMENTS, Parameter, Signature, find_kernels, names_of, short_name
from simt.cpp.wording import in_words, shapes
from simt.errors import BadInput, KernelError
from simt.host.arguments import LaunchArguments, marshal
from simt.host.dispatcher import Launchable
from simt.host.work.prepared import LaunchRequest
from simt.host.work.ptx import PreparedPtx
from simt.ptx.parse import Function, Module, parse
from simt.ptx.program import Memory, PtxListing, PtxProgram


def cpp(source: str, options: Sequence[str] = ()) -> CppModule:
    """Compiles CUDA C++; its kernels then run on any computer, and name their mistakes.

    Args:
        source: text with `__global__` functions.
        options: of the compiler, such as `"--use_fast_math"` or `"-DN=16"`.

    Raises:
        KernelError: the compiler refuses the source; the message has its line and caret.
        MissingPackage: NVRTC is not installed.

    Example:
        >>> module = cpp('''
        ... __global__ void twice(int n, float* x) {
        ...     int i = blockIdx.x * blockDim.x + threadIdx.x;
        ...     if (i < n) x[i] *= 2;
        ... }''')                                                    # doctest: +SKIP
        >>> x = np.arange(4, dtype=np.float32)
        >>> module["twice"][1, 32](4, x)                             # doctest: +SKIP
    """
    if not isinstance(source, str):
        raise BadInput(f"cpp needs CUDA C++ as a text, got {type(source).__name__}")
    if isinstance(options, str):
        raise BadInput(f"options must be a list of texts, got {options!r}: write [{options!r}]")
    return CppModule(source, tuple(options))


class CppModule:
    """The kernels of a CUDA C++ source, by name; a template's as `module["scale<float>"]`."""

    def __init__(self, source: str, options: tuple[str, ...] = (), ptx: str | None = None) -> None:
        self.source, self.options = source, options
        self.signatures, self.shapes = find_kernels(source), shapes(source)
        self.ptx = compile_to_ptx(source, options)[0] if ptx is None else ptx
        self._kernels: dict[str, CppKernel] = {}
        self._module = parse_module(self.ptx)
        self._memory = Memory(self._module)

    def __repr__(self) -> str:
        return f"<CUDA C++ with {', '.join(self.signatures) or 'no kernel'}>"

    def __getitem__(self, name: str) -> CppKernel:
        """A kernel.

        Raises:
            BadInput: there is none of that name.
        """
        if name not in self._kernels:
            self._kernels[name] = self._kernel(" ".join(name.split()))
        return self._kernels[name]

    def _kernel(self, name: str) -> CppKernel:
        qualified, _, types = name.partition("<")
        plain = qualified.rpartition("::")[2]
        signature = self.signatures.get(plain)
        if types:
            ptx, lowered = compile_to_ptx(self.source, self.options, [name])
            arguments = [t.strip() for t in types.rstrip("> ").split(",")]
            module = parse_module(ptx)
            function, memory = module.functions[lowered[name]], Memory(module)
            signature = self._signature(function, plain)
            if signature is not None:
                signature = signature.with_types(arguments)
            for symbol, new in memory.allocations.items():  # variables are those of the source
                if not symbol.startswith("$"):
                    memory.allocations[symbol] = self._memory.allocations.setdefault(symbol, new)
            return CppKernel(self, module, function, name, signature, memory)
        parts = qualified.split("::")
        for function in self._module.kernels:
            own = names_of(function.name)[-len(parts) :] == parts
            if own and f"{len(plain)}{plain}I" not in function.name:
                signature = self._signature(function, plain)
                return CppKernel(self, self._module, function, plain, signature, self._memory)
        if signature is not None and signature.template:
            example = ", ".join("float" for _ in signature.template)
            raise BadInput(
                f"{plain} is a template: say for which types, module['{qualified}<{example}>']"
            )
        kernels = ", ".join(self.signatures) or "none: is there a __global__ function?"
        raise BadInput(f"there is no kernel {name!r} in this source, it has {kernels}")

    def _signature(self, function: Function, name: str) -> Signature | None:
        lines = {i.line for i in function.instructions}
        return find_kernels(self.source, lines, function.name).get(name)

    def _variable(self, name: str) -> np.ndarray[Any, Any]:
        for symbol, allocation in self._memory.allocations.items():
            if short_name(symbol) == name:
                data: np.ndarray[Any, Any] = allocation.data
                return data
        names = ", ".join(short_name(s) for s in self._memory.allocations if not s.startswith("$"))
        raise BadInput(
            f"there is no global variable {name!r} in this source, it has {names or 'none'}"
        )

    def read(self, name: str, dtype: Any) -> np.ndarray[Any, Any]:
        """What a `__device__` or `__constant__` variable holds, as numbers of the given type."""
        return self._variable(name).copy().view(dtype)

    def write(self, name: str, values: Any) -> None:
        """Fills a `__device__` or `__constant__` variable, as `cudaMemcpyToSymbol` does.

        Raises:
            BadInput: the values do not fit into it.
        """
        data = self._variable(name)
        content = np.ascontiguousarray(values).reshape(-1).view(np.uint8)
        if len(content) > len(data):
            raise BadInput(f"{name} has {len(data):,} bytes, and {len(content):,} are given")
        data[: len(content)] = content


def parse_module(ptx: str) -> Module:
    """A PTX text taken apart; what is not covered is an error of the kernel's."""
    try:
        return parse(ptx)
    except Stop as stop:
        raise KernelError(str(in_words(stop.finding, {}))) from None


class CppKernel(Launchable):
    """A kernel of a CUDA C++ source: `kernel[grid, block, stream, shared_bytes](...)`.

    `kernel.cooperative[grid, block](...)` launches it like `cudaLaunchCooperativeKernel`.
    """

    def __init__(
        self, module: CppModule, parsed: Module, function: Function, name: str,
        signature: Signature | None, memory: Memory,
    ) -> None:  # fmt: skip
        self.__name__ = name
        self.module, self.function, self.signature = module, function, signature
        names = [f"argument {k + 1}" for k in range(len(function.params))]
        lines = dict(enumerate(module.source.splitlines(), 1))
        self.parameters: tuple[Parameter | None, ...] = (None,) * len(names)
        if signature is not None and len(signature.parameters) == len(names):
            self.parameters = signature.parameters
            names = [p.name for p in signature.parameters]
            lines = {n: t for n, t in lines.items() if signature.first <= n <= signature.last}
        self.names = names
        self.listing: Listing = PtxListing(name, names, lines, file=f"<cpp {id(module)}>")
        self._parsed, self._memory = parsed, memory
        self._program: PtxProgram | None = None
        self._together = False  # all blocks of a launch are on the GPU at once

    @property
    def cooperative(self) -> CppKernel:
        """The kernel launched with all blocks at once, for a barrier of the whole grid."""
        kernel = copy(self)
        kernel._together, kernel._program = True, None
        return kernel

    @property
    def program(self) -> PtxProgram:
        """The kernel as the machine carries it out."""
        if self._program is None:
            self._program = PtxProgram(
                self._parsed, self.function.name, self.listing, self._memory,
                cooperative=self._together,
            )  # fmt: skip
        return self._program

    @property
    def ptx(self) -> PtxText:
        """What the compiler made of it, under its C++ lines."""
        return PtxText(self.function, dict(enumerate(self.module.source.splitlines(), 1)))

    def prepare(self, request: LaunchRequest) -> PreparedPtx:
        """A launch with its arguments taken."""

        def take() -> tuple[PtxProgram, LaunchArguments, tuple[Any, ...]]:
            marshalled = self._arguments(request)
            return self.program, marshalled, marshalled.values

        def words(finding: Finding) -> Finding:
            return in_words(finding, self.module.shapes)

        return PreparedPtx(self.__name__, request, take, words, listing=self.listing)

    # --- arguments

    def _arguments(self, request: LaunchRequest) -> LaunchArguments:
        """The arguments as the machine takes them, each as its parameter wants it."""
        plain = [0 if isinstance(a, np.void) or a is None else a for a in request.args]
        marshalled = marshal(self.names, plain, self.__name__, named=request.named)
        marshalled.values = tuple(
            self._record(k, arg) if isinstance(arg, np.void) else self._checked(k, value)
            for k, (arg, value) in enumerate(zip(request.args, marshalled.values, strict=True))
        )
        return marshalled

    def _refuse(self, message: str) -> Stop:
        return Stop(Finding("not-a-kernel", None, message, errors=(TypeError,)))

    def _record(self, k: int, record: np.void) -> Any:
        size = self.function.params[k].size
        if record.nbytes != size:
            message = (
                f"{self.names[k]} is a record of {record.nbytes} bytes, and {self.__name__} takes "
                f"one of {size}: give its dtype the fields of the struct, with align=True"
            )
            raise self._refuse(message)
        return record.tobytes()

    def _checked(self, k: int, value: Any) -> Any:
        """An argument as its parameter wants it."""
        parameter, kind = self.parameters[k], self.function.kinds[k]
        name, expected = self.names[k], str(parameter or kind)
        if isinstance(value, View):
            if kind[1:] != "64" or (parameter is not None and not parameter.pointer):
                message = f"{name} is an array, and {self.__name__} takes {expected}: pass a number"
                raise self._refuse(message)
            if parameter is not None:
                self._check_elements(parameter, value)
            return value
        if parameter is not None and parameter.pointer:
            if isinstance(value, int) and value == 0:
                return 0  # a null pointer
            message = (
                f"{name} is {value!r}, and {self.__name__} takes {expected}: pass a NumPy array"
            )
            raise self._refuse(message)
        element = parameter.element if parameter else None
        if element is None or parameter is None or parameter.vector > 1:
            return value
        return self._number(name, expected, value, element)

    def _number(self, name: str, expected: str, value: Any, element: np.dtype[Any]) -> Any:
        plain = value.item() if isinstance(value, np.generic) else value
        if not isinstance(plain, bool | int | float):
            message = f"{name} is {value!r}, and {self.__name__} takes {expected}"
            raise self._refuse(message)
        if element.kind in "iu":
            limits = np.iinfo(element)
            if isinstance(plain, float) or not limits.min <= plain <= limits.max:
                message = (
                    f"{name} is {plain!r}, and {self.__name__} takes {expected}: pass a whole "
                    f"number from {limits.min:,} to {limits.max:,}"
                )
                raise self._refuse(message)
        with np.errstate(over="ignore"):
            return element.type(plain)

    def _check_elements(self, parameter: Parameter, view: View) -> None:
        element = parameter.element
        dtype = view.dtype
        if element is None or parameter.type == "void" or dtype.kind == "V" or dtype == element:
            return
        if dtype.kind == "c" and parameter.vector == 2 and dtype.itemsize == 2 * element.itemsize:
            return
        if {dtype.kind, element.kind} <= set("iu") and dtype.itemsize == element.itemsize:
            return  # signed or not: the same bits
        other = next((t for t in ELEMENTS if np.dtype(ELEMENTS[t]) == dtype), None)
        hint = f", or write {other}* in the kernel" if other else ""
        message = (
            f"{view.name} is {dtype}, and {self.__name__} takes {parameter}: pass an array "
            f"of {element.name}{hint}"
        )
        raise self._refuse(message)
