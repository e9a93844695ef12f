"""A kernel and the device functions it calls, translated on demand."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cached_property
from typing import Any

import gpulearn.simt.frontend.overloads
import gpulearn.simt.intrinsics  # noqa: F401 - they register what kernels can call
from gpulearn.simt.core.findings import Finding, Stop
from gpulearn.simt.core.program import Translation
from gpulearn.simt.core.registry import DeviceFunction, callee
from gpulearn.simt.core.source import KernelSource, read
from gpulearn.simt.frontend.dataflow import Types, only_read
from gpulearn.simt.frontend.lint import idle_lines
from gpulearn.simt.frontend.translate import translate
from gpulearn.simt.frontend.typecheck import device_types

__all__ = ["Program"]


class Program:
    """A kernel with the device functions that it calls, translated on demand."""

    def __init__(
        self,
        function: Callable[..., Any],
        types: Types | None = None,
        source: KernelSource | None = None,
    ) -> None:
        self.source = source or read(function)
        self.types = types or {}
        self._translations: dict[tuple[int, bool], Translation] = {}
        self._sources: dict[int, KernelSource] = {id(function): self.source}
        self._idle: dict[frozenset[str], list[Finding]] = {}
        self.counting = False

    def kernel(self, *, counting: bool) -> Translation:
        """The kernel itself, with or without counters."""
        self.counting = counting
        return self._translated(self.source, lambda: self.types)

    def _translated(self, source: KernelSource, types: Callable[[], Types]) -> Translation:
        key = (source.unit, self.counting)
        if key not in self._translations:
            self._translations[key] = translate(source, types(), counting=self.counting)
        return self._translations[key]

    def _source(self, device: DeviceFunction) -> KernelSource:
        key = id(device.function)
        if key not in self._sources:
            self._sources[key] = read(device.function)
        return self._sources[key]

    def translation(self, device: DeviceFunction) -> Translation:
        """A device function."""
        return self._translated(self._source(device), lambda: device_types(device.function))

    @cached_property
    def refused(self) -> Finding | None:
        """What in the kernel or its device functions cannot be translated, if anything."""
        try:
            for source in self.sources():
                translate(source, counting=False)
        except Stop as stop:
            return stop.finding
        return None

    def idle(self, names: frozenset[str]) -> list[Finding]:
        """The lines of the kernel that do nothing; `names` are the parameters that hold arrays."""
        if names not in self._idle:
            self._idle[names] = list(idle_lines(self.source, names))
        return [replace(finding) for finding in self._idle[names]]

    def sources(self) -> Iterator[KernelSource]:
        """The kernel's source and, as far as names show, its device functions'."""
        seen: set[int] = set()
        waiting = [self.source]
        while waiting:
            source = waiting.pop()
            if source.unit in seen:
                continue
            seen.add(source.unit)
            yield source
            for node in ast.walk(source.tree):
                if isinstance(node, ast.Name | ast.Attribute):
                    found = callee(source.named(node))
                    if isinstance(found, DeviceFunction):
                        waiting.append(self._source(found))

    def _mentions(self, *words: str) -> bool:
        return any(
            (isinstance(node, ast.Attribute) and node.attr in words)
            or (isinstance(node, ast.Name) and node.id in words)
            for source in self.sources()
            for node in ast.walk(source.tree)
        )

    @cached_property
    def cooperative(self) -> bool:
        """Whether the kernel synchronises the whole grid."""
        return self._mentions("this_grid")

    @cached_property
    def makes_arrays(self) -> bool:
        """Whether the kernel has shared or local arrays."""
        return self._mentions("shared", "local", "array")

    @cached_property
    def reinterprets(self) -> bool:
        """Whether the kernel may read memory of one type as another."""
        return self._mentions("view")

    @cached_property
    def written_parameters(self) -> set[str]:
        """The parameters through which the kernel may write: all but those it only reads."""
        return set(self.source.parameters) - only_read(self.source)
