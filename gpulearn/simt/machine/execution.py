"""A launch: runs the grid chunk by chunk, again if it must, and says what was found."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpulearn.simt.core.arithmetic import leak_hook
from gpulearn.simt.core.chunk import Chunk
from gpulearn.simt.core.findings import Finding, FindingLog, Stop
from gpulearn.simt.core.limits import check_shape
from gpulearn.simt.core.memory import Allocation, View, views
from gpulearn.simt.core.program import Program, Translation
from gpulearn.simt.core.source import KernelSource
from gpulearn.simt.machine.machine import Machine
from gpulearn.simt.machine.spaces import TooLarge
from gpulearn.simt.observers.counters import Counters
from gpulearn.simt.observers.races import Patches, Races

__all__ = ["LaunchResult", "launch"]

Triple = tuple[int, int, int]
Lanes = np.ndarray[Any, Any]
TOGETHER = 1 << 22  # threads of a grid that synchronises as a whole
SHUFFLED = 1 << 22  # blocks; the order of more is only turned round
CHUNK = 32_768  # threads carried out together: small enough for the processor's caches


@dataclass
class LaunchResult:
    """What a launch left behind: findings, counters if asked for, the reason if it stopped."""

    source: KernelSource | None
    findings: list[Finding]
    counters: Counters | None = None
    stopped: Finding | None = None


class _Run:
    """One attempt at a launch; `replay` holds what a first attempt found out."""

    def __init__(
        self,
        program: Program,
        grid: Triple,
        block: Triple,
        *,
        findings: FindingLog,
        hazards: Races | None,
        counters: Counters | None,
        dynamic: int,
        seed: int,
        chunk: int,
        only: Lanes | None,
    ) -> None:
        self.program, self.grid, self.block, self.only = program, grid, block, only
        self.findings, self.hazards, self.counters = findings, hazards, counters
        self.dynamic, self.seed, self.chunk = dynamic, seed, chunk

    def chunks(self) -> Iterator[np.ndarray[Any, Any]]:
        """The numbers of the blocks that run together."""
        total = math.prod(self.grid)
        if self.only is not None:
            for start in range(0, len(self.only), self.chunk):
                yield self.only[start : start + self.chunk]
            return
        if self.seed:
            rng = np.random.default_rng(self.seed)
            if total <= SHUFFLED:
                order = rng.permutation(total)
                for start in range(0, total, self.chunk):
                    yield np.sort(order[start : start + self.chunk])
                return
            for start in reversed(range(0, total, self.chunk)):  # too many to shuffle
                yield np.arange(start, min(start + self.chunk, total))
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
            leak_hook.append(leak)
        try:
            with np.errstate(all="ignore"):
                translation(m, *args)
        except Stop as stop:
            stop.finding.function = m.elsewhere()
            raise
        except RecursionError:
            message = "a device function calls itself without end"
            raise m.stop("no-progress", message) from None
        except (TypeError, AttributeError, ValueError, IndexError, KeyError) as error:
            raise Stop(_misuse(m, error)) from error
        except MemoryError:
            raise m.stop("launch-limit", "not enough memory") from None
        finally:
            if watch:
                leak_hook.pop()


def _misuse(m: Chunk, error: Exception) -> Finding:
    """An operation that makes no sense for the values it got."""
    text = str(error).splitlines()[0] if str(error) else type(error).__name__
    if "undefined" in text.lower():
        text = "a variable is used before anything was assigned to it"
    if named := re.search(r"unexpected keyword argument '(\w+)'", text):
        text = f"{named[1]}= cannot be given to the function that it calls"
    if "0-dimensional arrays" in text or "integer scalar arrays" in text:
        message = "a slice whose ends differ from thread to thread is not supported by the SIMT"
        return Finding("unsupported", m.here(), f"{message} machine: index single elements")
    if "View" in text:
        text = "a whole array stands where one number is needed"
    return Finding("not-a-kernel", m.here(), f"this line does not work in a kernel: {text}")


def _leak(m: Chunk) -> None:
    key = ("float64-leak", m.line)
    if m.findings.again(key):
        return
    message = (
        "float32 data is computed with in float64 here: on most GPUs that is 32 to 64 times "
        "slower; write np.float32(...) around the other operand"
    )
    m.note(key, Finding("float64-leak", m.here(), message))


class _Launch:
    """A launch that may need more than one attempt: memory is put back before the next."""

    def __init__(
        self, run: Callable[[int, Races | None, Counters | None], None], blocks: int
    ) -> None:
        self.run = run
        self.blocks = blocks
        self.saved: dict[Allocation, Lanes] = {}

    def restore(self, counters: Counters | None, log: FindingLog) -> None:
        """As if nothing had happened."""
        for allocation, data in self.saved.items():
            allocation.data[:] = data
        if counters is not None:
            counters.restart()
        log.clear()

    def attempt(
        self, chunk: int, *, hazards: bool, counters: Counters | None, patches: Patches | None
    ) -> Races | None:
        """All blocks, `chunk` at a time."""
        watch = Races(self.blocks, patches) if hazards else None
        self.run(chunk, watch, counters)
        return watch


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
    only: Lanes | None = None,
) -> LaunchResult:
    """Runs a kernel over views and numbers (see `arguments` for what makes them).

    `only` are the numbers of the blocks to run, ascending, if not all.
    """
    log = FindingLog()
    result = LaunchResult(program.source, [], counters)
    try:
        g, b = check_shape(grid, block, dynamic)
        total, per_block = math.prod(g), math.prod(b)
        chunk = max(1, CHUNK // per_block)
        if program.cooperative:
            chunk = total
            if total * per_block > TOGETHER:
                message = f"a grid that syncs as a whole has at most {TOGETHER:,} threads here"
                raise Stop(Finding("launch-limit", None, message))

        def run(size: int, watch: Races | None, counts: Counters | None) -> None:
            _Run(
                program, g, b, findings=log, hazards=watch, counters=counts, dynamic=dynamic,
                seed=seed, chunk=size, only=only,
            ).run(program.kernel(counting=counts is not None), args)  # fmt: skip

        work = _Launch(run, total)
        allocations = _allocations(program, args)
        if hazards or program.makes_arrays:
            work.saved = {a: a.data.copy() for a in allocations}
        while True:
            try:
                watch = work.attempt(chunk, hazards=hazards, counters=counters, patches=None)
                break
            except TooLarge as large:
                chunk = large.blocks
            except Stop as stop:
                alone = chunk == 1 or total == 1 or not work.saved or program.cooperative
                if stop.finding.kind != "no-progress" or alone:
                    raise
                chunk = 1  # blocks may wait for each other: one by one, some such kernels end
            work.restore(counters, log)
        if watch is not None and watch.found:  # a race that must be seen in the result
            for allocation, data in work.saved.items():
                allocation.data[:] = data
            work.attempt(chunk, hazards=True, counters=None, patches=watch.found)
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
    given = [(name, v) for name, arg in zip(names, args, strict=False) for v in views(arg)]
    for _, view in given:
        view.allocation.readonly = True
    for name, view in given:
        if name in written:
            view.allocation.readonly = False
            found[view.allocation.number] = view.allocation
    return list(found.values())
