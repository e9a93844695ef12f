"""A launch: checks its shape, runs the grid chunk by chunk, and says what was found."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from gpulearn.simt import (  # noqa: F401 - they register what kernels can call
    arrays,
    atomics,
    extras,
    functions,
    threads,
    warps,
)
from gpulearn.simt import values as _values
from gpulearn.simt.access import Access
from gpulearn.simt.counters import Counters
from gpulearn.simt.findings import Finding, Stop
from gpulearn.simt.hazards import Hazards
from gpulearn.simt.log import FindingLog
from gpulearn.simt.machine import Machine
from gpulearn.simt.memory import Allocation, View
from gpulearn.simt.names import DeviceFunction, callee
from gpulearn.simt.source import KernelSource, read
from gpulearn.simt.translate import Translation, translate

__all__ = ["LaunchResult", "Program", "check_shape", "launch"]

Triple = tuple[int, int, int]
CHUNK = 32_768  # threads carried out together: small enough for the processor's caches
MAX_THREADS = 1024
MAX_BLOCK: Triple = (1024, 1024, 64)
MAX_GRID: Triple = ((1 << 31) - 1, 65_535, 65_535)
MAX_SHARED = 48 * 1024


class Program:
    """A kernel with the device functions that it calls, translated on demand."""

    def __init__(self, function: Callable[..., Any], types: dict[str, Any] | None = None) -> None:
        self.source = read(function)
        self.types = types or {}
        self._translations: dict[tuple[int, bool], Translation] = {}
        self._sources: dict[int, KernelSource] = {id(function): self.source}
        self.counting = False

    def kernel(self, *, counting: bool) -> Translation:
        """The kernel itself, with or without counters."""
        self.counting = counting
        return self._translated(self.source, self.types)

    def _translated(self, source: KernelSource, types: dict[str, Any]) -> Translation:
        key = (source.unit, self.counting)
        if key not in self._translations:
            self._translations[key] = translate(source, types, counting=self.counting)
        return self._translations[key]

    def _source(self, device: DeviceFunction) -> KernelSource:
        key = id(device.function)
        if key not in self._sources:
            self._sources[key] = read(device.function)
        return self._sources[key]

    def translation(self, device: DeviceFunction) -> Translation:
        """A device function."""
        return self._translated(self._source(device), {})

    def parameters(self, device: DeviceFunction) -> list[str]:
        """The names of a device function's parameters."""
        return self._source(device).parameters

    def check_shared(self, m: Access, size: int) -> None:
        """Stops a launch whose blocks want more shared memory than there is."""
        total = size + m.dynamic
        if total > MAX_SHARED:
            limit = f"there are {MAX_SHARED:,} (48 KB)"
            message = f"a block wants {total:,} bytes of shared memory; {limit}"
            raise Stop(Finding("launch-limit", m.here(), message))

    @cached_property
    def refused(self) -> Finding | None:
        """What in the kernel or its device functions cannot be translated, if anything."""
        try:
            for source in self.sources():
                translate(source, counting=False)
        except Stop as stop:
            return stop.finding
        return None

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
                if isinstance(node, ast.Name) and node.id not in source.locals:
                    found = callee(source.lookup(node.id))
                    if isinstance(found, DeviceFunction):
                        waiting.append(self._source(found))

    @cached_property
    def cooperative(self) -> bool:
        """Whether the kernel synchronises the whole grid."""
        return any(
            (isinstance(node, ast.Attribute) and node.attr == "this_grid")
            or (isinstance(node, ast.Name) and node.id == "this_grid")
            for source in self.sources()
            for node in ast.walk(source.tree)
        )

    @cached_property
    def written_parameters(self) -> set[str]:
        """The parameters through which the kernel may write: all but those it only reads."""
        source = self.source
        harmless: set[int] = set()
        for node in ast.walk(source.tree):
            if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load):
                if _only_integers(node.slice):
                    harmless.add(id(node.value))
            elif isinstance(node, ast.Attribute) and node.attr in ("shape", "size", "ndim"):
                harmless.add(id(node.value))
            elif isinstance(node, ast.Call) and ast.unparse(node.func) == "len":
                harmless.update(id(a) for a in node.args)
        written = set()
        for node in ast.walk(source.tree):
            if isinstance(node, ast.Name) and id(node) not in harmless:
                written.add(node.id)
            if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Subscript):
                written.update(n.id for n in ast.walk(node.target.value) if isinstance(n, ast.Name))
        return written & set(source.parameters)


