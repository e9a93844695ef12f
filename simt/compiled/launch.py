"""Compiled launches: when a kernel is compiled, and how its blocks are carried out.

Compiled code carries out only launches of which nothing has to be told. Where it comes upon
anything else (an index out of bounds, threads that do not meet), the arguments are put back as
they were, and the machine carries out the launch and says what happened.
"""

from __future__ import annotations

import math
import os
import time
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from functools import cache, partial
from typing import Any

import numpy as np

from simt.core import limits
from simt.core.findings import Finding
from simt.core.memory import Allocation, aligned, views
from simt.device.selection import cores
from simt.frontend.program import Program
from simt.frontend.typecheck import device_types, variable_types
from simt.machine.execution import Abandoned, LaunchResult, launch, written_allocations

__all__ = ["CompiledLaunches"]

Triple = tuple[int, int, int]
Array = np.ndarray[Any, Any]
BUDGET = 1.0  # seconds that the machine has for a kernel until it is compiled, which takes 0.1 to 2
SNAPSHOT_LIMIT = 64 << 20, 256  # bytes copied so that a launch can be undone: fixed, per thread
SHARES_PER_CORE = 8  # into which the blocks are divided
MAX_SHAPES = 1024  # of checked launches that are remembered
MAX_REASON = 300  # characters of why a kernel is not compiled
SHORT_LAUNCH = 1e-3  # seconds; a shorter launch runs on one core


class CompiledLaunches:
    """The unchecked launches of a kernel for one set of argument types."""

    def __init__(self, program: Program, arguments: tuple[Any, ...] | None) -> None:
        self.program = program
        self.arguments = arguments
        self.spent = 0.0  # seconds of the machine's
        self.code: _Code | None = None
        self._clean: set[Any] = set()  # shapes of checked launches
        self._warned = False
        self.refused = "" if arguments is not None else "its types are not known"

    def __call__(
        self, grid: Triple, block: Triple, values: tuple[Any, ...], dynamic: int
    ) -> LaunchResult:
        """One launch, by compiled code if there is some, else by the machine."""
        machine = partial(launch, self.program, grid, block, values, dynamic=dynamic)
        saved = None if self.refused else self._copies(values, math.prod(grid) * math.prod(block))
        if saved is None:
            return machine()
        start = time.monotonic()
        try:
            if self.code is None:
                return machine(interrupt=partial(self._compile, start))
        except Abandoned:
            _put_back(saved)
        finally:
            self.spent += time.monotonic() - start
        assert self.code is not None
        noted = self.code.run(grid, block, values, dynamic)
        if noted is not None:
            findings = self._warning(grid, block, values)
            if noted:  # the machine carries out such a block again, and tells
                after = {allocation: allocation.data.copy() for allocation in saved}
                _put_back(saved)
                findings += machine(only=np.array([min(noted)])).findings
                _put_back(after)
            shared = self.code.frame.static_bytes
            return LaunchResult(self.program.source, findings, shared_bytes=shared)
        _put_back(saved)
        result = machine()
        if result.stopped is None:
            self.refused = "its launches have findings"
        return result

    def mark_checked(self, grid: Triple, block: Triple, values: tuple[Any, ...]) -> None:
        """Notes that a checked launch has shown no error."""
        if len(self._clean) < MAX_SHAPES:
            self._clean.add(_shapes(grid, block, values))

    def _warning(self, grid: Triple, block: Triple, values: tuple[Any, ...]) -> list[Finding]:
        """The finding that such a launch has never been checked; given once."""
        if self._warned or _shapes(grid, block, values) in self._clean:
            return []
        self._warned = True
        message = (
            f"{self.program.source.name} ran as compiled code, and nobody has looked for races "
            "or uninitialized reads: a launch of these shapes has never been checked"
        )
        return [Finding("unchecked", None, message)]

    def _copies(self, values: tuple[Any, ...], threads: int) -> dict[Allocation, Array] | None:
        """Copies of what the launch may change; None if they would cost too much."""
        written = written_allocations(self.program, values)
        if sum(a.data.nbytes for a in written) > SNAPSHOT_LIMIT[0] + SNAPSHOT_LIMIT[1] * threads:
            return None
        return {a: a.data.copy() for a in written}

    def _compile(self, start: float) -> None:
        """Compiles the kernel once the machine has had its time.

        Raises:
            Abandoned: there is compiled code, which is to go on in the machine's place.
        """
        if self.refused or self.spent + time.monotonic() - start < BUDGET:
            return
        try:
            self.code = _Code(self.program, self.arguments or ())
        except Exception as error:  # whatever it is that Numba cannot do, the machine can
            self.refused = f"{type(error).__name__}: {' '.join(str(error).split())[:MAX_REASON]}"
        else:
            raise Abandoned


def _shapes(grid: Triple, block: Triple, values: tuple[Any, ...]) -> Any:
    return grid, block, tuple(view.shape for value in values for view in views(value))


def _put_back(saved: dict[Allocation, Array]) -> None:
    for allocation, data in saved.items():
        allocation.data[:] = data


