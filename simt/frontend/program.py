"""A kernel and the device functions it calls, translated on demand."""

import ast
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cached_property
from typing import Any

import simt.frontend.extensions
import simt.intrinsics  # noqa: F401 - they register what kernels can call
from simt.core.findings import Finding, Stop
from simt.core.limits import MAX_SHARED
from simt.core.memory import View
from simt.core.program import Translation
from simt.core.registry import DeviceFunction, callee
from simt.core.source import KernelSource, read
from simt.frontend.dataflow import Types, only_read
from simt.frontend.lint import idle_lines
from simt.frontend.signatures import device_call
from simt.frontend.translate import translate
from simt.frontend.typecheck import device_types


def _device_functions(thing: Any) -> Iterator[DeviceFunction]:
    """The device functions that an object is or, as a tuple, holds."""
    if isinstance(thing, tuple):
        for item in thing:
            yield from _device_functions(item)
    elif isinstance(function := callee(thing), DeviceFunction):
        yield function


class Program:
    """A kernel with the device functions that it calls, translated on demand."""

    copies_go_on = False
    most_shared = MAX_SHARED

    def __init__(
        self, source: KernelSource, *, debug: bool = False, fastmath: bool = False
    ) -> None:
        self.source = source.afresh()
        self.types: Types = {}
        self.debug = debug
        self.fastmath = fastmath
        self._translations: dict[Any, Translation] = {}
        self._devices: dict[DeviceFunction, KernelSource] = {}
        self._idle: dict[frozenset[str], list[Finding]] = {}
        self.counting = False

    def kernel(self, *, counting: bool) -> Translation:
        """The kernel itself, with or without counters."""
        self.counting = counting
        return self._translation(self.source, None, lambda: self.types)

    def _translation(
        self, source: KernelSource, declared: Any, types: Callable[[], Types]
    ) -> Translation:
        key = (source.unit, declared, self.counting)
        if key not in self._translations:
            self._translations[key] = translate(
                source, types(), counting=self.counting, debug=self.debug
            )
        return self._translations[key]

    def source_of(self, device: DeviceFunction) -> KernelSource:
        """The source of a device function, with its names frozen."""
        if device not in self._devices:
            self._devices[device] = device.source or read(device.function)
        return self._devices[device]

    def prepared(
        self, device: DeviceFunction, args: tuple[Any, ...]
    ) -> tuple[Translation, tuple[Any, ...]]:
        """A device function, and the arguments as its declared signature wants them."""
        declared, args = device_call(device.dispatcher, args)
        translation = self._translation(
            self.source_of(device), declared, lambda: device_types(device.dispatcher, declared)
        )
        return translation, args

    @cached_property
    def refused(self) -> Finding | None:
        """What in the kernel or its device functions cannot be translated, if anything.

        From here on what their names stand for is fixed.
        """
        try:
            for source in self.sources():
                translate(source, counting=False)
        except Stop as stop:
            return stop.finding
        return None

    def names(self) -> dict[tuple[Callable[..., Any], str], Any]:
        """What all names stand for, of the kernel and of the functions that it calls."""
        sources = [(source.function, source.frozen.items()) for source in self.sources()]
        return {(function, name): thing for function, frozen in sources for name, thing in frozen}

    def accept(self) -> None:
        """Keeps the device functions as they are: Numba has compiled them."""
        for device, source in self._devices.items():
            device.source = source

    @staticmethod
    def fix(device: DeviceFunction) -> None:
        """Fixes what the names in a device function stand for, as compiling it does."""
        program = Program(read(device.function))
        if program.refused is None:
            program.accept()
            device.source = program.source

    def idle(self, names: frozenset[str]) -> list[Finding]:
        """The lines of the kernel that do nothing; `names` are the parameters that hold arrays."""
        if names not in self._idle:
            self._idle[names] = list(idle_lines(self.source, names))
        return [replace(finding) for finding in self._idle[names]]

    def sources(self) -> Iterator[KernelSource]:
        """The kernel's source and those of the device functions that it names; see `refused`."""
        seen: set[int] = set()
        waiting = [self.source]
        while waiting:
            source = waiting.pop()
            if source.unit in seen:
                continue
            seen.add(source.unit)
            yield source
            for thing in list(source.frozen.values()):
                waiting.extend(map(self.source_of, _device_functions(thing)))

    def _mentions(self, *words: str) -> bool:
        return any(
            (isinstance(node, ast.Attribute) and node.attr in words)
            or (isinstance(node, ast.Name) and node.id in words)
            for source in self.sources()
            for node in ast.walk(source.tree)
        )

    @cached_property
    def captured(self) -> list[View]:
        """The arrays on the device that the kernel reaches by a global name."""
        things = [(name, callee(thing)) for (_, name), thing in self.names().items()]
        return [thing.as_view(name) for name, thing in things if hasattr(thing, "as_view")]

    @cached_property
    def cooperative(self) -> bool:
        """Whether the kernel synchronizes the whole grid."""
        return self._mentions("this_grid")

    @cached_property
    def makes_arrays(self) -> bool:
        """Whether the kernel has shared or local arrays."""
        return self._mentions("shared", "local", "array")

    @cached_property
    def may_wait(self) -> bool:
        """Whether threads may wait for what others do, in a loop without a count."""
        trees = (ast.walk(source.tree) for source in self.sources())
        return any(isinstance(node, ast.While) for tree in trees for node in tree)

    @cached_property
    def reinterprets(self) -> bool:
        """Whether the kernel may read memory of one type as another."""
        return self._mentions("view")

    @cached_property
    def written_parameters(self) -> set[str]:
        """The parameters through which the kernel may write: all but those it only reads."""
        return set(self.source.parameters) - only_read(self.source)