def _only_integers(index: ast.expr) -> bool:
    parts = index.elts if isinstance(index, ast.Tuple) else [index]
    return not any(isinstance(p, ast.Slice | ast.Constant) and not (
        isinstance(p, ast.Constant) and type(p.value) is int) for p in parts)  # fmt: skip


@dataclass
class LaunchResult:
    """What a launch left behind: findings, counters if asked for, the reason if it stopped."""

    source: KernelSource | None
    findings: list[Finding]
    counters: Counters | None = None
    stopped: Finding | None = None
    arrays: dict[str, Any] = field(default_factory=dict)


def _triple(shape: Any, what: str) -> Triple:
    if isinstance(shape, (int, np.integer)) and not isinstance(shape, bool):
        shape = (shape,)
    several = isinstance(shape, (tuple, list)) and 1 <= len(shape) <= 3
    if several and all(isinstance(n, (int, np.integer)) and not isinstance(n, bool) for n in shape):
        full = (*map(int, shape), 1, 1)[:3]
        return (full[0], full[1], full[2])
    raise TypeError(f"{what} must be an integer or a tuple of 1 to 3 integers, got {shape!r}")


def check_shape(grid: Any, block: Any, dynamic: int = 0) -> tuple[Triple, Triple]:
    """The shape of a launch in full, (x, y, z) each.

    Raises:
        Stop: with the finding `launch-limit`.
    """
    g, b = _triple(grid, "the grid"), _triple(block, "the block")
    count = math.prod(b)
    problem = None
    if min(*g, *b) < 1:
        problem = f"a launch needs at least one block of one thread, got grid {g}, block {b}"
    elif count > MAX_THREADS:
        problem = f"a block has at most {MAX_THREADS:,} threads, got {count:,} in block {b}"
    elif any(n > limit for n, limit in zip(b, MAX_BLOCK, strict=True)):
        problem = f"a block is at most {MAX_BLOCK} in x, y, z, got {b}"
    elif any(n > limit for n, limit in zip(g, MAX_GRID, strict=True)):
        problem = f"a grid is at most {MAX_GRID} in x, y, z, got {g}"
    elif dynamic < 0 or dynamic > MAX_SHARED:
        problem = f"a block has at most {MAX_SHARED:,} bytes of shared memory, got {dynamic:,}"
    if problem is not None:
        raise Stop(Finding("launch-limit", None, problem))
    return g, b


class _Run:
    """One attempt at a launch; `replay` holds what a first attempt found out."""

    def __init__(
        self,
        program: Program,
        grid: Triple,
        block: Triple,
        *,
        findings: FindingLog,
        hazards: Hazards | None,
        counters: Counters | None,
        dynamic: int,
        seed: int,
        chunk: int,
    ) -> None:
        self.program, self.grid, self.block = program, grid, block
        self.findings, self.hazards, self.counters = findings, hazards, counters
        self.dynamic, self.seed, self.chunk = dynamic, seed, chunk

    def chunks(self) -> Iterator[np.ndarray[Any, Any]]:
        """The numbers of the blocks that run together."""
        total = math.prod(self.grid)
        if self.seed:
            order = np.random.default_rng(self.seed).permutation(total)
            for start in range(0, total, self.chunk):
                yield np.sort(order[start : start + self.chunk])
            return
        for start in range(0, total, self.chunk):
            yield np.arange(start, min(start + self.chunk, total))

    def run(self, translation: Translation, args: tuple[Any, ...]) -> None:
        """Runs every block.

        Raises:
            Stop: when the kernel cannot go on.
        """
        per_block = math.prod(self.block)
        for numbers in self.chunks():
            order = None
            if self.seed:
                rng = np.random.default_rng((self.seed, int(numbers[0])))
                order = rng.permutation(len(numbers) * per_block)
            machine = Machine(
                self.program, self.grid, self.block, numbers, findings=self.findings,
                hazards=self.hazards, counters=self.counters, dynamic=self.dynamic, order=order,
            )  # fmt: skip
            if self.hazards is not None:
                self.hazards.new_chunk()
            self._guarded(machine, translation, args)

    def _guarded(self, m: Machine, translation: Translation, args: tuple[Any, ...]) -> None:
        def leak() -> None:
            _leak(m)

        watch = m.counters is not None and not any(
            isinstance(a, View) and a.dtype == np.float64 for a in args
        )
        if watch:
            _values.leak_hook.append(leak)
        try:
            with np.errstate(all="ignore"):
                translation(m, *args)
        except RecursionError:
            message = "a device function calls itself without end"
            raise Stop(Finding("no-progress", m.here(), message)) from None
        except (TypeError, AttributeError, ValueError, IndexError, KeyError) as error:
            raise Stop(_misuse(m, error)) from error
        except MemoryError:
            raise Stop(Finding("launch-limit", m.here(), "not enough memory")) from None
        finally:
            if watch:
                _values.leak_hook.pop()