class _Code:
    """A kernel's machine code: `go(frame, first, last)` runs blocks; see `blocks`."""

    def __init__(self, program: Program, arguments: tuple[Any, ...]) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of Numba's, about how fast its code is
            from simt.compiled.blocks import Part, in_turns, to_the_end
            from simt.compiled.frame import HEADER
            from simt.compiled.rewrite import RewrittenKernel

            rewritten = RewrittenKernel(program, arguments)
            if rewritten.frame.sizes["local"] > limits.MAX_LOCAL:
                raise ValueError("a thread wants more local memory than there is")
            self.words = {name: place // 8 for name, place in HEADER.items()}
            self.frame, self.turns = rewritten.frame, rewritten.turns
            self.in_order, self.waits = rewritten.in_order, rewritten.waits
            self.part = Part(rewritten.kernel, rewritten.frame)
            self.go = in_turns if rewritten.turns else to_the_end
        _compare(rewritten.kernel, program.types)
        for function, compiled in rewritten.devices.items():
            _compare(compiled, device_types(function.dispatcher))
        self.last_seconds = math.inf  # seconds of the last launch

    def run(
        self, grid: Triple, block: Triple, values: tuple[Any, ...], dynamic: int
    ) -> list[int] | None:
        """Runs a launch; None if it meets something that only the machine can diagnose.

        The result lists blocks that have something to report, if there are any.
        """
        if self.frame.sizes["shared"] + dynamic > limits.MAX_SHARED:
            return None
        blocks = math.prod(grid)
        alone = self.in_order or self.last_seconds < SHORT_LAUNCH
        workers = 1 if alone else min(cores(), blocks)
        share = blocks if alone else max(1, blocks // (workers * SHARES_PER_CORE))
        shares = iter(range(0, blocks, share))
        start = time.monotonic()
        frames = [_Worker(self, grid, block, values, dynamic) for _ in range(workers)]

        def work(frame: _Worker) -> bool:
            try:
                for first in shares:
                    self.go(frame.address, first, min(first + share, blocks))
            except Exception:  # an index out of bounds, threads that do not meet, ...
                return False
            return True

        quick = alone and not self.waits and self.last_seconds < SHORT_LAUNCH
        good = work(frames[0]) if quick else self._in_threads(work, frames)
        self.last_seconds = time.monotonic() - start
        return [f.noted for f in frames if f.noted >= 0] if good else None

    def _in_threads(self, work: Callable[[_Worker], bool], frames: list[_Worker]) -> bool:
        """Runs the work in other threads, so that this one can interrupt it."""
        pool = _pool(os.getpid())
        running = [pool.submit(work, frame) for frame in frames]
        try:
            while wait(running, limits.SECONDS).not_done:
                moved = [frame.progressed() for frame in frames]
                if self.waits and not any(moved):
                    break  # an endless loop, of which the machine tells
        finally:
            for frame in frames:
                frame.words[0] = 1
            wait(running)
        return all(future.result() for future in running)


class _Worker:
    """The memory of one worker of a launch."""

    def __init__(
        self, code: _Code, grid: Triple, block: Triple, values: tuple[Any, ...], dynamic: int
    ) -> None:
        self.code = code
        frame, threads = code.frame, math.prod(block)
        each = threads if code.turns else 1
        sizes = {
            "shared": frame.sizes["shared"] + dynamic + 16,
            "local": frame.sizes["local"] * each,
            "states": code.part.state * each,
            "exchange": 32 * (-(-threads // 32) * 32 if code.turns else 0),  # of whole warps
            "left": 8 * each,
        }
        nan = 0xFF  # in each byte: what nobody has written
        self.memory = np.full(sum(sizes.values()) + 96, nan, np.uint8)
        bases, place = {}, aligned(self.memory.ctypes.data)
        for name, size in sizes.items():
            bases[name] = place
            place += aligned(size)
        begin = bases["exchange"] - self.memory.ctypes.data
        self.memory[begin : begin + sizes["exchange"]] = 0  # of lanes that the block has not
        header = (0, *block, *grid, *bases.values(), 0, 0, 0, -1, code.part.address)
        self.words = np.frombuffer(frame.pack(header, values, bases, dynamic), np.int64)
        self.address = self.words.ctypes.data
        self.block = -1

    @property
    def noted(self) -> int:
        """The block that has something to report, else -1."""
        return int(self.words[self.code.words["noted"]])

    def progressed(self) -> bool:
        """Whether it has begun another block since the last call."""
        before, self.block = self.block, int(self.words[self.code.words["block"]])
        return before != self.block


def _compare(compiled: Any, types: dict[tuple[str, int], Any]) -> None:
    """Checks that Numba's CPU compiler gives the variables the same types as its CUDA target.

    Raises:
        TypeError: it does not.
    """
    for overload in compiled.overloads.values():
        for key, kind in variable_types(overload.type_annotation).items():
            dtype = types.get(key)
            if kind is None or dtype is None:  # of which float64 is said to be equal to the other
                continue
            if key[1] and key[0].isidentifier() and dtype != kind:
                raise TypeError(f"{key[0]} is {kind} here, {dtype} on a GPU")


@cache
def _pool(process: int) -> ThreadPoolExecutor:
    """Threads to work in; a process that was forked has none of its parent's."""
    return ThreadPoolExecutor(cores())