def _misuse(m: Access, error: Exception) -> Finding:
    """An operation that makes no sense for the values it got."""
    text = str(error).splitlines()[0] if str(error) else type(error).__name__
    if "undefined" in text.lower():
        text = "a variable is used before anything was assigned to it"
    return Finding("not-a-kernel", m.here(), f"this line does not work in a kernel: {text}")


def _leak(m: Access) -> None:
    key = ("float64-leak", m.line)
    if m.findings.again(key):
        return
    message = (
        "float32 data is computed with in float64 here: on most GPUs that is 32 to 64 times "
        "slower; write np.float32(...) round the other operand"
    )
    m.findings.add(key, Finding("float64-leak", m.here(), message))


def launch(
    program: Program,
    grid: Any,
    block: Any,
    args: tuple[Any, ...],
    *,
    dynamic: int = 0,
    hazards: bool = True,
    counters: Counters | None = None,
    seed: int = 0,
) -> LaunchResult:
    """Runs a kernel over views and numbers (see `host` for what makes them)."""
    log = FindingLog()
    result = LaunchResult(program.source, [], counters)
    allocations = _allocations(program, args)
    try:
        g, b = check_shape(grid, block, dynamic)
        translation = program.kernel(counting=counters is not None)
        total, per_block = math.prod(g), math.prod(b)
        chunk = total if program.cooperative else max(1, CHUNK // per_block)
        if program.cooperative and total * per_block > 1 << 22:
            message = "a grid that synchronises as a whole is limited to 4 million threads here"
            raise Stop(Finding("launch-limit", None, message))
        saved = {a: a.data.copy() for a in allocations} if hazards else {}

        def attempt(size: int, patches: Any, counts: Counters | None) -> Hazards | None:
            watch = Hazards(total, patches) if hazards else None
            for allocation in allocations:
                allocation.shadow = None
            _Run(
                program, g, b, findings=log, hazards=watch, counters=counts, dynamic=dynamic,
                seed=seed, chunk=size,
            ).run(translation, args)  # fmt: skip
            return watch

        try:
            watch = attempt(chunk, None, counters)
        except Stop as stop:
            if stop.finding.kind != "no-progress" or not saved or chunk == 1 or total == 1:
                raise
            # blocks may wait for each other: one after the other, some such kernels end
            for allocation, data in saved.items():
                allocation.data[:] = data
            if counters is not None:
                counters.restart()
            watch = attempt(1, None, counters)
        if watch is not None and watch.found:
            for allocation, data in saved.items():
                allocation.data[:] = data
            translation = program.kernel(counting=False)
            attempt(chunk, watch.found, None)
    except Stop as stop:
        result.stopped = stop.finding
        log.add(("stop",), stop.finding)
    result.findings = log.findings
    return result


def _allocations(program: Program, args: tuple[Any, ...]) -> list[Allocation]:
    """The allocations that the kernel may write; the others are marked read-only."""
    written = program.written_parameters
    names = program.source.parameters
    found: dict[int, Allocation] = {}
    views: list[tuple[str, View]] = []
    for name, arg in zip(names, args, strict=False):
        views += [(name, v) for v in _views(arg)]
    for _, view in views:
        view.allocation.readonly = True
    for name, view in views:
        if name in written:
            view.allocation.readonly = False
            found[view.allocation.number] = view.allocation
    return list(found.values())


def _views(arg: Any) -> list[View]:
    if isinstance(arg, View):
        return [arg]
    if isinstance(arg, tuple):
        return [v for a in arg for v in _views(a)]
    return []
